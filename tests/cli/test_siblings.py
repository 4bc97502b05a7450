"""Cassettes with siblings, and several cassettes, as commands read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpmock.channels.channel import MemoryChannel
from mcpmock.protocol.messages import C2S
from tests.support import INITIALIZE, c, c2s, cassette_bytes, hangs_up, request, response, s

from .conftest import Run, heard

HEADER = b'{"mcpmock":1,"recorded_at":"2026-01-01T00:00:0%dZ","transport":"stdio"%b}\n'
BESIDE = b',"sibling_of":"a.jsonl"'


def session(number: int, method: str, more: bytes = b"") -> bytes:
    """A recorded session with one call of a method."""
    return cassette_bytes(
        c(INITIALIZE),
        s(response(0, {"protocolVersion": "2025-11-25"})),
        c(request(1, method)),
        s(response(1, {"by": method})),
        header=HEADER % (number, more),
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A cassette with a sibling."""
    (tmp_path / "a.jsonl").write_bytes(session(2, "prompts/list"))
    (tmp_path / "a.7.jsonl").write_bytes(session(1, "tools/list", BESIDE))
    return tmp_path / "a.jsonl"


def answers(client: MemoryChannel) -> list[str]:
    """Who answered, of all that the client read."""
    return [json.loads(raw)["result"]["by"] for raw in heard(client) if b'"by"' in raw]


@pytest.mark.parametrize(
    ("command", "shown"),
    [(["show"], "take 2"), (["stats"], "2 takes"), (["check"], "a.7.jsonl:1: notice")],
)
def test_readers_read_the_sibling(run: Run, file: Path, command: list[str], shown: str) -> None:
    """And one line says so."""
    _, out, err = run(*command, file)

    assert 1 == err.count("is read too: it is not joined yet")
    assert shown in out
    assert 0 == run(*command, "-q", file)[2].count("is read too")


def test_a_sibling_that_is_named_too(run: Run, file: Path) -> None:
    """It is counted once."""
    _, out, err = run("stats", *sorted(file.parent.iterdir()))

    assert "2 cassettes, 2 takes" in out
    assert "is read too" not in err


def test_diff_with_a_sibling(run: Run, file: Path, tmp_path: Path) -> None:
    """The sibling is part of the recording."""
    (tmp_path / "b.jsonl").write_bytes(session(1, "tools/list") + session(2, "prompts/list"))

    assert 0 == run("diff", file, tmp_path / "b.jsonl")[0]


def test_merge_and_fmt_join(run: Run, file: Path, tmp_path: Path) -> None:
    """`merge` takes the sibling along, `fmt` puts it into the cassette."""
    (tmp_path / "b.jsonl").write_bytes(session(3, "ping"))
    assert 0 == run("merge", file, tmp_path / "b.jsonl", "-o", tmp_path / "c.jsonl")[0]
    assert "3 takes" in run("stats", tmp_path / "c.jsonl")[1]
    assert b"sibling_of" not in (tmp_path / "c.jsonl").read_bytes()

    assert 0 == run("fmt", *sorted(tmp_path.glob("a*.jsonl")))[0]
    assert not (tmp_path / "a.7.jsonl").exists()
    assert b"sibling_of" not in file.read_bytes()
    assert "2 takes" in run("stats", file)[1]


def test_replay_with_a_sibling(run: Run, file: Path, client: MemoryChannel) -> None:
    """Both takes answer."""
    for frame in (INITIALIZE, request(5, "tools/list")):
        client.send_nowait([c2s(frame)])
    client.send_nowait([hangs_up(C2S)])
    status, _, err = run("replay", file)

    assert (0, 1) == (status, err.count("is read too"))
    assert ["tools/list"] == answers(client)


@pytest.mark.parametrize("folder", [False, True])
def test_replay_of_several_files(
    run: Run, tmp_path: Path, client: MemoryChannel, folder: bool
) -> None:
    """Named one by one or as a folder, they are one recording."""
    for number, method in enumerate(("ping", "tools/list", "prompts/list")):
        (tmp_path / f"{number}.jsonl").write_bytes(session(number, method))
    files = [tmp_path] if folder else sorted(tmp_path.iterdir())
    for frame in (INITIALIZE, request(5, "prompts/list")):
        client.send_nowait([c2s(frame)])
    client.send_nowait([hangs_up(C2S)])

    assert (0, "") == run("replay", *files)[::2]
    assert ["prompts/list"] == answers(client)


def test_files_and_a_server(run: Run, tmp_path: Path) -> None:
    """Words before `--` are files, words after it a command."""
    status, _, err = run("replay", tmp_path / "x", tmp_path / "y", "--on-miss", "live", "--", "z")
    assert (3, 1) == (status, err.count(f"{tmp_path / 'x'}: no such file"))

    status, _, err = run("replay", tmp_path / "x", "--", "z")
    assert (2, 1) == (status, err.count("needs --on-miss live"))
    assert "replay [OPTIONS] FILE... [-- COMMAND...]" in run("replay")[2]


def test_secrets_in_a_sibling(run: Run, file: Path) -> None:
    """`scan` finds them, and `redact` joins the sibling first."""
    sibling = file.with_name("a.7.jsonl")
    sibling.write_bytes(sibling.read_bytes().replace(b'"by"', b'"password":"hunter2hunter2","by"'))
    assert 1 == run("scan", file)[0]
    assert 0 == run("redact", file)[0]

    assert 0 == run("scan", file)[0]
    assert not sibling.exists()
    assert b"hunter2" not in file.read_bytes()
