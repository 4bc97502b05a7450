"""`mcpmock review`: what failed tests have recorded, accepted or rejected."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from mcpmock.cli import review
from tests.cli.conftest import Run
from tests.support.takes import said, take
from tests.support.weather import write_weather

OLD = take("1", "a") + take("2", "b") + take("3", "c")
REJECTED = take("11", "b") + take("12", "d")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cassette of three tests, of which one failed, and one that is new."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cassettes").mkdir()
    (tmp_path / "cassettes/x.jsonl").write_bytes(OLD)
    (tmp_path / "cassettes/x.rej.jsonl").write_bytes(REJECTED)
    return tmp_path / "cassettes"


def files(folder: Path) -> dict[str, list[str]]:
    return {path.name: said(path.read_bytes()) for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    ("arguments", "cassette", "left"),
    [
        (["--accept"], "1 11 3 12", None),
        (["--reject"], "1 2 3", None),
        (["--accept", "--test", "b"], "1 11 3", "12"),
        (["--reject", "--test", "[bc]"], "1 2 3", "12"),
        (["--accept", "--test", "nobody"], "1 2 3", "11 12"),
        (["--accept", "cassettes"], "1 11 3 12", None),
        (["--accept", "cassettes/x.jsonl"], "1 11 3 12", None),
        (["--accept", "cassettes/x.rej.jsonl", "cassettes"], "1 11 3 12", None),
    ],
)
def test_at_once(
    run: Run, folder: Path, arguments: list[str], cassette: str, left: str | None
) -> None:
    """Others stay byte for byte, and a file that is empty goes."""
    assert (0, "") == run("review", *arguments)[:2]

    expected = {"x.jsonl": cassette.split()} | ({"x.rej.jsonl": left.split()} if left else {})
    assert expected == files(folder)
    assert (folder / "x.jsonl").read_bytes().startswith(take("1", "a"))


@pytest.mark.parametrize(
    ("typed", "status", "cassette", "left"),
    [
        ("a\na\n", 0, "1 11 3 12", None),
        ("r\na\n", 0, "1 2 3 12", None),
        ("s\na\n", 1, "1 2 3 12", "11"),
        ("a\nq\n", 1, "1 11 3", "12"),
        ("q\n", 1, "1 2 3", "11 12"),
        ("x\nr\nr\n", 0, "1 2 3", None),
        ("a\n", 130, "1 11 3", "12"),
    ],
)
def test_on_a_terminal(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch,
    typed: str, status: int, cassette: str, left: str | None,
) -> None:  # fmt: skip
    """Each is shown and asked about; what was skipped is still pending."""
    monkeypatch.setattr(review, "is_terminal", lambda _stream: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    ended, out, _ = run("review")

    assert status == ended
    assert out.startswith("b: ")
    expected = {"x.jsonl": cassette.split()} | ({"x.rej.jsonl": left.split()} if left else {})
    assert expected == files(folder)


def test_a_list(run: Run, folder: Path) -> None:
    """It says what is pending, and changes nothing; without a terminal it is all that happens."""
    before = files(folder)
    status, out, err = run("review", "--list")
    assert (1, "") == (status, err)
    assert ["b", "d"] == [line.partition(":")[0] for line in out.splitlines() if ":" in line[:3]]

    assert (2, out) == run("review")[:2]
    assert "--accept, --reject or --list" in run("review")[2]
    assert before == files(folder)


def test_as_json(run: Run, folder: Path) -> None:
    """A line for each, with what `diff` says."""
    for test, city in (("same", "Oslo"), ("other", "Rome")):
        write_weather(folder / "w.jsonl")
        header, rest = (folder / "w.jsonl").read_bytes().split(b"}\n", 1)
        data = b'%b,"test":"%b"}\n%b' % (header, test.encode(), rest)
        (folder / f"{test}.jsonl").write_bytes(data)
        (folder / f"{test}.rej.jsonl").write_bytes(data.replace(b"Oslo", city.encode()))
    (folder / "w.jsonl").unlink()
    (folder / "x.rej.jsonl").unlink()
    _, out, _ = run("review", "--list", "--json")

    found = [json.loads(line) for line in out.splitlines()]
    assert {"type", "file", "cassette", "test", "verdict"} == set(found[0])
    verdicts = {one["test"]: one["verdict"] for one in found}
    assert ("same", True) == (verdicts["same"], verdicts["other"] in ("breaking", "risky"))


def test_a_test_that_is_new(run: Run, folder: Path) -> None:
    """Also where there is no cassette yet: accepted, it makes one. A `.gz` stays one."""
    (folder / "x.rej.jsonl").unlink()
    (folder / "new.rej.jsonl.gz").write_bytes(gzip.compress(take("1", "n")))
    assert "n: new, cassettes/new.jsonl.gz\n" in run("review", "--list")[1]

    assert 0 == run("review", "--accept")[0]
    assert ["1"] == said(gzip.decompress((folder / "new.jsonl.gz").read_bytes()))
    assert not (folder / "new.rej.jsonl.gz").exists()


@pytest.mark.parametrize(
    ("rejected", "cassette"),
    [
        ("a.rej.b.rej.jsonl", "a.rej.b.jsonl"),
        ("a.rej.b.rej.jsonl.gz", "a.rej.b.jsonl.gz"),
        ("test_w[x.rej.jsonl].rej.jsonl", "test_w[x.rej.jsonl].jsonl"),
        ("a.rej.rej.jsonl", "a.rej.jsonl"),
        ("a.rejected.rej.jsonl", "a.rejected.jsonl"),
    ],
)
def test_a_cassette_has_any_name(run: Run, folder: Path, rejected: str, cassette: str) -> None:
    """What was recorded beside a cassette goes into that one."""
    pack = gzip.compress if rejected.endswith(".gz") else bytes
    (folder / rejected).write_bytes(pack(take("1", "n")))

    assert 0 == run("review", "--accept", folder / rejected)[0]
    assert (True, False) == ((folder / cassette).exists(), (folder / rejected).exists())


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--accept", "--list"], 2, "mutually exclusive"),
        (["nowhere"], 3, "nowhere: no such file or folder"),
        (["nowhere.rej.jsonl"], 3, "nowhere.rej.jsonl: no such file"),
        (["--list", "cassettes/bad.rej.jsonl"], 3, "cassette"),
        (["cassettes/quiet.jsonl"], 0, "no recordings of failed tests"),
        (["--accept", "--test", "x", "cassettes/x.rej.jsonl"], 0,
         "mcpmock: --test x fits none of the pending tests: b, d\n"),
    ],
)  # fmt: skip
def test_what_makes_no_sense(
    run: Run, folder: Path, arguments: list[str], status: int, words: str
) -> None:
    """It is said in a line."""
    (folder / "bad.rej.jsonl").write_text("{}\n")
    (folder / "quiet.jsonl").write_bytes(OLD)
    ended, out, err = run("review", *arguments)

    assert (status, "") == (ended, out)
    assert words in err
