"""`mcpmock fmt` and `recover`: what they say, do and end with."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.cassette.test_lines import EVENTS, ONE, TWO, sealed
from tests.cli.conftest import CONTROLS, HOSTILE, Run, hostile
from tests.support import HEADER, dump

DAMAGED = sealed(HEADER + ONE + b"oops\n" + TWO)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_bytes(sealed())
    return path


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


def test_what_can_be_saved_is_saved_to_a_new_file(run: Run, file: Path, tmp_path: Path) -> None:
    """`recover` says what was lost and why, leaves the old file alone, and the new one is whole."""
    out = tmp_path / "out.jsonl"
    file.write_bytes(b"oops\n" + EVENTS + DAMAGED)
    status, said, err = run("recover", file, "-o", out)

    assert (0, "") == (status, said)
    words = "1 header lost and replaced; 1 footer left out (checksum no longer fits)"
    assert [
        f"mcpmock: {file}:1: lost: not an event: not JSON",
        f"mcpmock: {file}:6: lost: not an event: not JSON",
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


def test_recover_overwrites_nothing(run: Run, file: Path, tmp_path: Path) -> None:
    """An OUT that exists, the file itself or a dangling link, is refused."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    for out in (file, link):
        status, _, err = run("recover", file, "-o", out)
        assert 3 == status
        assert f"{out}: exists" in err
    assert sealed() == file.read_bytes()
    assert link.is_symlink()


def test_where_nothing_can_be_saved_nothing_is_written(
    run: Run, file: Path, tmp_path: Path
) -> None:
    """What holds no good line is refused."""
    file.write_bytes(b"hello\n")
    status, _, err = run("recover", file, "-o", tmp_path / "out.jsonl")

    assert 3 == status
    assert "contains nothing that can be recovered" in err
    assert not (tmp_path / "out.jsonl").exists()


def test_nothing_in_a_file_acts_on_a_terminal(run: Run, tmp_path: Path) -> None:
    """No command that tidies cassettes lets a control character through."""
    path, worse = hostile(tmp_path), tmp_path / "worse.jsonl"
    bad = dump({"n": 1, "d": HOSTILE, "m": {}}) + b"\n" + b'{"n":"' + HOSTILE.encode() + b'"}\n'
    gap = dump({"n": 99, "gap": {"reason": HOSTILE}}) + b"\n"
    worse.write_bytes(path.read_bytes() + bad + gap)
    for arguments in (
        ("check", path, worse),
        ("fmt", worse),
        ("recover", worse, "-o", tmp_path / "out.jsonl"),
        ("fmt", path),
        ("show", worse),
    ):
        _, out, err = run(*arguments)

        assert [] == CONTROLS.findall(out + err)
        assert "\n::" not in out + err
