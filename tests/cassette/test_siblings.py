"""Siblings: recordings that began while another recorder had the cassette locked."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path

import pytest

from mcpmock.cassette.file import (
    find_siblings,
    join_siblings,
    load,
    load_together,
    open_take,
    read_bytes,
    sibling_path,
)
from mcpmock.cassette.parser import read
from mcpmock.errors import CassetteError
from tests.support import INITIALIZE, c, cassette_bytes
from tests.support.steps import count_steps
from tests.support.takes import said, take


def begun(second: int, text: str, sibling_of: str = "") -> bytes:
    """A take that began at this second."""
    name = f',"sibling_of":"{sibling_of}"' if sibling_of else ""
    start = f'{{"mcpmock":1,"recorded_at":"2026-01-01T00:00:{second:02}.000Z"{name}}}\n'
    return take(text).replace(take(text).partition(b"\n")[0] + b"\n", start.encode())


def loaded(path: Path) -> list[str]:
    """What the takes hold, in the order of a reader."""
    return [(e.payload or b"").decode() for one in load(path).takes for e in one.events]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A cassette with two siblings, and a file of a user who numbers recordings."""
    (tmp_path / "a.jsonl").write_bytes(begun(10, "10") + begun(40, "40"))
    (tmp_path / "a.7.jsonl").write_bytes(begun(30, "30", "a.jsonl"))
    (tmp_path / "a.99.jsonl").write_bytes(begun(20, "20", "a.jsonl"))
    (tmp_path / "a.1.jsonl").write_bytes(begun(5, "other"))
    return tmp_path / "a.jsonl"


@pytest.mark.parametrize(
    ("name", "sibling"),
    [("s.jsonl", "s.{}.jsonl"), ("s.jsonl.gz", "s.{}.jsonl.gz"), ("s", "s.{}"), ("a.b", "a.{}.b")],
)
def test_the_name_of_a_sibling(name: str, sibling: str) -> None:
    """The process id stands before the suffix."""
    process = (
        sibling_path(Path(name)).name.removeprefix(sibling.partition("{")[0]).partition(".")[0]
    )

    assert sibling.format(process) == sibling_path(Path(name)).name


def test_readers_read_siblings(file: Path) -> None:
    """In the order of their start; a file whose header does not name the cassette stays out."""
    assert ["10", "20", "30", "40"] == loaded(file)
    assert [f"{file.parent}/a.{n}.jsonl is read too: it is not joined yet" for n in (99, 7)] == [
        one.text for one in load(file).notices if not one.line and "read too" in one.text
    ]
    assert ["other"] == loaded(file.with_name("a.1.jsonl"))


def test_a_damaged_sibling(file: Path) -> None:
    """The error names it."""
    with open(file.with_name("a.7.jsonl"), "ab") as sibling:
        sibling.write(b"damage\n{}\n")

    with pytest.raises(CassetteError, match=r"a\.7\.jsonl:"):
        load(file)


def test_siblings_are_joined(file: Path) -> None:
    """Whole takes, in the order of their start, byte for byte; only the siblings are removed."""
    before = file.read_bytes()
    join_siblings(file)

    assert before + begun(20, "20", "a.jsonl") + begun(30, "30", "a.jsonl") == file.read_bytes()
    assert {"a.jsonl", "a.1.jsonl"} == {one.name for one in file.parent.iterdir()}
    assert ["10", "20", "30", "40"] == loaded(file)


def test_a_sibling_that_is_recorded_to_stays(file: Path) -> None:
    """Until its recorder closes it."""
    recorder = open_take(file.with_name("a.7.jsonl"))
    assert recorder is not None
    join_siblings(file)
    assert [file.with_name("a.7.jsonl")] == find_siblings(file)
    recorder.discard()
    join_siblings(file)

    assert [] == find_siblings(file)


def test_a_cassette_that_is_recorded_to_stays(file: Path) -> None:
    """Its recorder joins the siblings when it closes."""
    before, recorder = file.read_bytes(), open_take(file)
    assert recorder is not None
    join_siblings(file)
    assert before == file.read_bytes()
    recorder.discard()

    assert 2 == len(find_siblings(file))


def test_what_a_crash_left(file: Path) -> None:
    """Torn lines of both are reported and nothing else is lost; what was appended before the crash
    is not appended again.
    """
    with open(file, "ab") as torn:
        torn.write(begun(50, "50")[:-3])
    file.with_name("a.7.jsonl").write_bytes(begun(30, "30", "a.jsonl") + b'{"n":2,"t"')
    file.with_name("a.99.jsonl").write_bytes(begun(40, "40"))
    file.with_name("a.99.jsonl").write_bytes(begun(20, "20", "a.jsonl"))
    join_siblings(file)
    joined = file.read_bytes()
    file.with_name("a.7.jsonl").write_bytes(begun(20, "20", "a.jsonl"))
    join_siblings(file)

    assert joined == file.read_bytes()
    assert ["10", "20", "30", "40"] == loaded(file)
    assert 2 == len([one for one in load(file).notices if "torn" in one.text])


@pytest.mark.parametrize("part", [False, True])
def test_packed(tmp_path: Path, part: bool) -> None:
    """Siblings of a `.gz` are packed too, or plain if a crash kept them from it."""
    file, sibling = tmp_path / "a.jsonl.gz", begun(2, "2", "a.jsonl.gz")
    file.write_bytes(gzip.compress(begun(1, "1")))
    if part:
        (tmp_path / "a.7.jsonl.gz.part").write_bytes(sibling)
    else:
        (tmp_path / "a.7.jsonl.gz").write_bytes(gzip.compress(sibling))
    assert ["1", "2"] == loaded(file)
    join_siblings(file)

    assert ["1", "2"] == said(read_bytes(file))
    assert [file] == list(tmp_path.iterdir())


def test_no_siblings(tmp_path: Path) -> None:
    """A file that is not there has none, and none is made."""
    join_siblings(tmp_path / "a.jsonl")
    (tmp_path / "a.7.jsonl").write_bytes(begun(1, "1", "a.jsonl"))
    join_siblings(tmp_path / "a.jsonl")

    assert [tmp_path / "a.7.jsonl"] == list(tmp_path.iterdir())


def test_several_files_are_one_recording(file: Path) -> None:
    """Folders stand for what is below them, without what failed tests left; each file is read once,
    each sibling too.
    """
    (file.parent / "sub").mkdir()
    packed = file.parent / "sub" / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(begun(15, "15")))
    failed = file.parent / "sub" / "b.rej.jsonl"
    failed.write_bytes(begun(16, "16"))

    together = load_together([file, file.parent])
    assert ["5", "10", "15", "20", "30", "40"] == [
        str(int((one.header.recorded_at or "")[17:19])) for one in together.takes
    ]
    assert f"{file}, {file.parent}" == together.name
    assert load(file) == load_together([file])
    assert load(failed) == load_together([failed])
    (file.parent / "empty").mkdir()
    with pytest.raises(CassetteError, match="no cassettes"):
        load_together([file.parent / "empty"])


def test_the_work_grows_with_the_number_of_files(tmp_path: Path) -> None:
    """Not with its square: of numbered files each was compared with all others."""
    steps = []
    for number in (20, 40):
        folder = tmp_path / str(number)
        folder.mkdir()
        for n in range(number):
            (folder / f"a.{n}.jsonl").write_bytes(begun(n, "1", "b.jsonl"))
        load_together([folder])  # what is done once
        steps.append(count_steps(partial(load_together, [folder])))

    assert steps[1] < 2.1 * steps[0]


def test_takes_without_a_start(tmp_path: Path) -> None:
    """They stay in the order of the file: `fmt` drops the starts."""
    (tmp_path / "a.jsonl").write_bytes(begun(9, "9") + take("x").replace(b"recorded_at", b"r"))
    (tmp_path / "b.jsonl").write_bytes(cassette_bytes(c(INITIALIZE)))

    assert ["9", "x"] == loaded(tmp_path / "a.jsonl")


def test_a_cassette_is_complete() -> None:
    """Every take has its footer, and no line is damaged."""
    sealed = b'{"footer":{"events":1,"sha256":"x"}}\n'

    assert read("a", take("1") + sealed).complete
    assert not read("a", take("1") + sealed + take("2")).complete
    assert not read("a", take("1") + b"damage\n" + sealed).complete
