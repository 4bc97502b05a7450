"""`mcpmock fmt`: output, files and exit status."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

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
    assert f"mcpmock: {file}: {words}\n" == run("fmt", "--stderr", "keep", file)[2]
    words = "formatted 1 take, 0 events; left out 1 piece of stderr"
    assert f"mcpmock: {file}: {words}\n" == run("fmt", file)[2]


def test_folders_and_patterns_are_formatted(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All cassettes below a folder, as tests record them; a pattern without a file is an error."""
    monkeypatch.chdir(tmp_path)
    files = [Path("cassettes/test_a/test_one.jsonl"), Path("cassettes/b.jsonl.gz")]
    for path, data in zip(files, (sealed(), gzip.compress(sealed())), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    _, _, err = run("fmt", "cassettes")

    assert [f"mcpmock: {path}: formatted" for path in sorted(files)] == [
        line.partition(" 1 take")[0] for line in err.splitlines()
    ]
    assert 2 == run("fmt", "cassettes/**/*.jsonl*")[2].count("is in canonical form")
    assert 1 == run("fmt", "cassettes/*/*")[2].count("is in canonical form")
    assert 2 == run("fmt", "cassettes/*.nothing")[0]
    assert 3 == run("fmt", "no-folder/")[0]
    assert (2, "") == run("fmt", "https://example.com/a.jsonl")[:2]


@pytest.mark.parametrize(
    ("recorded", "portable"),
    [
        ('["/home/a/venv/bin/python3.12","-m","srv"]', '["python","-m","srv"]'),
        ('["python3","-m","srv"]', '["python","-m","srv"]'),
        ('["/usr/bin/node","{root}/tests/server.js"]', '["node","tests/server.js"]'),
        ('["npx","-y","srv","--at={root}/data"]', '["npx","-y","srv","--at=data"]'),
        ('["{root}/bin/srv","/elsewhere/x"]', '["srv","/elsewhere/x"]'),
        ('"http://127.0.0.1:40123/mcp"', '"http://127.0.0.1:0/mcp"'),
        ('"http://localhost:40123/mcp"', '"http://localhost:0/mcp"'),
        ('"https://example.com:8443/mcp"', '"https://example.com:8443/mcp"'),
        ("null", "null"),
    ],
)
def test_a_server_has_the_same_name_on_every_machine(
    run: Run, tmp_path: Path, recorded: str, portable: str
) -> None:
    """In the header stands no folder of an interpreter or of a checkout."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "cassettes").mkdir()
    file = tmp_path / "cassettes" / "a.jsonl"
    target = recorded.replace("{root}", str(tmp_path))
    file.write_bytes(HEADER.replace(b'"transport"', f'"target":{target},"transport"'.encode()))
    run("fmt", file)

    assert portable == file.read_text().partition('"target":')[2].rpartition("}")[0]


def test_fmt_json(run: Run, file: Path) -> None:
    """One object for each file."""
    found = json.loads(run("fmt", "--json", "-q", file)[1])

    counts = {"takes": 1, "events": 2, "joined": 0, "unlogged": 0, "sealed": 1, "torn": 0}
    assert {"type": "formatted", "file": str(file), "changed": True, **counts} == found


@pytest.mark.parametrize("packed", [False, True])
def test_line_ends_are_mended(run: Run, tmp_path: Path, packed: bool) -> None:
    """A cassette with CR LF is whole for `check`; `fmt` writes LF."""
    file = tmp_path / ("a.jsonl.gz" if packed else "a.jsonl")
    data = sealed().replace(b"\n", b"\r\n")
    file.write_bytes(gzip.compress(data) if packed else data)
    status, out, err = run("check", file)
    assert (0, True) == (status, "line ends were changed" in out + err)
    assert 0 == run("fmt", file)[0]
    formed = gzip.decompress(file.read_bytes()) if packed else file.read_bytes()
    assert b"\r" not in formed
    assert "line ends" not in "".join(run("check", file)[1:])
