"""`mcpmock drive`: what it takes from its command line, and what it hands on."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpmock.playback.timing import Timing
from mcpmock.sessions import run as run_module
from mcpmock.sessions.drive import DriveFront
from mcpmock.sessions.run import Setup
from mcpmock.sessions.servers import Command
from tests.cli.conftest import Run
from tests.support import INITIALIZE, WELCOME, cassette_bytes

Given = list[Setup]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Given:
    """What the mode is called with; it ends with 7. `a.jsonl` is a cassette."""
    found: Given = []

    async def run_sessions(setup: Setup) -> int:
        found.append(setup)
        return 7

    monkeypatch.setattr(run_module, "run_sessions", run_sessions)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(cassette_bytes(("c2s", INITIALIZE), ("s2c", WELCOME)))
    return found


def test_a_command(run: Run, given: Given) -> None:
    """Options may stand on either side of the file; what is behind `--` is the server's."""
    assert (7, "", "") == run("drive", "a.jsonl", "-o", "b.jsonl", "--", "server", "-o", "x")
    assert (7, "", "") == run("drive", "--timing", "scale:2", "a.jsonl", "--", "server")

    [first, second] = given
    assert Command(("server", "-o", "x")) == first.back
    assert first.recording is not None
    assert Path("b.jsonl") == first.recording.output
    assert isinstance(second.front, DriveFront)
    assert (Timing("scale", 2.0), None) == (second.front.timing, second.recording)


def test_values(run: Run, given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    """They come from the environment, where other users of the machine cannot read them."""
    monkeypatch.setenv("TOKEN", "t0k3n")
    value = "--value=mcpmock:secret:token:1=env:TOKEN"
    assert 7 == run("drive", "a.jsonl", value, "--", "server")[0]
    [setup] = given
    assert isinstance(setup.front, DriveFront)
    assert {"mcpmock:secret:token:1": "t0k3n"} == setup.front.values
