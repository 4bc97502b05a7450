"""The words for a failed test."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from mcpmock.api.log import Call, Log
from mcpmock.faults.control import FaultControl, run_of
from mcpmock.playback.miss import Miss, NearMiss
from mcpmock.playback.variables import Mismatch
from mcpmock.stubs.builder import Stub
from mcpmock.testing import failure
from mcpmock.testing.failure import describe, name_miss, page_name, reproduction
from mcpmock.testing.settings import Settings
from tests.support import c2s, logs, request, response, s2c

NONE = FaultControl(run_of(None))
ASKED = request(1, "tools/call", {"name": "\u001b[2J"})


def seen() -> Log:
    log = Log()
    watcher = log.watch(1, None)
    for frame in (c2s(ASKED), logs("trouble\n"), s2c(response(7))):
        watcher.feed([frame], 0.0)
    near = NearMiss(4, "different", (Mismatch("$.name", "now", "then"),))
    log.report(Miss("tools/call", (near,)))
    return log


def test_what_is_said(tmp_path: Path) -> None:
    """Misses with what differs, messages, open calls, standard error, a command; no escapes."""
    text = describe(Settings(path=Path("a.jsonl"), playing={"order": "any"}), seen(), NONE)

    assert 'event 4: different; $.name: recorded "now", asked "then"' in text
    assert '  -> {"jsonrpc"' in text
    assert "without an answer: tools/call \\u001b[2J" in text
    assert "  trouble" in text
    assert "mcpmock replay a.jsonl --order any" in text
    assert "\u001b" not in text


def test_a_server_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs in another thread while the words are made."""
    log = seen()
    watcher, count = log.watch(2, None), itertools.count(2)

    def meanwhile(text: str) -> str:
        watcher.feed([c2s(request(next(count), "ping"))], 0.0)
        return text

    monkeypatch.setattr(failure, "printable", meanwhile)
    log.open[1, b"0"] = Call("tools/list", {})
    text = describe(Settings(path=Path("a.jsonl")), log, NONE)

    assert "without an answer: tools/call \x1b[2J, tools/list, ping" in text


def test_no_live_secret_is_shown() -> None:
    """Messages, standard error and the command to reproduce hold what a recording would hold."""
    log = Log()
    watcher = log.watch(1, None)
    asked = request(1, "tools/call", {"name": "a", "arguments": {"password": "pa55-w0rd-x"}})
    for frame in (logs("user pa55-w0rd-x\n"), s2c(response(7, {"v": "pa55-w0rd-x"})), c2s(asked)):
        watcher.feed([frame], 0.0)
    text = describe(Settings(path=Path("a.jsonl")), log, NONE)

    assert "pa55-w0rd-x" not in text
    assert 'without an answer: tools/call a {"password":"mcpmock:secret:password:1"}' in text
    assert 5 == text.count("mcpmock:secret:password:1")


def test_with_its_session() -> None:
    """A cassette of what the clients sent makes the command short; messages may be left out."""
    text = describe(
        Settings(path=Path("a.jsonl")), seen(), NONE, session=Path("it.jsonl"), messages=False
    )

    assert "  mcpmock drive it.jsonl -- mcpmock replay a.jsonl" in text.splitlines()
    assert "last messages" not in text


def test_while_recording() -> None:
    """It says where the recording is; there is nothing to replay."""
    text = describe(Settings(path=Path("a.jsonl"), mode="all"), Log(), NONE)

    assert "recording a.jsonl (record mode all), the recording is in a.rej.jsonl" == text


def test_a_long_conversation() -> None:
    """Then only the server is given."""
    log = Log()
    watcher = log.watch(1, None)
    for _ in range(60):
        watcher.feed([c2s(ASKED)], 0.0)

    assert "mcpmock replay a.jsonl" == reproduction(
        Settings(path=Path("a.jsonl")), list(log.last), NONE
    )


MISSED = "nothing recorded answers tools/call weather"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            f"McpError(-31999, 'mcpmock: {MISSED}', {{'near': []}}) [in a group]",
            f"mcpmock: {MISSED}",
        ),
        (
            "ExceptionGroup: 2 sub-exceptions",
            f"ExceptionGroup: 2 sub-exceptions; mcpmock: {MISSED}",
        ),
        ("assert 1 == 2\n +  where 1", f"assert 1 == 2; mcpmock: {MISSED}\n +  where 1"),
        *(("mcpmock: 1 request: tools/call weather",) * 2,),
    ],
)
def test_the_error_of_a_miss(error: str, said: str) -> None:
    """In place of an error that quotes it, behind the first line of another, and once."""
    miss = Miss("tools/call", (), asked="weather")

    assert said == name_miss(error, [miss])
    if error != said:
        assert f"{MISSED}; and 2 more requests" in name_miss(error, [miss] * 3)


def test_a_stub_without_a_cassette(tmp_path: Path) -> None:
    """No file is named, and no command that would show it."""
    settings = Settings(path=tmp_path / "none.jsonl", stub=Stub(), named=False)
    text = describe(settings, seen(), NONE)

    assert "nothing in the stub answers tools/call" in text
    assert "add an answer to it: `mcpmock help pytest`" in text
    assert "none.jsonl" not in text


def test_the_names_of_pages() -> None:
    """Different tests have different pages, whatever their parameters are."""
    plain = "tests/test_a.py::TestB::test_c[x-1.5]"
    odd = [
        f"test_a.py::test_p[{one}]" for one in ("a/b", "a:b", "a-b", "a-b-", "", "\\xe9", "\ud800")
    ]
    long = [f"test_a.py::test_p[{'x' * 300}{end}]" for end in "ab"]
    names = [*map(page_name, ("test_a.py::test_p", *odd, *long))]

    assert "tests-test_a.py-TestB-test_c-x-1.5" == page_name(plain)
    assert ("test_a.py-test_p", "test_a.py-test_p-a-b") == (names[0], names[3])
    assert len(names) == len({*names})
    assert all(len(name) < 200 and name.isprintable() for name in names)
