"""`mcpmock convert`: output, files and exit status."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import trio

from mcpmock.cassette.file import load
from mcpmock.channels.channel import MemoryChannel
from mcpmock.protocol.messages import C2S
from tests.cli.conftest import Run
from tests.support import c2s, call, cassette_bytes, hangs_up
from tests.support.foreign import DATA, REAL, lines, rec, snoop


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def test_a_cassette_becomes_har(run: Run, file: Path, tmp_path: Path) -> None:
    """What is made up, and what is left out, is said."""
    out = tmp_path / "a.har"
    file.write_bytes(cassette_bytes(("c2s", call(1, "add")), ("stderr", "up\n")))
    status, printed, err = run("convert", file, "-o", out)

    assert (0, "") == (status, printed)
    assert [
        f"mcpmock: {out}: 1 entry in HAR 1.2",
        f"mcpmock: {out}: 1 entry for calls over stdio, with invented URLs:"
        " http://server.invalid/...",
        f"mcpmock: {out}: left out 1 event outside of any exchange",
    ] == err.splitlines()
    assert "1.2" == json.loads(out.read_bytes())["log"]["version"]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_cassette_becomes_traces(run: Run, file: Path, tmp_path: Path, suffix: str) -> None:
    """If the name of the output says so; folders of cassettes may hold such files."""
    out = tmp_path / f"a.otlp.jsonl{suffix}"
    meta = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    file.write_bytes(cassette_bytes(("c2s", call(1, "add", _meta=meta)), ("c2s", call(2, "add"))))
    status, printed, err = run("convert", file, "-o", out)

    assert (0, "") == (status, printed)
    assert [f"mcpmock: {out}: 2 spans in OTLP"] == err.splitlines()
    assert "1 cassette," in run("stats", tmp_path)[1]


def test_convert_json(run: Run, file: Path, tmp_path: Path) -> None:
    """One object, for either way."""
    har, imported = tmp_path / "a.har", tmp_path / "b.jsonl"
    made = json.loads(run("convert", "--json", "-q", file, "-o", har)[1])
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
    assert [1, 2] == trio.run(_ids_answered, client)


async def _ids_answered(client: MemoryChannel) -> list[int]:
    answered = []
    try:
        while True:
            answered += [frame.raw for frame in await client.receive()]
    except trio.EndOfChannel:
        return [json.loads(raw)["id"] for raw in answered if raw]


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


def test_empty_recordings_of_other_tools_are_refused(run: Run, tmp_path: Path, out: Path) -> None:
    """A cassette of nothing is of no use."""
    file = tmp_path / "f"
    file.write_bytes(lines(snoop(1, "meta", raw={"command": ["x"]})))
    status, _, err = run("convert", file, "-o", out)

    assert (3, False) == (status, out.exists())
    assert "is an empty recording of mcpsnoop" in err


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty: it holds no recording"),
        (b"\n \n", "is empty: it holds no recording"),
        (b"hello\n", "is neither a cassette nor a recording in a known format"),
        (b'{"a":1}\n', "is neither a cassette nor a recording in a known format"),
        (b"[1]\n", "is not a cassette: it is a JSON array; a cassette has one object a line"),
        (b'{"log":{"entries":[]}}', "it is a HAR file; mcpmock writes HAR and reads none"),
        (b"\xef\xbb\xbf" + cassette_bytes(), "begins with a byte order mark"),
        (gzip.compress(cassette_bytes()), "is packed with gzip, which its name does not say"),
        (b"<<<<<<< HEAD\n", "line 1: a conflict marker of git; take one side"),
        (b"<html>", "is not a cassette: it is a web page; download the file itself"),
    ],
)
def test_what_is_no_recording(
    run: Run, tmp_path: Path, out: Path, data: bytes, reason: str
) -> None:
    """It is named for what it is, as by the commands that read cassettes."""
    file = tmp_path / "f"
    file.write_bytes(data)
    status, _, err = run("convert", file, "-o", out)

    assert (3, False, True) == (status, out.exists(), reason in err), err


def test_damage_is_told_by_its_line(run: Run, tmp_path: Path, out: Path) -> None:
    """And nothing is written."""
    file = tmp_path / "f"
    file.write_bytes(lines(rec(1.0, "c2s", 1)) + b"oops\n" + lines(rec(1.0, "c2s", 1)))
    status, _, err = run("convert", file, "-o", out)

    assert (3, f"mcpmock: {file}:2: is not a JSON object\n") == (status, err)
    assert not out.exists()
