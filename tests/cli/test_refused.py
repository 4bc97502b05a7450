"""What commands refuse alike: files that are no cassettes, and outputs that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.support import HEADER
from tests.support.sealed import EVENTS, ONE, sealed

READING = (
    "convert F -o OUT",
    "diff GOOD F",
    "diff F GOOD",
    "drive F -- server",
    "fmt F",
    "merge GOOD F -o OUT",
    "redact F",
    "redact F -o OUT",
    "replay F",
    "report F -o OUT",
    "show F",
    "stats GOOD F",
    "verify F -- server",
)
WRITING = ("convert GOOD", "merge GOOD OTHER", "recover GOOD", "redact GOOD")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two good cassettes, a damaged one, and a file that is none."""
    monkeypatch.chdir(tmp_path)
    Path("GOOD").write_bytes(sealed())
    Path("OTHER").write_bytes(sealed().replace(b"ping", b"pong"))
    Path("damaged").write_bytes(HEADER + ONE + b"oops\n" + EVENTS)
    Path("notes").write_text("dear diary\n")
    return tmp_path


@pytest.mark.parametrize("wrong", ["damaged", "notes", "none", pytest.param("x" * 300, id="long")])
@pytest.mark.parametrize("command", READING)
def test_what_is_no_whole_cassette(run: Run, folder: Path, command: str, wrong: str) -> None:
    """One line that names it, status 3; nothing is printed, started or written."""
    before = {path: path.read_bytes() for path in folder.iterdir()}
    status, out, err = run(*(wrong if word == "F" else word for word in command.split()))

    assert (3, "", 1) == (status, out, err.count("\n"))
    assert err.startswith(f"mcpmock: {wrong}:")
    assert before == {path: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "command", ["convert . -o OUT", "merge GOOD . -o OUT", "stats GOOD .", "show --follow notes"]
)
def test_a_folder(run: Run, folder: Path, command: str) -> None:
    """Is no cassette either; where folders are taken, this one holds none. A file that is followed
    may only be missing.
    """
    status, out, err = run(*command.split())

    assert (3, "", 1) == (status, out, err.count("\n"))
    assert not Path("OUT").exists()


@pytest.mark.parametrize("command", WRITING)
def test_nothing_is_overwritten(run: Run, command: str) -> None:
    """An OUT that exists is refused, also if it is the input or a dangling link."""
    Path("link").symlink_to("nowhere")
    for existing in ("GOOD", "link"):
        status, out, err = run(*command.split(), "-o", existing)

        words = f"mcpmock: {existing}: exists; name a file that does not\n"
        assert (3, "", words) == (status, out, err)
    assert sealed() == Path("GOOD").read_bytes()
    assert Path("link").is_symlink()
