"""One run of a mode with two clients over HTTP, each in a session of its own: all sockets are in
memory, and the clock is a mock. The second client does what the first does, a little later.
"""

from __future__ import annotations

import signal
from itertools import count
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from mcpmock.cassette.model import Cassette
from mcpmock.channels.http import server
from mcpmock.channels.http.addresses import Connect, ListenAddress
from mcpmock.faults.receipts import FaultRun
from mcpmock.playback.player import PlayerOptions
from mcpmock.sessions import http_front, url_server
from mcpmock.sessions.http_front import HttpFront
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.take import Recording
from mcpmock.sessions.url_server import Url
from mcpmock.transports.headers import Upstream
from mcpmock.transports.session_router import TransportKind
from tests.laws.test_round_trip import RECORDED
from tests.support.memory_listener import Door
from tests.support.raw_http import request_bytes

from .conversation import INITIALIZE, LEAVES, MOVES, named, reply
from .hearing import Answer, Run, Way
from .http_servers import ServesStreamable, ServesStreams, Tapped

SECOND = 0.0625
"""How much later the second client does everything."""
STOPPED = 64.0
PATHS = {TransportKind.STREAMABLE_HTTP: "/mcp", TransportKind.SSE: "/sse"}


def live(kind: TransportKind, faults: FaultRun | None) -> Run:
    """A proxy in front of a URL."""
    net = _Net(kind, faults)
    return net.run(back=net.url)


def taken(kind: TransportKind, file: Path, faults: FaultRun | None = None) -> Run:
    """The same, recorded."""
    net = _Net(kind, faults)
    return net.run(back=net.url, recording=Recording(output=file))


def replayed(kind: TransportKind, cassette: Cassette, faults: FaultRun | None) -> Run:
    net = _Net(kind, faults)
    note = lambda what: net.heard.said.append(str(what))  # noqa: E731
    return net.run(replay=Replay(cassette, PlayerOptions(pace=RECORDED), note))


class _Net:
    """The two clients, the server, and what all of them hear."""

    def __init__(self, kind: TransportKind, faults: FaultRun | None) -> None:
        self.kind, self.faults = kind, faults
        self.door = Door()
        self.heard = Run([{}, {}], [[], []])
        self.server = (ServesStreams if kind is TransportKind.SSE else ServesStreamable)(self.heard)
        self.url = Url.parse(f"http://upstream.example{PATHS[kind]}", kind)
        self.announced = trio.Event()
        self.front = HttpFront(announce=lambda _url, _token: self.announced.set(), kind=kind)

    def run(self, **parts: Any) -> Run:
        say = self.heard.said.append
        setup = Setup(front=self.front, faults=self.faults, say=say, **parts)

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                self.nursery = self.server.nursery = nursery
                nursery.start_soon(self._stop)
                for number in (0, 1):
                    nursery.start_soon(_Client(self, number).talk)
                self.heard.status = await run_sessions(setup)
                self.heard.over = trio.current_time()
                nursery.cancel_scope.cancel()

        minted = count(1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(http_front, "mint", lambda: f"minted-{next(minted)}")
            patch.setattr(server, "_HANDLING_S", 0.0)  # what a client needs real time for
            patch.setattr(ListenAddress, "listen", lambda _address: self._listen())
            patch.setattr(url_server, "connector", self._connector)
            trio.run(main, clock=MockClock(autojump_threshold=0))
        for way in [*self.heard.arrived, *(w for ways in self.heard.client for w in ways.values())]:
            if way.ended is not None and way.ended[0] >= STOPPED:
                way.ended = None  # who hears of the end of all is chance
        if self.faults is not None:
            self.heard.summary = [*self.faults.summary(), *self.faults.mistakes]
        return self.heard

    async def _stop(self) -> None:
        await trio.sleep_until(STOPPED)
        signal.raise_signal(signal.SIGTERM)

    async def _listen(self) -> list[Door]:
        await trio.lowlevel.checkpoint()
        return [self.door]

    def _connector(self, _upstream: Upstream) -> Connect:
        async def connect() -> trio.abc.Stream:
            ours, theirs = memory_stream_pair()
            way = Way()
            self.heard.arrived.append(way)
            self.nursery.start_soon(self.server.serve, Tapped(theirs, way))
            await trio.lowlevel.checkpoint()
            return ours

        return connect


@attrs.define(eq=False)
class _Client:
    """One client: every request on a connection of its own."""

    net: _Net
    number: int
    session: str | None = None
    posts: str = "/mcp"
    """Where messages go."""
    replied: set[bytes] = attrs.field(factory=set)

    @property
    def ways(self) -> dict[str, Way]:
        return self.net.heard.client[self.number]

    async def talk(self) -> None:
        await self.net.announced.wait()
        late = SECOND * self.number
        await trio.sleep_until(0.25 + late)
        if self.net.kind is TransportKind.SSE:
            await self.ask("get", "GET", "/sse", None)
        for at, raw in MOVES[: 3 if self.number else None]:
            await trio.sleep_until(at + late)
            await self.ask(named(raw), "POST", self.posts, raw)
            if raw is INITIALIZE and self.net.kind is TransportKind.STREAMABLE_HTTP:
                await trio.sleep(0.25)
                await self.ask("get", "GET", "/mcp", None)
        await trio.sleep_until(LEAVES + late)
        if self.net.kind is TransportKind.STREAMABLE_HTTP:
            await self.ask("delete", "DELETE", "/mcp", None)

    async def ask(self, name: str, method: str, target: str, body: bytes | None) -> None:
        ours, theirs = memory_stream_pair()
        self.net.door._come.send_nowait(theirs)
        headers = [("Host", "127.0.0.1:4711"), ("Accept", "application/json, text/event-stream")]
        headers += [] if body is None else [("Content-Type", "application/json")]
        headers += [] if self.session is None else [("Mcp-Session-Id", self.session)]
        if name in self.ways:
            name = f"{name} {sum(way.startswith(name) for way in self.ways) + 1}"
        way = self.ways[name] = Way()
        try:
            await ours.send_all(request_bytes(method, target, headers, body))
        except trio.BrokenResourceError:
            pass  # what was answered before is still to be read
        self.net.nursery.start_soon(self.hear, way, ours)

    async def hear(self, way: Way, stream: trio.abc.ReceiveStream) -> None:
        while True:
            try:
                data = bytes(await stream.receive_some(1 << 20))
            except trio.BrokenResourceError:
                data = b""
            if not data:
                way.ended = (trio.current_time(), "closed")
                return
            way.pieces.append((trio.current_time(), data))
            await self.act(way.answer())

    async def act(self, answer: Answer) -> None:
        """What a client does about what it has heard so far."""
        self.session = answer.headers.get("mcp-session-id", self.session)
        for _, block in answer.blocks:
            if b"event: endpoint" in block:
                self.posts = block.partition(b"data: ")[2].decode()
        for _, raw in answer.messages:
            if (own := reply(raw)) and raw not in self.replied:
                self.replied.add(raw)
                await self.ask(named(own), "POST", self.posts, own)
