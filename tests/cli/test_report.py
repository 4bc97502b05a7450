"""`mcpmock report`: files, what is said, and exit status."""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import zlib
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.support import HEADER, call, cassette_bytes


def test_a_page_beside_the_cassette(run: Run, file: Path) -> None:
    """The page is named like the cassette, private like it, and replaced the next time."""
    page = file.with_suffix(".html")
    for _ in range(2):
        status, out, err = run("report", file)

        assert (0, "") == (status, out)
        assert err.startswith(f"mcpmock: {page}: ")
    assert 0o600 == stat.S_IMODE(page.stat().st_mode)


def test_a_file_of_others_is_kept(run: Run, file: Path) -> None:
    """Only a page of ours is replaced without --force."""
    page = file.with_suffix(".html")
    page.write_text("mine")
    status, _, err = run("report", file)

    assert (3, "mine") == (status, page.read_text())
    assert "--force" in err
    assert 0 == run("report", file, "--force")[0]


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "link to a pipe"])
def test_what_is_no_file_is_refused(
    run: Run, file: Path, tmp_path: Path, kind: str, force: list[str]
) -> None:
    """Nothing is waited for, and nothing replaced."""
    out = Path(os.devnull) if kind == "device" else tmp_path / "out"
    if kind == "folder":
        out.mkdir()
    elif kind != "device":
        os.mkfifo(tmp_path / "pipe")
        out.symlink_to(tmp_path / "pipe")
    status, _, err = run("report", file, "-o", out, *force)

    assert (3, False) == (status, out.is_file())
    assert "is not a regular file" in err


@pytest.mark.parametrize("folder", [".", "..", "/"])
def test_a_folder_is_no_recording(run: Run, folder: str) -> None:
    """Not even one whose path ends in no name."""
    assert (3, "", f"mcpmock: {folder}: is not a regular file\n") == run("report", folder)


@pytest.mark.parametrize("place", [0, 1])
def test_a_recording_is_not_its_page(run: Run, file: Path, tmp_path: Path, place: int) -> None:
    """Not even --force puts a page in its place, by whatever name."""
    other, link = tmp_path / "b.jsonl", tmp_path / "link"
    before = file.read_bytes()
    other.write_bytes(before)
    link.symlink_to((file, other)[place])
    status, _, err = run("report", file, other, "-o", link, "--force")

    assert (3, before, before) == (status, file.read_bytes(), other.read_bytes())
    assert "is the recording itself" in err


def test_json(run: Run, file: Path, tmp_path: Path) -> None:
    """One object says where the page is and how large."""
    page = tmp_path / "x.html"
    found = json.loads(run("report", file, "-o", page, "--json")[1])

    assert ("report", str(page), page.stat().st_size) == (
        found["type"],
        found["file"],
        found["bytes"],
    )


def test_two_that_differ(run: Run, file: Path, tmp_path: Path) -> None:
    """The exit status says nothing of differences: that is `diff`'s."""
    other = tmp_path / "b.jsonl"
    other.write_bytes(file.read_bytes().replace(b'"a"', b'"b"'))

    assert 0 == run("report", file, other, "-q")[0]


def test_secrets(run: Run, tmp_path: Path) -> None:
    """An unredacted recording is warned of; with --redact its page has placeholders."""
    file, page = tmp_path / "a.jsonl", tmp_path / "a.html"
    header = HEADER.replace(b'"tool"', b'"redaction":"off","tool"')
    file.write_bytes(cassette_bytes(("c2s", call(1, "add", password="hunter2")), header=header))

    assert "may hold secrets" in run("report", file)[2]
    assert "hunter2" in payloads(page)
    status, _, err = run("report", file, "--redact")
    assert (0, False) == (status, "may hold secrets" in err)
    assert "mcpmock:secret:password:1" in payloads(page)
    assert "hunter2" not in payloads(page)


def payloads(page: Path) -> str:
    block = re.search(rb'id="data">([^<]*)<', page.read_bytes())
    assert block is not None
    return zlib.decompress(base64.b64decode(block[1])).decode()


def test_an_exploration(run: Run, tmp_path: Path) -> None:
    """What `explore --json` wrote becomes a grid; another line in it is named, and so is a second
    file, which it does not take.
    """
    file = tmp_path / "run.jsonl"
    file.write_bytes(b'{"type":"row","n":1,"step":"cells","verdict":"ok"}\n')

    assert 0 == run("report", file)[0]
    assert b'<div id="grids">' in file.with_suffix(".html").read_bytes()
    assert 2 == run("report", file, file)[0]
    file.write_bytes(file.read_bytes() + b"other\n")
    status, _, err = run("report", file)
    assert 3 == status
    assert "line 2 is not what mcpmock explore --json writes" in err
