"""`mcpmock drive`: what it takes from its command line, and what it hands on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcpmock.playback.timing import Timing
from mcpmock.sessions import drive as mode
from mcpmock.sessions.drive import DriveOptions
from mcpmock.sessions.ends import Command
from tests.cli.conftest import Run
from tests.cli.test_options_listen import said_of
from tests.support import INITIALIZE, WELCOME, cassette_bytes

Given = list[tuple[str, DriveOptions]]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Given:
    """What the mode is called with; it ends with 7. `a.jsonl` is a cassette."""
    found: Given = []

    async def drive(cassette: Any, driving: DriveOptions, say: Any) -> int:
        found.append((cassette.name, driving))
        return 7

    monkeypatch.setattr(mode, "drive", drive)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(cassette_bytes(("c2s", INITIALIZE), ("s2c", WELCOME)))
    return found


def test_a_command(run: Run, given: Given) -> None:
    """Options may stand on either side of the file; what is behind `--` is the server's."""
    assert (7, "", "") == run("drive", "a.jsonl", "-o", "b.jsonl", "--", "server", "-o", "x")
    assert (7, "", "") == run("drive", "--timing", "scale:2", "a.jsonl", "--", "server")

    [(name, first), (_, second)] = given
    assert ("a.jsonl", Command(("server", "-o", "x"))) == (Path(name).name, first.server)
    assert first.recording is not None
    assert Path("b.jsonl") == first.recording.output
    assert (Timing("scale", 2.0), None) == (second.timing, second.recording)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a.jsonl"], "name the server: either --url URL or -- COMMAND"),
        (["a.jsonl", "--timing", "slow", "--", "server"], "Invalid value for --timing"),
        ([], "Missing argument"),
    ],
)
def test_wrong_usage(run: Run, given: Given, arguments: list[str], words: str) -> None:
    """It is said in one line, and nothing is done."""
    assert words in said_of(run("drive", *arguments))
    assert [] == given


def test_no_cassette(run: Run, given: Given) -> None:
    """A file that is not there is named, before anything is started."""
    status, out, err = run("drive", "no.jsonl", "--", "server")

    assert (3, "", 1) == (status, out, err.count("\n"))
    assert "no.jsonl" in err
    assert [] == given
