"""`mcpmock merge` and `convert`: what they write, say, refuse and end with."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
import trio

from mcpmock.cassette.file import load
from mcpmock.channels.channel import MemoryChannel
from mcpmock.protocol.messages import C2S
from tests.cassette.test_lines import EVENTS, ONE, sealed
from tests.cli.conftest import CONTROLS, HOSTILE, Run, hostile
from tests.convert.test_foreign import DATA, REAL, lines, rec, snoop
from tests.support import HEADER, c2s, call, cassette_bytes, hangs_up, request, response

OTHER = sealed(cassette_bytes(("c2s", request(9, "ping")), ("s2c", response(9))))
DAMAGED = HEADER + ONE + b"oops\n" + EVENTS


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


def test_a_packed_name_gives_a_packed_file(run: Run, files: list[Path], tmp_path: Path) -> None:
    """As everywhere; `-q` says nothing."""
    out = tmp_path / "out.jsonl.gz"

    assert (0, "", "") == run("merge", "-q", *files, "-o", out)
    assert 2 == len(load(out).takes)
    assert out.read_bytes().startswith(b"\x1f\x8b")


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


def test_nothing_is_overwritten(run: Run, files: list[Path], out: Path) -> None:
    """An OUT that exists is refused by both, also if it is one of the inputs or a dangling link."""
    out.symlink_to("nowhere")
    for place in (files[0], out):
        for command in (["merge", *files], ["convert", files[0]]):
            status, _, err = run(*command, "-o", place)

            assert (3, f"mcpmock: {place}: exists; name a file that does not\n") == (status, err)
    assert sealed() == files[0].read_bytes()


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


def test_what_is_bad_is_refused(run: Run, files: list[Path], out: Path, tmp_path: Path) -> None:
    """One line, status 3, and nothing is written."""
    bad, text = tmp_path / "bad.jsonl", tmp_path / "notes.txt"
    bad.write_bytes(DAMAGED)
    text.write_text("hello\n")
    for wrong in (bad, text, tmp_path / "none", tmp_path):
        for command in (["merge", files[0], wrong], ["convert", wrong]):
            status, said, err = run(*command, "-o", out)

            assert (3, "") == (status, said)
            assert err.startswith(f"mcpmock: {wrong}")
            assert 1 == len(err.splitlines())
            assert not out.exists()


def test_one_cassette_cannot_be_merged(run: Run, files: list[Path], out: Path) -> None:
    """It takes two."""
    assert 2 == run("merge", files[0], "-o", out)[0]


def test_more_than_a_cassette_may_hold_is_refused(
    run: Run, files: list[Path], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or nothing could load what comes out."""
    monkeypatch.setattr("mcpmock.cassette.file.MAX_BYTES", len(sealed()) + 10)
    status, _, err = run("merge", *files, "-o", out)

    assert 3 == status
    assert f"{files[1]}: makes the result larger than 0 MiB" in err


def test_a_cassette_becomes_har(run: Run, files: list[Path], tmp_path: Path) -> None:
    """What is made up, and what is left out, is said."""
    out = tmp_path / "a.har"
    files[0].write_bytes(cassette_bytes(("c2s", call(1, "add")), ("stderr", "up\n")))
    status, said, err = run("convert", files[0], "-o", out)

    assert (0, "") == (status, said)
    assert [
        f"mcpmock: {out}: 1 entry in HAR 1.2",
        f"mcpmock: {out}: 1 entry for calls over stdio, with invented URLs:"
        " http://server.invalid/...",
        f"mcpmock: {out}: left out 1 event outside of any exchange",
    ] == err.splitlines()
    assert "1.2" == json.loads(out.read_bytes())["log"]["version"]


def test_convert_json(run: Run, files: list[Path], tmp_path: Path) -> None:
    """One object, for either way."""
    har, imported = tmp_path / "a.har", tmp_path / "b.jsonl"
    made = json.loads(run("convert", "--json", "-q", files[1], "-o", har)[1])
    read = json.loads(run("convert", "--json", "-q", DATA / REAL[0], "-o", imported)[1])

    counts = {"entries": 1, "made_up": 1, "left_out": 0}
    assert {"type": "converted", "file": str(har), "format": "har", **counts} == made
    lacks = ["the exact bytes of messages", "standard error", "how the session ended"]
    size = {"takes": 1, "events": 17, "lost": 0, "left_out": 0, "lacks": lacks}
    where = {"type": "converted", "file": str(imported), "format": "cassette"}
    assert {**where, "from": "mcp-rec", **size} == read


@pytest.mark.parametrize("name", REAL)
def test_recordings_of_other_tools_become_cassettes(
    run: Run, client: MemoryChannel, out: Path, name: str
) -> None:
    """What comes out loads, is whole, and is a server."""
    status, _, err = run("convert", DATA / name, "-o", out)
    assert 0 == status
    assert f"1 take, 17 events of {name.split('.')[0]}, which does not record the exact" in err
    status, told, _ = run("check", out)
    assert (0, True) == (status, f"{out}: 1 take, 17 events: ok" in told)

    asked = [e.payload or b"" for e in load(out).takes[0].events[:4] if e.d == "c2s"]
    client.send_nowait([*map(c2s, asked), hangs_up(C2S)])
    assert 0 == run("replay", out)[0]
    assert [1, 2] == trio.run(_ids_heard, client)


async def _ids_heard(client: MemoryChannel) -> list[int]:
    heard = []
    try:
        while True:
            heard += [frame.raw for frame in await client.receive()]
    except trio.EndOfChannel:
        return [json.loads(raw)["id"] for raw in heard if raw]


def test_what_other_tools_lost_is_said(run: Run, tmp_path: Path, out: Path) -> None:
    """Counts of what is a gap and of what is left out; secrets are kept only if so asked."""
    file = tmp_path / "snoop"
    secret = call(1, "t", password="hunter2")
    http = {"transport": "http", "status": 202}
    file.write_bytes(lines(snoop(1, "c2s", raw=secret), snoop(4, "s2c", **http)))
    _, _, err = run("convert", file, "-o", out)

    assert "2 events that mcpsnoop reports as lost are gaps" in err
    assert "left out 1 line without a message" in err
    assert b"hunter2" not in out.read_bytes()
    out.unlink()
    run("convert", "--no-redact", file, "-o", out)
    assert b"hunter2" in out.read_bytes()
    assert 2 == run("convert", "--no-redact", out, "-o", tmp_path / "x.har")[0]


def test_empty_recordings_of_other_tools_are_refused(run: Run, tmp_path: Path, out: Path) -> None:
    """A cassette of nothing is of no use."""
    file = tmp_path / "f"
    file.write_bytes(lines(snoop(1, "meta", raw={"command": ["x"]})))
    status, _, err = run("convert", file, "-o", out)

    assert (3, False) == (status, out.exists())
    assert "is an empty recording of mcpsnoop" in err


def test_damage_is_told_by_its_line(run: Run, tmp_path: Path, out: Path) -> None:
    """And nothing is written."""
    file = tmp_path / "f"
    file.write_bytes(lines(rec(1.0, "c2s", 1)) + b"oops\n" + lines(rec(1.0, "c2s", 1)))
    status, _, err = run("convert", file, "-o", out)

    assert (3, f"mcpmock: {file}:2: is not a JSON object\n") == (status, err)
    assert not out.exists()


def test_nothing_in_a_file_acts_on_a_terminal(run: Run, tmp_path: Path) -> None:
    """Whatever stands in what is joined or converted."""
    path, foreign, wrong = hostile(tmp_path), tmp_path / "foreign", tmp_path / "wrong"
    foreign.write_bytes(lines(snoop(1, HOSTILE, raw=1, session_id=HOSTILE)))
    wrong.write_bytes(lines(rec(1.0, "c2s", 1) | {"dir": HOSTILE}))
    other = tmp_path / "other.jsonl"
    other.write_bytes(OTHER)
    for number, arguments in enumerate(
        (
            ("merge", path, other),
            ("merge", "--json", path, other),
            ("convert", path),
            ("convert", foreign),
            ("convert", wrong),
            ("convert", "--json", path),
        )
    ):
        _, said, err = run(*arguments, "-o", tmp_path / f"{number}")

        assert [] == CONTROLS.findall(said + err)
        assert "\n::" not in said + err
