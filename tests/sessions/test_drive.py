"""Driving a server that is a process in memory: sessions in turn, recording, signals, statuses."""

from __future__ import annotations

import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette, Oversize
from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.errors import CannotStart, CassetteError
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.playback.player import Player, ReplayOptions, SessionSelection
from mcpmock.runner import LiveSession, run
from mcpmock.sessions import run as run_module
from mcpmock.sessions import servers
from mcpmock.sessions.drive import client_scripts, drive_front
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.servers import Command, Server
from mcpmock.sessions.take import Recording, Say
from tests.support import (
    INITIALIZE,
    WELCOME,
    accepts,
    answers,
    bodiless,
    c,
    call,
    cassette,
    in_session,
    over_http,
    post,
    response,
    s,
)

SERVER = Command([sys.executable])
OPENING = (c(INITIALIZE), s(WELCOME))
TWO = cassette(*OPENING, c(call(1, "a")), s(response(1)), ("take", None), *OPENING)
Plays = Callable[[Cassette], list[Sequence[str]]]


def drive(cassette: Cassette, say: Say, server: Server = SERVER, **parts: Any) -> Awaitable[int]:
    return run_sessions(Setup(front=drive_front(cassette), back=server, say=say, **parts))


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch, nursery: trio.Nursery) -> Plays:
    """Makes every process a replay of this cassette; gives the commands that are started."""

    def become(recorded: Cassette) -> list[Sequence[str]]:
        started: list[Sequence[str]] = []
        casting = SessionSelection(recorded, ReplayOptions())

        async def start(command: Sequence[str]) -> MemoryChannel:
            started.append(command)
            process, client = memory_pair()
            nursery.start_soon(run, LiveSession(Pipeline([Player(casting)]), client, None))
            return process

        monkeypatch.setattr(servers, "start_process", start)
        return started

    return become


async def test_every_session_in_turn(plays: Plays, tmp_path: Path) -> None:
    """Each with a process and a take of its own; what was in the file is overwritten once."""
    started, told = plays(TWO), list[str]()
    output = tmp_path / "b.jsonl"
    output.write_bytes(b'{"mcpmock":1}\n')
    recording = Recording.to(str(output), overwrite=True)

    assert 0 == await drive(TWO, told.append, recording=recording)
    assert ([SERVER.command] * 2, []) == (started, told)
    takes = load(output).takes
    assert ["stdio", "stdio"] == [take.transport for take in takes]
    assert [[INITIALIZE, WELCOME, call(1, "a"), response(1)], [INITIALIZE, WELCOME]] == [
        [event.payload for event in take.events if event.payload] for take in takes
    ]


async def test_driving_without_recording(plays: Plays) -> None:
    """It says nothing where all goes well."""
    plays(TWO)
    told: list[str] = []

    assert (0, []) == (await drive(TWO, told.append), told)


async def test_a_server_that_ends_too_soon(plays: Plays) -> None:
    """It is told, and the status is 1."""
    plays(cassette(*OPENING, ("end", {"exit": 3})))
    told: list[str] = []

    assert 1 == await drive(TWO, told.append)
    assert ["the server ended; recorded messages left to send: 1"] == told


async def test_told_to_stop(
    plays: Plays, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A signal ends it at once, with the status of that; no other session is begun, and what was
    recorded is whole.
    """
    started = plays(cassette(*OPENING))
    output = tmp_path / "b.jsonl"
    recording = Recording.to(str(output))

    async def hang(_session: LiveSession) -> None:
        await trio.sleep_forever()

    monkeypatch.setattr(run_module, "run", hang)
    async with trio.open_nursery() as nursery:

        async def stop() -> None:
            await trio.sleep(5)
            signal.raise_signal(signal.SIGINT)

        nursery.start_soon(stop)
        assert 130 == await drive(TWO, lambda _line: None, recording=recording)
    assert 1 == len(started)
    assert [True] == [take.sealed for take in load(output).takes]


async def test_a_folder(plays: Plays, tmp_path: Path) -> None:
    """All sessions of one drive are in one file of it."""
    plays(TWO)
    recording = Recording.to(f"{tmp_path}/")

    assert 0 == await drive(TWO, lambda _line: None, recording=recording)
    [file] = files(tmp_path)
    assert 2 == len(load(file).takes)


async def test_nothing_to_play(tmp_path: Path) -> None:
    """Nothing is started, and no file is left."""
    recording = Recording.to(str(tmp_path / "b.jsonl"))

    with pytest.raises(CassetteError, match="no client says anything in it"):
        await drive(cassette(s(WELCOME)), print, recording=recording)
    with pytest.raises(CannotStart):
        await drive(TWO, print, Command(["/no/such"]), recording=recording)
    assert [] == files(tmp_path)


async def test_a_line_that_was_not_recorded_whole(plays: Plays) -> None:
    """It is told that it is not played."""
    plays(TWO)
    recorded = cassette(*OPENING, c(b'{"jsonrpc":'))
    recorded.takes[0].events[2].oversize = Oversize(1 << 30, "")
    told: list[str] = []

    assert 0 == await drive(recorded, told.append)
    assert ["event 3 is not played: it was too long to be recorded whole"] == told


def test_parts_over_http() -> None:
    """What clients did over HTTP is driven as bare messages; an exchange without any is no part."""
    recorded = over_http(
        in_session(1, bodiless(1, "GET", to="/favicon.ico"), accepts(1, 404)),
        in_session(2, post(2, INITIALIZE), answers(2, WELCOME)),
    )
    [part] = client_scripts(recorded)

    assert [INITIALIZE, b""] == [line.frame.raw for line in part.lines]
    assert part.opens
