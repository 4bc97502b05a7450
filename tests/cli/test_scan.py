"""`mcpmock scan` and `mcpmock redact`: output, files and exit status."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.support.hostile import HOSTILE, offenders
from tests.support.sealed import sealed

SECRET = "hunter2-hunter2"
BODY = b"".join((
    b'{"mcpmock":1,"transport":"stdio","redaction":"off"}\n',
    b'{"n":1,"d":"c2s","m":{"id":1,"method":"m","params":{"password":"hunter2-hunter2"}}}\n',
    b'{"n":2,"stderr":"got hunter2-hunter2\\n"}\n',
))  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_bytes(sealed(BODY))
    return path


def test_a_scan_names_the_places(run: Run, file: Path) -> None:
    """Exit status 1, the line and the kind of each secret, and never its value."""
    status, out, err = run("scan", file)

    assert 1 == status
    assert [
        f"{file}:2: event 1: password at $.params.password",
        f"{file}:3: event 2: password",
        f"{file}: 2 secrets",
    ] == out.splitlines()
    assert f"mcpmock: `mcpmock redact {file}` replaces them\n" == err
    assert SECRET not in out + err


def test_scan_json(run: Run, file: Path) -> None:
    """An object for each secret and one for the file."""
    status, out, _ = run("scan", "--json", file)
    first, _, last = map(json.loads, out.splitlines())

    place = {"line": 2, "take": 1, "event": 1, "path": "$.params.password", "kind": "password"}
    assert {"type": "secret", "file": str(file), **place} == first
    assert (1, {"type": "scan", "file": str(file), "secrets": 2}) == (status, last)
    file.write_text("hello\n")
    assert 3 == run("scan", file)[0]


@pytest.mark.parametrize("kept", [-1, -9, 40])
def test_what_cannot_be_unpacked_is_not_searched(run: Run, tmp_path: Path, kept: int) -> None:
    """A packed file that is cut off is never without secrets."""
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(gzip.compress(sealed(BODY))[:kept])
    for options in ((), ("--quiet",), ("--json",)):
        status, out, err = run("scan", *options, path)
        assert (3, "") == (status, out)
        assert f"{path}: the packed file was cut off; `mcpmock recover " in err


@pytest.mark.parametrize("above", [b"", sealed(BODY.replace(SECRET.encode(), b"x"))])
def test_a_take_of_a_newer_format_is_not_searched(run: Run, tmp_path: Path, above: bytes) -> None:
    """Its secrets may stand where this version does not look."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(above + sealed(BODY).replace(b'{"mcpmock":1', b'{"mcpmock":2'))
    line = above.count(b"\n") + 1

    status, out, err = run("scan", path)

    newer = "has format 2, this mcpmock reads 1; a newer mcpmock reads it"
    assert (3, "", f"mcpmock: {path}:{line}: {newer}\n") == (status, out, err)


def test_redact_leaves_nothing_to_find(run: Run, file: Path) -> None:
    """In place, once; a second time there is nothing to do, and the file is not touched."""
    before = file.read_bytes()
    assert (0, "", f"mcpmock: {file}: replaced 2 values in 2 events\n") == run("redact", file)
    once = file.stat()

    assert before != file.read_bytes()
    assert (0, "", f"mcpmock: {file}: no secrets\n") == run("redact", file)
    assert (once.st_ino, once.st_mtime_ns) == (file.stat().st_ino, file.stat().st_mtime_ns)
    assert (0, f"{file}: no secrets\n", "") == run("scan", file)
    assert 0 == run("check", "--only", "integrity", file)[0]


def test_redact_to_another_file(run: Run, file: Path, tmp_path: Path) -> None:
    """The file itself stays as it is, and a file that exists is not overwritten."""
    before, output = file.read_bytes(), tmp_path / "out.jsonl"
    status, out, _ = run("redact", "--json", file, "-o", output)

    made = {"type": "redacted", "file": str(output), "replaced": 2, "events": 2}
    assert (0, made) == (status, json.loads(out))
    assert before == file.read_bytes()
    assert SECRET.encode() not in output.read_bytes()


def test_a_path_is_inert(run: Run, tmp_path: Path) -> None:
    """A name from the file cannot move the cursor."""
    named = json.dumps({"n": 3, "d": "c2s", "m": {f"{HOSTILE} api key": "abcdefgh12345"}})
    path = tmp_path / "s.jsonl"
    path.write_bytes(sealed(BODY + named.encode() + b"\n"))
    status, out, _ = run("scan", path)

    assert (1, 1) == (status, out.count("event 3"))
    assert [] == list(offenders(out))
