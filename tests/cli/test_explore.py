"""`mcpmock explore`: what is said before a search."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-o", "file"], "file: "),
        (["-o", "file/found"], "file/found: "),
        (["-o", "file/found/deeper"], "deeper: "),
        (["-o", "link"], "link: "),
        (["--junit", "nowhere/j.xml"], "there is no folder nowhere"),
        (["--junit", "file/j.xml"], "there is no folder file"),
        (["--junit", "folder"], "folder: "),
        (["--junit", "s.jsonl"], "is a cassette"),
    ],
)
def test_what_cannot_be_written_is_said_before_the_search(
    run: Run, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    options: list[str], words: str,
) -> None:  # fmt: skip
    """Nothing is started: a search may take an hour."""
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("folder").mkdir()
    Path("link").symlink_to("file")
    started = Path("started")
    status, out, err = run("explore", file, *options, "--", "touch", started)

    assert (3, "", False) == (status, out, started.exists())
    assert words in err
    assert 1 == err.count("\n")
