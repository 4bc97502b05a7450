"""One run of a mode with a client on stdio, both ends in memory and the clock a mock."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from mcpmock.cassette.model import Cassette
from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.faults.receipts import FaultRun
from mcpmock.playback.player import PlayerOptions
from mcpmock.protocol.messages import C2S, S2C, Frame, ProcessExit, Stderr, StreamEnd
from mcpmock.sessions import servers, stdio_front
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.servers import Command
from mcpmock.sessions.stdio_front import StdioFront
from mcpmock.sessions.take import Recording
from mcpmock.transports.lines import join_lines
from tests.laws.test_round_trip import RECORDED
from tests.support import hangs_up

from .conversation import KILLED, LEAVES, MOVES, reply, said
from .hearing import Run, Way

TRANSPORT = "stdio"


def live(faults: FaultRun | None) -> Run:
    """A proxy in front of a process."""
    return _Room(faults).run()


def taken(file: Path, faults: FaultRun | None = None) -> Run:
    """The same, recorded."""
    return _Room(faults).run(recording=Recording(output=file))


def replayed(cassette: Cassette, faults: FaultRun | None) -> Run:
    room = _Room(faults)
    note = lambda what: room.heard.said.append(str(what))  # noqa: E731
    return room.run(back=None, replay=Replay(cassette, PlayerOptions(pace=RECORDED), note))


class _Room:
    """The client, the server (where a mode starts one), and what both hear."""

    def __init__(self, faults: FaultRun | None) -> None:
        self.faults = faults
        self.heard = Run([{"stdout": Way()}], [[]], [Way()])
        self.client, self.ours = memory_pair()

    def run(self, **parts: Any) -> Run:
        how = {"back": Command(["server"]), **parts}
        setup = Setup(front=StdioFront(), faults=self.faults, say=print, **how)

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._kill)
                nursery.start_soon(self._talk)
                nursery.start_soon(self._listen)
                self.nursery = nursery
                self.heard.status = await run_sessions(setup)
                self.heard.over = trio.current_time()
                await trio.testing.wait_all_tasks_blocked()
                nursery.cancel_scope.cancel()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stdio_front, "take_stdio", lambda: self.ours)
            patch.setattr(servers, "start_process", self._start)
            patch.setattr(servers, "which", lambda program: program)
            trio.run(main, clock=MockClock(autojump_threshold=0))
        if self.faults is not None:
            self.heard.summary = [*self.faults.summary(), *self.faults.mistakes]
        return self.heard

    async def _kill(self) -> None:
        await trio.sleep_until(KILLED)
        signal.raise_signal(signal.SIGTERM)

    async def _start(self, _command: list[str]) -> MemoryChannel:
        process, self.server = memory_pair()
        process.interrupt = self._exit_at_signal  # type: ignore[method-assign, assignment]
        self.nursery.start_soon(self._serve)
        return process

    def _exit_at_signal(self, _signum: int) -> bool:
        self._exit()
        return False

    async def _talk(self) -> None:
        try:
            for at, raw in MOVES:
                await trio.sleep_until(at)
                self.client.send_nowait([Frame(C2S, raw)])
            await trio.sleep_until(LEAVES)
            self.client.send_nowait([hangs_up(C2S)])
        except trio.BrokenResourceError:
            pass  # the session is over

    async def _listen(self) -> None:
        way = self.heard.client[0]["stdout"]
        while True:
            try:
                frames = await self.client.receive()
            except trio.EndOfChannel:
                way.ended = way.ended or (trio.current_time(), "closed")
                return
            for frame in frames:
                self._hear(way, frame)

    def _hear(self, way: Way, frame: Frame) -> None:
        now = trio.current_time()
        if isinstance(frame.fact, Stderr):
            self.heard.stderr.append((now, frame.raw))
        elif isinstance(frame.fact, StreamEnd):
            way.ended = (now, frame.fact.how)
        elif data := join_lines([frame]):
            way.pieces.append((now, data))
            if frame.fact is None and (answer := reply(frame.raw)):
                self.client.send_nowait([Frame(C2S, answer)])

    async def _serve(self) -> None:
        way, whole = self.heard.arrived[0], 0
        while True:
            try:
                frames = await self.server.receive()
            except trio.EndOfChannel:
                way.ended = way.ended or (trio.current_time(), "closed")
                return
            for frame in frames:
                if isinstance(frame.fact, StreamEnd):
                    way.ended = (trio.current_time(), frame.fact.how)
                    self._exit()
                elif data := join_lines([frame]):
                    way.pieces.append((trio.current_time(), data))
            lines = [line for line in way.lines() if way.bytes.endswith(b"\n")]
            for at, line in lines[whole:]:
                self.heard.server[0].append((at, line))
                self.nursery.start_soon(self._answer, line)
            whole = max(whole, len(lines))

    async def _answer(self, line: bytes) -> None:
        now = trio.current_time()
        for after, raw in said(line) or []:
            await trio.sleep_until(now + after)
            self._send([Frame(S2C, raw)])

    def _exit(self) -> None:
        self._send([hangs_up(S2C), Frame(S2C, b"", b"", ProcessExit(0))])

    def _send(self, frames: list[Frame]) -> None:
        try:
            self.server.send_nowait(frames)
        except trio.BrokenResourceError:
            pass  # nobody is there any more
