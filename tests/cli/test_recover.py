"""`mcpmock recover`: output, files and exit status."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.support import HEADER
from tests.support.sealed import DAMAGED, EVENTS, ONE, TWO


def test_what_can_be_saved_is_saved_to_a_new_file(run: Run, file: Path, tmp_path: Path) -> None:
    """`recover` says what was lost and why, leaves the old file alone, and the new one is whole."""
    out = tmp_path / "out.jsonl"
    file.write_bytes(b"oops\n" + EVENTS + DAMAGED)
    status, said, err = run("recover", file, "-o", out)

    assert (0, "") == (status, said)
    words = "1 header lost and replaced; 1 footer left out (checksum no longer fits)"
    assert [
        f"mcpmock: {file}:1: lost: not an event: not JSON at column 1: invalid character",
        f"mcpmock: {file}:6: lost: not an event: not JSON at column 1: invalid character",
        f"mcpmock: {out}: saved 4 events in 2 takes; {words}",
    ] == err.splitlines()
    assert b"oops\n" + EVENTS + DAMAGED == file.read_bytes()
    assert 0 == run("check", out)[0]
    assert (0, "", "") == run("recover", "-q", file, "-o", tmp_path / "quiet.jsonl")


def test_events_numbered_anew_are_said(run: Run, file: Path, tmp_path: Path) -> None:
    """`recover` tells where it did more than to leave out lines; `--json` gives counts."""
    file.write_bytes(HEADER + TWO + ONE)
    _, said, err = run("recover", "--json", file, "-o", tmp_path / "out.jsonl")

    assert "saved 2 events in 1 take; 1 take renumbered" in err
    counts = {"takes": 1, "events": 2, "lost": 0, "headers": 0, "footers": 0, "renumbered": 1}
    assert {"type": "recovered", "file": str(file), **counts} == json.loads(said)


def test_where_nothing_can_be_saved_nothing_is_written(
    run: Run, file: Path, tmp_path: Path
) -> None:
    """What holds no good line is refused."""
    file.write_bytes(b"hello\n")
    status, _, err = run("recover", file, "-o", tmp_path / "out.jsonl")

    assert 3 == status
    assert "contains nothing that can be recovered" in err
    assert not (tmp_path / "out.jsonl").exists()


def test_a_newer_format_is_refused(run: Run, file: Path, tmp_path: Path) -> None:
    """Also in a later take: what its events mean is unknown."""
    newer = HEADER.replace(b'"mcpmock":1', b'"mcpmock":2')
    for first in (b"", HEADER + EVENTS):
        file.write_bytes(first + newer + EVENTS)
        status, _, err = run("recover", file, "-o", tmp_path / "out.jsonl")

        assert (3, 1) == (status, err.count("\n"))
        assert "has format 2" in err
        assert not (tmp_path / "out.jsonl").exists()
