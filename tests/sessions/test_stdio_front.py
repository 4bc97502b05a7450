"""What a command is put together from, with both ends in memory and the disk real."""

from __future__ import annotations

import gzip
import os
import re
import signal
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette
from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.playback.player import PlayerOptions
from mcpmock.protocol.messages import C2S, S2C, ProcessExit, Stderr, StopSignal, StreamEnd
from mcpmock.redaction.redactor import RULES
from mcpmock.sessions import servers, stdio_front
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.servers import Command
from mcpmock.sessions.stdio_front import StdioFront
from mcpmock.sessions.take import Recording, Say
from tests.support import (
    INITIALIZE,
    OPENING,
    WELCOME,
    Line,
    answers,
    c2s,
    cassette,
    exits,
    hangs_up,
    in_session,
    logs,
    over_http,
    post,
    request,
    response,
    s2c,
)

COMMAND = ["server", "--api-key=hunter2hunter2"]


@attrs.define
class Stage:
    """A session's two actors, and what was said to the user meanwhile."""

    client: MemoryChannel
    server: MemoryChannel
    said: list[str] = attrs.field(factory=list)
    signals: list[int] = attrs.field(factory=list)
    heard: list[bytes] = attrs.field(factory=list)
    meanwhile: Callable[[], object] = lambda: None
    """Is called in the middle of the session."""

    async def record(self, output: Path, **options: Any) -> int:
        """Records a client that asks once and leaves, and a server that answers and ends with 3."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.ask)
            nursery.start_soon(self.answer)
            recording = Recording(output=output, **options)
            return await recorded(recording, self.said.append)

    async def ask(self) -> None:
        self.client.send_nowait([c2s(INITIALIZE), hangs_up(C2S)])
        await self.listen()

    async def listen(self) -> None:
        """What the client gets, to the end."""
        while True:
            try:
                frames = await self.client.receive()
            except trio.EndOfChannel:
                return
            self.heard += [frame.raw for frame in frames if frame.fact is None]

    async def answer(self) -> None:
        try:
            while True:
                await self.server.receive()
        except trio.EndOfChannel:
            self.meanwhile()
        try:
            self.server.send_nowait([logs("up\n"), s2c(WELCOME), hangs_up(S2C), exits(3)])
        except trio.BrokenResourceError:
            pass  # the session was over before

    async def replay(self, *, recording: Recording | None = None, **playing: Any) -> int:
        recorded = cassette(*OPENING, ("s2c", b"bye"), ("end", {"d": "s2c"}), ("end", {"exit": 4}))
        how = PlayerOptions(**playing)
        return await replayed(recorded, how, recording=recording)


def recorded(recording: Recording, say: Say) -> Awaitable[int]:
    """A run that records the server for the client on our stdio."""
    back = Command(COMMAND)
    return run_sessions(Setup(front=StdioFront(), back=back, recording=recording, say=say))


def replayed(
    cassette: Cassette, options: PlayerOptions | None = None, **parts: Any
) -> Awaitable[int]:
    """A run that plays a cassette to the client on our stdio."""
    replay = Replay(cassette, options or PlayerOptions(), print)
    return run_sessions(Setup(front=StdioFront(), replay=replay, say=print, **parts))


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """In the place of our stdio and of a process: two memory channels."""
    client, ours = memory_pair()
    process, server = memory_pair()
    made = Stage(client, server)

    async def start(command: Sequence[str]) -> MemoryChannel:
        assert COMMAND == command
        return process

    monkeypatch.setattr(process, "interrupt", made.signals.append, raising=False)
    monkeypatch.setattr(stdio_front, "take_stdio", lambda: ours)
    monkeypatch.setattr(servers, "start_process", start)
    monkeypatch.setattr(servers, "which", lambda program: program)
    return made


async def test_a_session_is_recorded_whole(stage: Stage, tmp_path: Path) -> None:
    """Header, all frames in order, footer; the status is the server's, and nothing is said."""
    file = tmp_path / "a.jsonl"
    assert 3 == await stage.record(file)
    [take] = load(file).takes

    frames = [event.frame for event in take.events]
    assert [WELCOME] == stage.heard
    assert [] == stage.said
    assert take.sealed
    assert "stdio" == take.header.transport
    assert {"rules": RULES} == take.header.redaction
    assert [INITIALIZE, b"", b"up\n", WELCOME, b"", b""] == [f.raw for f in frames if f]
    assert [Stderr(), ProcessExit(3)] == [frames[i].fact for i in (2, 5) if frames[i]]  # type: ignore[union-attr]


@pytest.mark.parametrize("redact", [True, False])
async def test_secrets_of_the_command_line(stage: Stage, tmp_path: Path, redact: bool) -> None:
    """The header names the command, its secrets only where redaction is off, and says so."""
    await stage.record(tmp_path / "a.jsonl", redact=redact)
    [take] = load(tmp_path / "a.jsonl").takes

    assert (not redact) is (b"hunter2" in (tmp_path / "a.jsonl").read_bytes())
    assert (not redact) is (take.header.redaction == "off")


async def test_a_file_that_exists_gets_one_more_take(stage: Stage, tmp_path: Path) -> None:
    """What was recorded before stays."""
    (tmp_path / "a.jsonl").write_bytes(before := cassette_file())
    await stage.record(tmp_path / "a.jsonl")

    assert (tmp_path / "a.jsonl").read_bytes().startswith(before)
    assert 2 == len(load(tmp_path / "a.jsonl").takes)


def cassette_file() -> bytes:
    return b'{"mcpmock":1,"transport":"stdio"}\n{"n":1,"d":"c2s","m":{}}\n'


async def test_a_folder_gets_a_file_for_each_run(stage: Stage, tmp_path: Path) -> None:
    """Its name is the time and the process id."""
    await stage.record(tmp_path, folder=True)
    [file] = files_in(tmp_path)

    assert re.fullmatch(rf"\d{{8}}T\d{{6}}Z-{os.getpid()}\.jsonl", file.name)
    assert load(file).takes[0].sealed


@pytest.mark.parametrize(("overwrite", "takes"), [(False, 2), (True, 1)])
async def test_packing(stage: Stage, tmp_path: Path, overwrite: bool, takes: int) -> None:
    """A `.gz` is recorded plain and packed at the clean close, behind what it holds or instead."""
    packed, plain = tmp_path / "a.jsonl.gz", tmp_path / "a.jsonl.gz.part"
    packed.write_bytes(gzip.compress(cassette_file()))
    seen: list[bytes] = []
    stage.meanwhile = lambda: seen.append(plain.read_bytes())
    await stage.record(packed, overwrite=overwrite)

    assert INITIALIZE in seen[0]
    assert [packed] == files_in(tmp_path)
    assert takes == len(load(packed).takes)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_while_recording(
    autojump_clock: MockClock,
    stage: Stage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    signum: int,
) -> None:
    """It is handed to the server, which is also told that its client left; late ones do nothing.
    The recording says so, ahead of what the server does then. A client that does not read is not
    waited for.
    """
    monkeypatch.setattr(MemoryChannel, "waits_for_reader", True)

    async def ask() -> None:
        stage.client.send_nowait([c2s(INITIALIZE)])
        await trio.sleep(0.5)
        signal.raise_signal(signum)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        nursery.start_soon(stage.answer)
        status = await recorded(Recording(output=tmp_path / "a.jsonl"), print)
    signal.raise_signal(signum)

    [take] = load(tmp_path / "a.jsonl").takes
    assert (3, [signum]) == (status, stage.signals)
    assert take.sealed
    facts = [event.frame.fact for event in take.events if event.frame]
    assert [StopSignal(signum), StreamEnd("closed")] == facts[1:3]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_a_replay(autojump_clock: MockClock, stage: Stage, signum: int) -> None:
    """The status is 128 and the signal's number."""

    async def interrupt() -> None:
        await trio.sleep(0.5)
        signal.raise_signal(signum)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(interrupt)
        assert 128 + signum == await stage.replay()


async def test_a_replay_ends_as_recorded(autojump_clock: MockClock, stage: Stage) -> None:
    """The client gets what was recorded, and the status is that of the recorded server."""
    stage.client.send_nowait([c2s(INITIALIZE), c2s(OPENING[2][1])])

    assert 4 == await stage.replay()
    await stage.listen()
    assert [WELCOME, b"bye"] == stage.heard


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_server_that_began_to_end_first_ends_so(
    autojump_clock: MockClock, stage: Stage, place: int
) -> None:
    """Wherever the end of the client's input stands before its exit: the status is that of the
    server, unless the client ended first.
    """
    ends: list[Line] = [("end", {"d": "s2c"}), ("end", {"exit": 7})]
    ends.insert(place, ("end", {"d": "c2s"}))
    stage.client.send_nowait([c2s(INITIALIZE), c2s(OPENING[2][1]), hangs_up(C2S)])

    assert (7 if place else 0) == await replayed(cassette(*OPENING, *ends))


async def test_a_replay_of_what_was_recorded_over_http(
    autojump_clock: MockClock, stage: Stage
) -> None:
    """The bare messages are what is played; nothing is left of the exchanges."""
    over_both = over_http(
        in_session(2, post(1, INITIALIZE), answers(1, WELCOME, mcp_session_id="old")),
        in_session(2, post(2, request(1, "ping"), session="old"), answers(2, response(1, {}))),
    )
    stage.client.send_nowait([c2s(INITIALIZE), c2s(request(7, "ping")), hangs_up(C2S)])
    status = await replayed(over_both)
    await stage.listen()

    assert 0 == status
    assert [WELCOME, response(7, {})] == stage.heard


async def test_a_client_that_leaves_a_replay_first(autojump_clock: MockClock, stage: Stage) -> None:
    """Where the client leaves before the recorded server did, the status is 0."""
    stage.client.send_nowait([c2s(request(5, "ping")), hangs_up(C2S)])

    assert 0 == await stage.replay()


async def test_a_replay_is_recorded_too(
    autojump_clock: MockClock, stage: Stage, tmp_path: Path
) -> None:
    """Its target is the replay, and it holds what the client saw."""
    stage.client.send_nowait([c2s(INITIALIZE), c2s(OPENING[2][1])])
    assert 4 == await stage.replay(recording=Recording(output=tmp_path / "b.jsonl"))
    [take] = load(tmp_path / "b.jsonl").takes

    assert ["mcpmock", "replay", "test.jsonl"] == take.header.target
    assert WELCOME in [event.payload for event in take.events]
    assert {"exit": 4} == take.events[-1].end
