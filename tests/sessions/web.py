"""`Web`: a network in memory for sessions over HTTP."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from mcpmock.channels.http.addresses import Connect, ListenAddress
from mcpmock.sessions import url_server
from mcpmock.sessions.http_front import HttpFront
from mcpmock.transports.headers import Upstream
from tests.support.http_caller import Answer
from tests.support.http_upstream import Upstream as Served
from tests.support.http_upstream import answers_all
from tests.support.memory_listener import PORT, Door

URL = "http://upstream.example:99/mcp"


@attrs.define
class Web:
    """The listener, the server at a URL, and the lines that the user reads."""

    door: Door = attrs.field(factory=Door)
    server: Served = attrs.field(factory=lambda: Served(answers_all))
    announced: list[str] = attrs.field(factory=list)
    tokens: list[str | None] = attrs.field(factory=list)
    said: list[str] = attrs.field(factory=list)
    reached: list[Upstream] = attrs.field(factory=list)
    down: str = ""
    """The reason why the server refuses connections, if it does."""

    def front(self, **options: Any) -> HttpFront:
        def announce(url: str, token: str | None) -> None:
            self.announced.append(url)
            self.tokens.append(token)

        return HttpFront(announce=announce, **options)

    async def posts(self, body: bytes, session: str | None = None, **fields: str) -> Answer:
        caller = self.door.client(self.announced[0].partition(f":{PORT}")[2])
        await caller.post(body, session, **fields)
        return await caller.answer()


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch, nursery: trio.Nursery, autojump_clock: MockClock) -> Web:
    """Memory streams replace sockets."""
    made = Web()

    async def listen(_address: ListenAddress) -> list[Door]:
        await trio.lowlevel.checkpoint()
        return [made.door]

    def connector(upstream: Upstream) -> Connect:
        made.reached.append(upstream)

        async def connect() -> trio.abc.Stream:
            if made.down:
                await trio.testing.wait_all_tasks_blocked()
                raise OSError(made.down)
            ours, theirs = memory_stream_pair()
            nursery.start_soon(made.server.serve, theirs)
            await trio.lowlevel.checkpoint()
            return ours

        return connect

    monkeypatch.setattr(ListenAddress, "listen", listen)
    monkeypatch.setattr(url_server, "connector", connector)
    return made


@asynccontextmanager
async def running(web: Web, start: Callable[[], Awaitable[int]]) -> AsyncIterator[list[int]]:
    """A run that listens during the block and is stopped by a signal at its end. The list holds the
    exit status then.
    """
    statuses: list[int] = []

    async def run() -> None:
        statuses.append(await start())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        while not web.announced:
            await trio.testing.wait_all_tasks_blocked()
        yield statuses
        signal.raise_signal(signal.SIGTERM)
