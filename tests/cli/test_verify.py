"""`mcpmock verify`: drives, compares, reports, and replaces the recording where it was asked to."""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mcpmock.sessions import drive
from mcpmock.sessions.drive import DIFFERENT
from mcpmock.sessions.run import Setup
from tests.cli.conftest import Run
from tests.support import INITIALIZE, WELCOME, call, cassette_bytes, response

Lives = Callable[..., None]
Runs = Callable[[Setup], Awaitable[int]]


def session(result: str) -> bytes:
    return cassette_bytes(
        ("c2s", INITIALIZE), ("s2c", WELCOME), ("c2s", call(1, "a")),
        ("s2c", response(1, {"content": [{"type": "text", "text": result}]})),
    )  # fmt: skip


@pytest.fixture
def lives(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Lives:
    """A server that says this now, and a status; in the recording `a.jsonl` it said `old`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(session("old"))

    def live(result: str, status: int = 0) -> None:
        async def run_sessions(setup: Setup) -> int:
            assert setup.recording is not None
            setup.recording.output.write_bytes(session(result))
            return status

        monkeypatch.setattr(drive, "run_sessions", run_sessions)

    return live


def test_a_server_that_is_the_same(run: Run, lives: Lives) -> None:
    lives("old")

    assert (0, "a.jsonl -> live: no differences in 2 calls\n", "") == run(
        "verify", "a.jsonl", "--", "server"
    )


def test_faults(run: Run, lives: Lives) -> None:
    """As `drive` takes them; one that must fire and has not is a failure."""
    lives("old")
    verify = ("verify", "a.jsonl", "--seed", "3", "--fault")
    status, _, err = run(*verify, "drop:must_fire=true", "--", "server")

    assert (1, True) == (status, "fault drop: never fired, and it must" in err)
    assert 0 == run(*verify, "drop", "--", "server")[0]
    assert 3 == run(*verify, "dropp", "--", "server")[0]


def test_a_server_that_changed(run: Run, lives: Lives) -> None:
    """As `diff` tells it, with its options."""
    lives("new")
    status, out, err = run("verify", "a.jsonl", "--", "server")

    assert (1, "") == (status, err)
    assert "risky result-text-changed" in out
    assert 0 == run("verify", "a.jsonl", "--fail-on", "breaking", "--", "server")[0]
    assert 0 == run("verify", "a.jsonl", "--ignore", "tools/call a $.result", "--", "server")[0]
    assert '"verdict":"risky"' in run("verify", "--json", "a.jsonl", "--", "server")[1]


def test_a_compatible_difference_does_not_fail(run: Run, lives: Lives, tmp_path: Path) -> None:
    """Output that is not a message and did not come again is reported with status 0, unless
    `--fail-on any` asks for 1, which `diff` does by default.
    """
    lives("old")
    banner = cassette_bytes(("s2c", b"a banner"), header=b"")
    recorded = tmp_path / "a.jsonl"
    header, *lines = session("old").splitlines(keepends=True)
    recorded.write_bytes(header + banner.replace(b'"n":1', b'"n":0') + b"".join(lines))
    status, out, _ = run("verify", "a.jsonl", "--", "server")

    assert (0, True) == (status, out.startswith("compatible noise-missing: "))
    assert 1 == run("verify", "a.jsonl", "--fail-on", "any", "--", "server")[0]
    (tmp_path / "b.jsonl").write_bytes(session("old"))
    assert 1 == run("diff", "a.jsonl", "b.jsonl")[0]


@pytest.mark.parametrize(("result", "replaced"), [("new", True), ("old", False)])
def test_updating(run: Run, lives: Lives, tmp_path: Path, result: str, replaced: bool) -> None:
    """The recording is replaced only if something differs; that is told, and is no failure."""
    lives(result)
    status, _, err = run("verify", "--update", "a.jsonl", "--", "server")

    assert 0 == status
    assert replaced is ("a.jsonl: replaced with the new recording" in err)
    assert session(result) == (tmp_path / "a.jsonl").read_bytes()
    assert [tmp_path / "a.jsonl"] == list(tmp_path.iterdir())


@pytest.mark.parametrize("status", [4, 127, 130])
def test_a_server_that_could_not_be_driven(run: Run, lives: Lives, status: int) -> None:
    """Nothing is compared, and nothing replaced."""
    lives("new", status)

    assert (status, "", "") == run("verify", "--update", "a.jsonl", "--", "server")


def test_a_session_that_went_wrong_replaces_nothing(run: Run, lives: Lives, tmp_path: Path) -> None:
    """A server that crashed must not cost the recording."""
    lives("new", DIFFERENT)
    status, _, err = run("verify", "--update", "a.jsonl", "--fail-on", "never", "--", "server")

    assert (1, 1) == (status, err.count("\n"))
    assert "a.jsonl: not replaced" in err
    assert session("old") == (tmp_path / "a.jsonl").read_bytes()


def test_updating_what_is_packed(run: Run, lives: Lives, tmp_path: Path) -> None:
    """It stays packed; and a link stays one."""
    lives("new")
    packed, link = tmp_path / "b.jsonl.gz", tmp_path / "c.jsonl.gz"
    packed.write_bytes(gzip.compress(session("old")))
    link.symlink_to(packed)

    assert 0 == run("verify", "--update", "c.jsonl.gz", "--", "server")[0]
    assert session("new") == gzip.decompress(packed.read_bytes())
    assert link.is_symlink()


def test_updating_what_was_recorded_to_meanwhile(
    run: Run, lives: Lives, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is lost."""
    lives("new")
    live: Runs = vars(drive)["run_sessions"]

    async def run_sessions(setup: Setup) -> int:
        (tmp_path / "a.jsonl").write_bytes(session("other"))
        return await live(setup)

    monkeypatch.setattr(drive, "run_sessions", run_sessions)
    status, _, err = run("verify", "--update", "a.jsonl", "--", "server")

    assert 3 == status
    assert "changed while it was being rewritten" in err
    assert session("other") == (tmp_path / "a.jsonl").read_bytes()


@pytest.mark.parametrize(("redaction", "redact"), [(b'"off"', False), (b'{"rules":1}', True)])
def test_secrets_are_kept_where_they_were(
    run: Run, lives: Lives, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    redaction: bytes, redact: bool,
) -> None:  # fmt: skip
    """Else everything secret would differ."""
    lives("old")
    live: Runs = vars(drive)["run_sessions"]
    given: list[bool] = []

    async def run_sessions(setup: Setup) -> int:
        assert setup.recording is not None
        given.append(setup.recording.redact)
        return await live(setup)

    monkeypatch.setattr(drive, "run_sessions", run_sessions)
    path = tmp_path / "a.jsonl"
    path.write_bytes(session("old").replace(b'"tool"', b'"redaction":%b,"tool"' % redaction, 1))

    assert 0 == run("verify", "a.jsonl", "--", "server")[0]
    assert [redact] == given
