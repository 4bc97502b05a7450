"""What the commands over many cassettes share: lists of files, who does the work, progress."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run, Terminal
from tests.support import call, cassette_bytes, response

COMMANDS = ("check", "stats", "scan")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dozen cassettes on two levels."""
    (tmp_path / "deep").mkdir()
    for number in range(12):
        name = f"{'deep/' if number % 2 else ''}{number:02}.jsonl"
        (tmp_path / name).write_bytes(cassette_bytes(("c2s", call(1, "a")), ("s2c", response(1))))
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_is_all_cassettes_in_it(run: Run, folder: Path, command: str) -> None:
    """As if they were named, which a pattern may do too."""
    files = sorted(folder.rglob("*.jsonl"))
    named = run(command, "-q", "--json", *files)

    assert named == run(command, "-q", "--json", folder)
    assert named[:2] == run(command, "-q", "--json", folder / "**" / "*.jsonl")[:2]
    assert named[1]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("words", "status", "error"),
    [
        (["{}/x*"], 2, "no cassette matches {}/x*"),
        (["{}/empty"], 3, "{}/empty: no cassettes"),
        (["--jobs", "0", "{}"], 2, "'--jobs': 0 is not in the range x>=1"),
        (["--jobs", "2", "--scheduler", "tcp://127.0.0.1:1", "{}"], 2, "mutually exclusive"),
    ],
)
def test_mistakes(
    run: Run, folder: Path, command: str, words: list[str], status: int, error: str
) -> None:
    """Nothing is read, and the error says what is wrong."""
    (folder / "empty").mkdir()
    ended, out, err = run(command, *(word.format(folder) for word in words))

    assert (status, "") == (ended, out)
    assert error.format(folder) in err


@pytest.mark.parametrize("command", COMMANDS)
def test_progress(run: Run, folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, of long lists, and not in the way of lines that are printed meanwhile."""
    (folder / "bad.jsonl").write_text("oops")
    monkeypatch.setenv("TERM", "xterm")
    shown = []
    for words in ((folder,), (folder, "-q"), (folder / "00.jsonl",)):
        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        run(command, *words)
        shown.append("reading" in terminal.text)
        if command != "stats" and words == (folder,):
            assert "\r\033[Kmcpmock: " in terminal.text

    assert [True, False, False] == shown
