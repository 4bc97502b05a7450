"""Names as people give them, to files."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpmock.batch.file_lists import expand
from mcpmock.cassette.file import is_of_folder
from mcpmock.errors import CassetteError

REJECTED = "runs/deep/d.rej.jsonl"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four cassettes on two levels, what a failed test has recorded, and a file that is none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "deep").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    for name in (
        "a.jsonl", "[b].jsonl", "notes.txt", "runs/c.jsonl.gz", "runs/deep/d.jsonl", REJECTED,
    ):  # fmt: skip
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("names", "files"),
    [
        (["a.jsonl", "notes.txt", "none"], ["a.jsonl", "notes.txt", "none"]),
        (["runs"], ["runs/c.jsonl.gz", "runs/deep/d.jsonl"]),
        ([REJECTED, "runs/*/*j*.jsonl"], [REJECTED]),
        (["*.jsonl"], ["[b].jsonl", "a.jsonl"]),
        (["**/*.jsonl"], ["[b].jsonl", "a.jsonl", "runs/deep/d.jsonl", REJECTED]),
        (["r*"], ["runs/c.jsonl.gz", "runs/deep/d.jsonl"]),
        (["[b].jsonl"], ["[b].jsonl"]),
        (
            ["runs/deep", "a.jsonl", "runs/*/*", "./a.jsonl"],
            ["runs/deep/d.jsonl", "a.jsonl", REJECTED],
        ),
        (["s3://bucket/a.jsonl"], ["s3://bucket/a.jsonl"]),
    ],
)  # fmt: skip
def test_what_is_meant(folder: Path, names: list[str], files: list[str]) -> None:
    """A folder is all below it, a pattern what matches; a file is read once, and a name that there
    is no file of is left for the reader to complain about.
    """
    assert files == list(map(str, expand(names)))


def test_what_failed_tests_have_recorded(folder: Path) -> None:
    """It belongs to no folder, but where every file counts; a name or a pattern means it."""
    for rejected in (False, True):
        assert rejected is (Path(REJECTED) in expand(["runs"], rejected=rejected))
        assert rejected is is_of_folder(REJECTED, rejected=rejected)


def test_a_pattern_that_nothing_matches(folder: Path) -> None:
    """It is a mistake of the user."""
    with pytest.raises(ValueError, match=r"no cassette matches x\*\.jsonl"):
        expand(["a.jsonl", "x*.jsonl"])


def test_a_folder_without_cassettes(folder: Path) -> None:
    """It is in error, not empty work that succeeds."""
    with pytest.raises(CassetteError, match=r"empty: no cassettes \(\.jsonl, \.jsonl\.gz\)"):
        expand(["a.jsonl", "empty"])
    (folder / "empty" / "a.rej.jsonl").touch()
    with pytest.raises(CassetteError, match=r"; only what failed tests have recorded \(\.rej\)"):
        expand(["empty"])
