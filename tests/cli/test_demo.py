"""`mcpmock demo`: what it says, leaves and ends with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpmock.cli import demo as face
from mcpmock.errors import CassetteError

PING, PONG = {"answered": "ping", "result": {}}, {"answered": "ping", "result": 1}


def visit(*saw: Any, status: int = 0) -> face.Visit:
    """What a client received, and how its server ended."""
    return face.Visit([json.dumps(one) for one in saw], "", status)


def run(*options: str) -> subprocess.CompletedProcess[str]:
    """The real command, as a user calls it."""
    environment = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
    return subprocess.run(
        [sys.executable, "-m", "mcpmock", "demo", *options],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("live", "again", "difference"),
    [
        (visit(PING), visit(PING), None),
        (visit(PING, PING), visit(PING, PONG), [[PING], [PONG]]),
        (visit(PING, PING), visit(PING), [[PING], []]),
        (visit(PING), visit(PING, PING), [[], [PING]]),
    ],
)
def test_difference(live: face.Visit, again: face.Visit, difference: Any) -> None:
    """The first difference between two visits is shown; without one they are the same."""
    told = face._replayed(live, again)

    assert (difference is None, difference) == (told["same"], told["difference"])


def test_exact() -> None:
    """Numbers that are equal but spelled differently are a difference."""
    one, other = ({"answered": "add", "result": value} for value in (1, 1.0))

    assert not face._replayed(visit(one), visit(other))["same"]


def test_other_status() -> None:
    """Two visits that end differently are not the same."""
    assert not face._replayed(visit(PING), visit(PING, status=1))["same"]


@pytest.mark.parametrize("statuses", [[0, 0], [0, 1]])
def test_difference_is_shown(capsys: pytest.CaptureFixture[str], statuses: list[int]) -> None:
    """A difference is shown on both its sides, hostile characters spelled out."""
    evil = {"answered": "\x1b[2J\u202e"}
    first = visit(evil if statuses == [0, 0] else PING, status=statuses[0])
    face._show_replayed(face._replayed(first, visit(PING, status=statuses[1])))
    out = capsys.readouterr().out

    assert "recorded: " in out
    assert "replayed: " in out
    assert "\x1b[2J" not in out
    assert "\u202e" not in out


def test_folder_in_the_way(tmp_path: Path) -> None:
    """A folder that cannot be is an error that names it."""
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(CassetteError, match="file/demo: not a directory"):
        face._make_folder(file / "demo")


@pytest.mark.e2e
def test_text(tmp_path: Path) -> None:
    """It says that the replay was the same, how a miss explains itself, what a fault does and what
    is different then, and what it left.
    """
    done = run("-o", str(tmp_path / "new"))

    assert (0, "") == (done.returncode, done.stderr)
    assert "The client saw exactly the same: 33 messages" in done.stdout
    assert 'event 11: different; $.arguments.city: recorded "Oslo", asked "Bergen"' in done.stdout
    assert str(tmp_path / "new" / "demo.jsonl") in done.stdout
    assert 'The client gets {"content":[{"type":"text","text":"no luck"}]' in done.stdout
    assert "breaking: error-for-result in tools/call weather, at $.result.isError" in done.stdout
    left = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert ["demo.jsonl", "faulty.jsonl"] == left
    assert "\x1b" not in done.stdout


@pytest.mark.e2e
def test_json(tmp_path: Path) -> None:
    """With --json each step is one object with a type."""
    done = run("--json", "-o", str(tmp_path))
    told = [json.loads(line) for line in done.stdout.splitlines()]

    steps = ["recorded", "replayed", "missed", "broken", "compared", "left"]
    assert steps == [step["type"] for step in told]
    assert told[1]["same"]
    assert (-31999, 1) == (told[2]["answer"]["error"]["code"], told[2]["status"])
    assert "breaking" == told[4]["verdict"]


@pytest.mark.e2e
@pytest.mark.parametrize("name", ["demo.jsonl", "faulty.jsonl"])
def test_in_the_way(tmp_path: Path, name: str) -> None:
    """A recording that is there already is left alone."""
    (tmp_path / name).write_text("mine")
    done = run("-o", str(tmp_path))

    assert (3, "mine") == (done.returncode, (tmp_path / name).read_text())
    assert f"{name}: exists; give another folder with -o" in done.stderr
