"""Clients start servers again and again: no start is lost, and none waits for long."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcpmock.protocol.messages import S2C
from tests.support.processes import (
    crossed,
    read_line,
    ready,
    record,
    replay,
    running,
    scripted,
    stdin_of,
    takes,
    write_all,
)

from . import parts
from .raw_client import Answer, Close, Lines, Spoken, Step, line, talk

pytestmark = pytest.mark.e2e

PROBE = line({"jsonrpc": "2.0", "id": "probe", "method": "server/discover", "params": {}})
PROBING: list[Step] = [Lines(1), PROBE, Answer("probe"), Close()]
WORK: list[Step] = [
    Lines(1),
    line({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}),
    Answer(0),
    line({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    line({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    Answer(1),
    Close(),
]


def probe_and_start_anew(first: Sequence[str], second: list[str]) -> tuple[bytes, Spoken]:
    """Starts the one, probes it, sends SIGTERM, and works with the other without waiting."""
    with running(first) as probed:
        said = read_line(probed)
        write_all(stdin_of(probed), PROBE.data)
        said += read_line(probed)
        probed.terminate()
        stdin_of(probed).close()
        worked = talk(second, WORK)
        probed.wait(0)
    return said, worked


def test_a_server_started_again_at_once_leaves_two_takes(tmp_path: Path) -> None:
    """Start, probe, SIGTERM and at once the real start: two complete takes, and both replay."""
    cassette = tmp_path / "a.jsonl"
    first = record(cassette, scripted("rpc"))
    probed, worked = probe_and_start_anew(first, record(cassette, scripted("rpc")))
    probe, work = takes(cassette)

    assert worked.stderr == b""
    assert worked.exit_code == 0
    assert probe.sealed
    assert work.sealed
    assert crossed(probe, S2C) == probed
    assert crossed(work, S2C) == worked.stdout
    assert list(tmp_path.iterdir()) == [cassette]
    assert answers(talk(replay(cassette), WORK).stdout) == answers(worked.stdout)
    assert answers(talk(replay(cassette), PROBING).stdout) == answers(probed)


def answers(said: bytes) -> bytes:
    """Without the greeting, which tells process ids: it comes before a client shows which it is."""
    return said.partition(b"\n")[2]


def test_racing_recorders_lose_nothing(tmp_path: Path) -> None:
    """Five that start at once: each has its complete take, all in one file in the end."""
    cassette = tmp_path / "a.jsonl"
    argv = record(cassette, scripted("rpc"))
    with ThreadPoolExecutor(5) as pool:
        spoken = list(pool.map(lambda _: talk(argv, WORK), range(5)))
    recorded = takes(cassette)

    assert list(tmp_path.iterdir()) == [cassette]
    assert all(take.sealed for take in recorded)
    assert sorted(crossed(take, S2C) for take in recorded) == sorted(
        session.stdout for session in spoken
    )


def test_a_killed_recorder_leaves_its_sibling(tmp_path: Path) -> None:
    """The recorder that closes next joins it."""
    cassette = tmp_path / "a.jsonl"
    with running(record(cassette, scripted("rpc"))) as holder:
        ready(holder)
        with running(record(cassette, scripted("rpc"))) as second:
            ready(second)
            second.kill()
            second.wait()
        (sibling,) = set(tmp_path.iterdir()) - {cassette}
        assert re.fullmatch(r"a\.[0-9]+\.jsonl", sibling.name)
        stdin_of(holder).close()
        holder.wait()

    assert [True, None] == [take.sealed for take in takes(cassette)]
    assert list(tmp_path.iterdir()) == [cassette]


@pytest.mark.parts
def test_a_client_that_starts_its_server_twice_leaves_two_takes(tmp_path: Path) -> None:
    """npm client 2.x probes one process and works with another: two complete takes, one file."""
    for name in ("ts2-auto", "time"):
        if reason := parts.missing(name):
            pytest.skip(reason)
    cassette, workdir = tmp_path / "a.jsonl", tmp_path / "work"
    parts.prepare("time", workdir)
    argv = record(cassette, parts.server("time", workdir))
    subprocess.run(
        parts.drive("ts2-auto", "time", workdir, argv),
        env=parts.environment(workdir),
        stdout=subprocess.DEVNULL,
        timeout=60,
        check=True,
    )

    assert [take.sealed for take in takes(cassette)] == [True, True]
    assert list(tmp_path.glob("*.jsonl")) == [cassette]
