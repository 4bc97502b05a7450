"""`mcpmock fmt`: output, files and exit status."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.support import HEADER
from tests.support.sealed import DAMAGED, TWO, sealed


def test_formatting_is_done_once_and_said(run: Run, file: Path) -> None:
    """`fmt` says what it did; a file in canonical form is not touched."""
    assert (0, "", f"mcpmock: {file}: formatted 1 take, 2 events; sealed 1 take\n") == run(
        "fmt", file
    )
    once = file.stat()

    assert (0, "", f"mcpmock: {file}: is in canonical form\n") == run("fmt", file)
    assert (once.st_ino, once.st_mtime_ns) == (file.stat().st_ino, file.stat().st_mtime_ns)
    assert (0, "", "") == run("fmt", "-q", "--times", "keep", file)
    assert b'"t":' not in file.read_bytes()
    assert 0 == run("check", file)[0]


def test_packed_cassettes_are_formatted_too(run: Run, tmp_path: Path) -> None:
    """A `.jsonl.gz` is unpacked and packed again, to the same bytes each time."""
    plain, packed = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    plain.write_bytes(sealed())
    packed.write_bytes(gzip.compress(sealed()))
    run("fmt", plain, packed)
    once = packed.read_bytes()

    assert plain.read_bytes() == gzip.decompress(once)
    assert "canonical" in run("fmt", packed)[2]
    assert once == packed.read_bytes()


def test_a_damaged_cassette_is_never_formatted(run: Run, file: Path, tmp_path: Path) -> None:
    """It is refused with what helps, stays as it is, and the others are formatted."""
    other = tmp_path / "other.jsonl"
    file.write_bytes(DAMAGED)
    other.write_bytes(sealed())
    status, _, err = run("fmt", file, other)

    assert 3 == status
    assert f"`mcpmock recover {file} -o OUT`" in err
    assert DAMAGED == file.read_bytes()
    assert sealed() != other.read_bytes()


def test_format_and_recovery_tell_of_torn_and_joined_lines(run: Run, file: Path) -> None:
    """What is left out or joined is said."""
    file.write_bytes(HEADER + b'{"n":1,"stderr":"a"}\n{"n":2,"stderr":"b"}\n' + TWO[:9])

    words = "formatted 1 take, 1 event; joined 1 piece of stderr; left out 1 torn line"
    assert f"mcpmock: {file}: {words}\n" == run("fmt", file)[2]


def test_fmt_json(run: Run, file: Path) -> None:
    """One object for each file."""
    found = json.loads(run("fmt", "--json", "-q", file)[1])

    counts = {"takes": 1, "events": 2, "joined": 0, "sealed": 1, "torn": 0}
    assert {"type": "formatted", "file": str(file), "changed": True, **counts} == found
