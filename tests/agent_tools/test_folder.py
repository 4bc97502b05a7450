"""The folder of an agent: what is in it, and that nothing else is."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from mcpmock.agent_tools import folder as module
from mcpmock.agent_tools.folder import CassetteFolder
from mcpmock.errors import CassetteError
from tests.support.weather import write_weather


@pytest.fixture
def folder(tmp_path: Path) -> CassetteFolder:
    """A folder with a cassette, beside one that is not to be reached."""
    write_weather(tmp_path / "outside.jsonl")
    write_weather(tmp_path / "in" / "weather.jsonl")
    return CassetteFolder(tmp_path / "in")


@pytest.mark.parametrize(
    "name",
    [
        "../outside.jsonl",
        "sub/../../outside.jsonl",
        "/etc/passwd",
        "{outside}",
        "",
        ".",
        "..",
        "a\0b",
        "link.jsonl",
        "folder/outside.jsonl",
        "hole/weather.jsonl",
        "circle",
        "none.jsonl",
        "pipe.jsonl",
        "sub",
        "x" * 5000,
    ],
)
def test_what_is_not_reached(folder: CassetteFolder, tmp_path: Path, name: str) -> None:
    """Neither by a name nor over a link, and a pipe is not waited for."""
    (folder.root / "sub").mkdir()
    (folder.root / "link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    (folder.root / "folder").symlink_to(tmp_path)
    (folder.root / "hole").symlink_to(folder.root)
    (folder.root / "circle").symlink_to("circle")
    os.mkfifo(folder.root / "pipe.jsonl")

    with pytest.raises(CassetteError):
        folder.read(name.format(outside=tmp_path / "outside.jsonl"))
    assert list(folder.names()) == ["pipe.jsonl", "weather.jsonl"]
    assert folder.listed("pipe.jsonl").problem


def test_the_folder_itself_may_be_a_link(folder: CassetteFolder, tmp_path: Path) -> None:
    """The user has named it."""
    (tmp_path / "named").symlink_to(folder.root)

    assert CassetteFolder(tmp_path / "named").read("weather.jsonl").cassette.takes


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: data[:-5], "torn line dropped"),
        (lambda data: data, "take 1 is incomplete"),
        (lambda data: data.replace(b'"n":3', b'"n":', 1), "line 4: "),
        (lambda data: data.replace(b"\n", b"\r\n"), "line ends were changed"),
        (lambda data: b"", "is empty"),
    ],
)
def test_what_is_said(folder: CassetteFolder, change: object, problem: str) -> None:
    """A cassette that grows or is damaged is read as far as it can be."""
    file = folder.root / "weather.jsonl"
    assert callable(change)
    file.write_bytes(change(file.read_bytes()))
    found = folder.read("weather.jsonl")

    assert any(problem in text for text in found.problems), found.problems


@pytest.mark.parametrize(
    ("kept", "behind", "problem"),
    [
        (-8, b"", "the packed file was cut off"),
        (-8, bytes(8), "the packed file is damaged"),
        (None, b"more", "the packed file is damaged"),
    ],
)
def test_packed_files_that_are_damaged(
    folder: CassetteFolder, kept: int | None, behind: bytes, problem: str
) -> None:
    """What can be unpacked is read, and that there was more is said."""
    data = (folder.root / "weather.jsonl").read_bytes()
    (folder.root / "a.jsonl.gz").write_bytes(gzip.compress(data)[:kept] + behind)
    found = folder.read("a.jsonl.gz")

    assert found.problems[0] == problem
    assert found.data == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"mcpmock":2,"new":1}\n{"other":"lines"}\n', "a newer mcpmock reads it"),
        (b"PK\x03\x04", "zip archive"),
        (b"hello\n", "is not a cassette"),
        (b"[1,2]\n", "JSON array"),
    ],
)
def test_what_is_refused(folder: CassetteFolder, data: bytes, reason: str) -> None:
    """With its reason, in the list too."""
    (folder.root / "other.jsonl").write_bytes(data)

    with pytest.raises(CassetteError, match=reason):
        folder.read("other.jsonl")
    assert reason in folder.listed("other.jsonl").problem


def test_packed_files_are_listed_by_their_first_line(folder: CassetteFolder) -> None:
    """As others are; what cannot be unpacked is named."""
    plain = folder.root / "weather.jsonl"
    (folder.root / "packed.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    (folder.root / "no.jsonl.gz").write_bytes(plain.read_bytes())
    one, other, no = map(folder.listed, ("weather.jsonl", "packed.jsonl.gz", "no.jsonl.gz"))

    assert one.header is not None
    assert one.header == other.header
    assert ("", "cannot be unpacked") == (other.problem, no.problem)


def test_too_large(folder: CassetteFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed or not."""
    data = (folder.root / "weather.jsonl").read_bytes()
    (folder.root / "packed.jsonl.gz").write_bytes(gzip.compress(data))
    monkeypatch.setattr(module, "MAX_CASSETTE_BYTES", len(data) - 1)

    for name in ("weather.jsonl", "packed.jsonl.gz"):
        with pytest.raises(CassetteError, match="in a shell"):
            folder.read(name)


def test_what_grows_is_read_again(folder: CassetteFolder) -> None:
    """What was read is kept until the file changes."""
    file = folder.root / "weather.jsonl"
    first = folder.read("weather.jsonl")
    assert folder.read("weather.jsonl") is first
    with file.open("ab") as more:
        more.write(b'{"n":9,"t":9,"end":{"exit":0}}\n')

    assert len(folder.read("weather.jsonl").cassette.takes[0].events) == 9


def test_siblings_are_read_too(folder: CassetteFolder) -> None:
    """As the commands read them."""
    data = (folder.root / "weather.jsonl").read_bytes()
    head, _, rest = data.partition(b"\n")
    sibling = head[:-1] + b',"sibling_of":"weather.jsonl"}'
    (folder.root / "weather.77.jsonl").write_bytes(sibling + b"\n" + rest)

    found = folder.read("weather.jsonl")
    assert len(found.cassette.takes) == 2
    assert any("is read too" in text for text in found.problems)
