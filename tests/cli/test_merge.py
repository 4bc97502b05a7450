"""`mcpmock merge`: output, files and exit status."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from tests.cli.conftest import Run
from tests.support import HEADER, cassette_bytes, request, response
from tests.support.sealed import EVENTS, ONE, sealed

OTHER = sealed(cassette_bytes(("c2s", request(9, "ping")), ("s2c", response(9))))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two cassettes, one of them packed."""
    one, two = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    one.write_bytes(sealed())
    two.write_bytes(gzip.compress(OTHER))
    return [one, two]


def test_cassettes_are_joined(run: Run, files: list[Path], out: Path) -> None:
    """All takes in the order given, whole, in a new file that only its owner reads."""
    words = f"mcpmock: {out}: 2 takes, 4 events of 2 cassettes\n"
    assert (0, "", words) == run("merge", *files, "-o", out)
    takes = load(out).takes

    assert [b'"id":1', b'"id":9'] == [(take.events[0].payload or b"")[17:23] for take in takes]
    assert 0 == run("check", out)[0]
    assert 0o600 == out.stat().st_mode & 0o777
    assert OTHER == gzip.decompress(files[1].read_bytes())


def test_merge_says_what_was_never_finished(run: Run, files: list[Path], out: Path) -> None:
    """A torn line is left out, a take without a footer gets none: both are told."""
    files[0].write_bytes(HEADER + EVENTS + ONE[:20])
    _, _, err = run("merge", *files, "-o", out)

    assert [
        f"mcpmock: {files[0]}:4: left out: torn",
        f"mcpmock: {out}: 2 takes, 4 events of 2 cassettes; 1 take without a footer",
    ] == [line for line in err.splitlines() if "incomplete" not in line]


def test_merge_json(run: Run, files: list[Path], out: Path) -> None:
    """One object."""
    found = json.loads(run("merge", "--json", "-q", *files, "-o", out)[1])

    counts = {"cassettes": 2, "takes": 2, "events": 4, "sealed": 2, "torn": 0}
    assert {"type": "merged", "file": str(out), **counts} == found


def test_what_is_named_twice_is_refused(run: Run, files: list[Path], out: Path) -> None:
    """By the same name, by another one, and as a copy; nothing is written."""
    one, two = files
    link, copy = one.with_name("link.jsonl"), one.with_name("copy.jsonl")
    os.link(one, link)
    copy.write_bytes(one.read_bytes())
    for again, words in (
        (one, f"is the same file as {one}"),
        (link, f"is the same file as {one}"),
        (copy, f"holds the same as {one}"),
    ):
        status, _, err = run("merge", one, two, again, "-o", out)

        assert 3 == status
        assert err.startswith(f"mcpmock: {again}: {words}; ")
        assert 1 == len(err.splitlines())
        assert not out.exists()


def test_more_than_a_cassette_may_hold_is_refused(
    run: Run, files: list[Path], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or nothing could load what comes out."""
    monkeypatch.setattr("mcpmock.cassette.file.MAX_BYTES", len(sealed()) + 10)
    status, _, err = run("merge", *files, "-o", out)

    assert 3 == status
    assert f"{files[1]}: makes the result larger than 0 MiB" in err
