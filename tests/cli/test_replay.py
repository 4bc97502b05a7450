"""`mcpmock replay`: its options, its status, and the words for what it missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from mcpmock.channels.channel import MemoryChannel
from mcpmock.playback.miss import STUBBED, Miss, NearMiss
from mcpmock.playback.variables import Mismatch, compare
from mcpmock.protocol.messages import C2S
from mcpmock.view.miss_report import miss_lines
from tests.cli.conftest import Run, heard
from tests.support import (
    OPENING,
    c2s,
    call,
    cassette_bytes,
    errors,
    hangs_up,
    notification,
    request,
    response,
)

OSLO, BERGEN = call(1, "weather", city="Oslo"), call(1, "weather", city="Bergen")
HELLO = [raw for what, raw in OPENING if what == "c2s"]
MISSED = -31999


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        cassette_bytes(
            *OPENING,
            ("c2s", OSLO),
            ("stderr", "looking it up\n"),
            ("s2c", response(1, {"rain": True})),
            ("c2s", request(2, "tools/list")),
            ("s2c", response(2)),
        )
    )
    return path


def says(client: MemoryChannel, *raws: bytes) -> None:
    """All that the client will have said: the opening, this, and the end."""
    client.send_nowait([*map(c2s, (*HELLO, *raws)), hangs_up(C2S)])


def test_nothing_is_said_when_all_is_well(run: Run, file: Path, client: MemoryChannel) -> None:
    """A client that asks what was asked gets the answers, and the status is 0."""
    says(client, OSLO, request(2, "tools/list"))

    assert (0, "", "") == run("replay", file)
    assert [response(1, {"rain": True}), response(2)] == heard(client)


def test_a_miss_explains_itself(run: Run, file: Path, client: MemoryChannel) -> None:
    """What was asked, what comes nearest and why not, what to do next, and what was left over."""
    says(client, BERGEN)
    status, out, err = run("replay", file)

    assert (1, "") == (status, out)
    assert [
        f'mcpmock: nothing recorded in {file} answers tools/call weather {{"city":"Bergen"}}',
        'mcpmock:   event 4: different; $.arguments.city: recorded "Oslo", asked "Bergen"',
        "mcpmock:   allow with --ignore 'tools/call weather $.arguments.city'",
        f"mcpmock:   see `mcpmock show {file} --filter method=tools/call`; record again to add it",
        'mcpmock: 2 recorded requests never came: tools/call weather {"city":"Oslo"} (event 4), '
        "tools/list (event 7)",
    ] == err.splitlines()
    assert [(1, MISSED)] == errors(heard(client))


def test_the_words_for_values(run: Run, file: Path, client: MemoryChannel) -> None:
    """What one side lacks is absent, and what is long is cut."""
    says(client, call(1, "weather", when="x" * 100))
    _, _, err = run("replay", file)

    assert '$.arguments.city: recorded "Oslo", asked absent' in err
    assert f'$.arguments.when: recorded absent, asked "{"x" * 56}...' in err


def test_asked_more_often_than_recorded(run: Run, file: Path, client: MemoryChannel) -> None:
    """A call that was answered already is a miss, and says so."""
    says(client, OSLO, OSLO)
    status, _, err = run("replay", file)

    assert 1 == status
    assert (
        '  event 4: already used\nmcpmock:   --repeats last (repeats="last") answers it again\n'
    ) in err


def test_quiet(run: Run, file: Path, client: MemoryChannel) -> None:
    """With `-q` a miss is told, what was left over is not."""
    says(client, BERGEN)
    status, _, err = run("replay", "-q", file)

    assert 1 == status
    assert "nothing recorded" in err
    assert "never came" not in err


def test_verbose(run: Run, file: Path, client: MemoryChannel) -> None:
    """With `-v` it tells what changed nothing and what was left over, and the status stays 0."""
    says(client, notification("notifications/odd"))
    status, _, err = run("replay", "-v", file)

    assert 0 == status
    assert [
        "mcpmock: notifications/odd: not in the recording; nothing waited for it",
        'mcpmock: 2 recorded requests never came: tools/call weather {"city":"Oslo"} (event 4), '
        "tools/list (event 7)",
    ] == err.splitlines()


@pytest.mark.parametrize("where", ["option", "environment"])
@pytest.mark.parametrize(
    ("name", "value", "asked", "answers"),
    [
        ("repeats", "last", [OSLO, OSLO], [None, None]),
        ("repeats", "error", [OSLO, OSLO], [None, MISSED]),
        ("on-miss", "hang", [BERGEN], []),
        ("order", "strict", [request(1, "tools/list")], [MISSED]),
        ("order", "any", [OSLO, OSLO], [None, None]),
        ("timing", "fixed:1", [OSLO], [None]),
    ],
)
def test_how_it_is_played(
    run: Run,
    file: Path,
    client: MemoryChannel,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    name: str,
    value: str,
    asked: list[bytes],
    answers: list[int | None],
) -> None:
    """Options and variables of the environment do the same."""
    says(client, *asked)
    options = [f"--{name}", value]
    if where == "environment":
        monkeypatch.setenv(f"MCPMOCK_REPLAY_{name.upper().replace('-', '_')}", value)
        options = []
    run("replay", file, *options)

    codes = [code for _, code in errors(heard(client))]
    assert sorted(answers, key=str) == sorted(codes, key=str)


def test_recording_what_is_replayed(run: Run, file: Path, client: MemoryChannel) -> None:
    """`--record` makes a cassette of the replayed session."""
    says(client, OSLO)
    assert (0, "", "") == run("replay", file, "--record", file.with_name("b.jsonl"))

    assert OSLO in [event.payload for event in load(file.with_name("b.jsonl")).takes[0].events]


def test_recording_to_a_folder(run: Run, file: Path, client: MemoryChannel, tmp_path: Path) -> None:
    """`--record DIR/` is a folder, as it is for `record`, and as the error's hint says."""
    (tmp_path / "b").mkdir()
    says(client, OSLO)

    assert 0 == run("replay", file, "--record", f"{tmp_path}/b/")[0]


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ([], ["mcpmock: prompts/list: no recorded client asked this; answered with an empty list"]),
        (["-q"], []),
        (
            ["--json"],
            [
                '{"type":"unasked","text":"prompts/list: no recorded client asked this; answered '
                'with an empty list","method":"prompts/list"}'
            ],
        ),
    ],
)
def test_a_list_that_no_recorded_client_asked(
    run: Run, tmp_path: Path, client: MemoryChannel, options: list[str], lines: list[str]
) -> None:
    """It is empty, and one line says so, however often it is asked. The status stays 0."""
    file = tmp_path / "a.jsonl"
    hello = {"protocolVersion": "2025-11-25", "capabilities": {"prompts": {}}}
    file.write_bytes(cassette_bytes(OPENING[0], ("s2c", response(0, hello)), *OPENING[2:]))
    says(client, request(1, "prompts/list"), request(2, "prompts/list"))

    assert (0, "", lines) == (*(found := run("replay", *options, file))[:2], found[2].splitlines())
    assert [response(n, {"prompts": []}) for n in (1, 2)] == heard(client)[1:]


@pytest.mark.parametrize("option", ["-q", "--json", "-v"])
def test_a_log(run: Run, file: Path, client: MemoryChannel, option: str) -> None:
    """It has the whole report, also where standard error has not; the rule goes into the cassette,
    and what the client is told says so.
    """
    log = file.with_name("a.log")
    says(client, BERGEN)
    status, _, _ = run("replay", option, "--log", log, file)

    begun, *lines = log.read_text("utf-8").splitlines()
    fix = f"`mcpmock fmt {file} --ignore 'tools/call weather $.arguments.city'`"
    assert 1 == status
    assert 0o600 == log.stat().st_mode & 0o777
    assert begun.endswith(f"Z mcpmock replay {file}")
    assert f"nothing recorded in {file} answers tools/call" in lines[0]
    assert f"  allow with {fix}" in lines
    [answer] = [raw for raw in heard(client) if b"error" in raw]
    assert fix in json.loads(answer)["error"]["message"]


def test_a_log_that_cannot_be_written(run: Run, file: Path, client: MemoryChannel) -> None:
    """One line, and the replay goes on."""
    says(client, BERGEN)
    status, _, err = run("replay", "-q", "--log", file / "a.log", file)

    assert 1 == status
    assert 1 == err.count("cannot write the log: Not a directory")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("replay a.jsonl --log a.jsonl", "is a cassette; name another file for the log"),
        ("replay a.jsonl --log other.jsonl", "is a cassette; name another file for the log"),
        ("proxy --cassette a.jsonl --log other.jsonl -- s", "is a cassette; name another file"),
        ("replay a.jsonl --record ./a.jsonl", "belongs to what is played; record to another file"),
        ("replay other.jsonl a.jsonl --record link.jsonl", "belongs to what is played"),
        ("replay . --record new.jsonl", "belongs to what is played"),
        ("replay . --record new/", "belongs to what is played"),
        ("drive a.jsonl -o link.jsonl -- server", "belongs to what is played"),
    ],
)
def test_no_recording_is_written_over(
    run: Run, file: Path, command: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log in a recording would damage it, and what is played would be more in each run."""
    recording = file.read_bytes()
    file.with_name("other.jsonl").write_bytes(recording)
    file.with_name("link.jsonl").symlink_to(file)
    monkeypatch.chdir(file.parent)

    status, _, err = run(*command.split())
    assert (3, True) == (status, reason in err)
    assert 2 * [recording] == [file.read_bytes(), file.with_name("other.jsonl").read_bytes()]


def test_near_misses_of_a_stub() -> None:
    """What is written by hand has no event."""
    differing = Mismatch("$.name", "now", "then")
    near = (NearMiss(STUBBED, "stubbed", (differing,)), NearMiss(4, "already used", (differing,)))
    lines = miss_lines(Miss("tools/call", near), Path("a.jsonl"))

    assert [
        '  the stub: stubbed; $.name: stubbed "now", asked "then"',
        '  event 4: already used; $.name: recorded "now", asked "then"',
    ] == lines[1:3]


def test_a_miss_of_a_mock() -> None:
    """It was never recorded, so nothing can be recorded again."""
    first, *_, last = miss_lines(Miss("tools/call", ()), Path("a.toml"))

    assert first.startswith("nothing written in a.toml answers ")
    assert "  add an answer to it: `mcpmock help mocks`" == last


def test_null_is_not_absent() -> None:
    """A recorded or live null is shown as null."""
    near = NearMiss(4, "different", tuple(compare({"a": None}, {"a": 1, "c": None})))

    assert (
        "  event 4: different; $.a: recorded null, asked 1; $.c: recorded absent, asked null"
        == (miss_lines(Miss("tools/call", (near,)), Path("a.jsonl"))[1])
    )


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (b"hello", '5 bytes, no JSON-RPC message; nothing answers it: "hello"'),
        (b'{"jsonrpc":"2.0","id":1', '{\\"jsonrpc'),
        (b"[]", '"[]"'),
        (b"null", '"null"'),
        (b'{"jsonrpc":"2.0"}', "jsonrpc"),
        (b"\x00\x01\x1b[2J", "\\u0000\\u0001\\u001b[2J"),
        (b"\xff\xfe{\x00}\x00", "\ufffd"),
        (b"Content-Length: 52\r", "Content-Length"),
        (b"token=ghp_0123456789abcdefghijABCDEFGHIJ012345", "mcpmock:secret:"),
        (b"x" * 5000, "xxx..."),
    ],
)
@pytest.mark.parametrize("order", ["causal", "strict", "any"])
def test_what_is_no_message_is_told(
    run: Run, file: Path, client: MemoryChannel, sent: bytes, shown: str, order: str
) -> None:
    """In one line, with `-q` too, and the exit status is 1; never silence."""
    says(client, sent)
    status, _, err = run("replay", "-q", "--order", order, file)

    [line] = err.splitlines()
    assert 1 == status
    assert line.startswith(f"mcpmock: the client sent {len(sent)} bytes, no JSON-RPC message; ")
    assert shown in line
    assert len(line) < 250


def test_an_empty_line_is_nothing(run: Run, file: Path, client: MemoryChannel) -> None:
    """Some clients end messages with two line ends."""
    says(client, b"", b"  ", b"\r")

    assert (0, "") == run("replay", "-q", file)[::2]
