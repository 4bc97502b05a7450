"""A client, the listener, a pair of connections and a server, over TCP: what one side does to its
connection is done to the other.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import attrs
import pytest
import trio
from trio.testing import MockClock

from mcpmock.channels.http.client import HttpClientChannel
from mcpmock.channels.http.connection import IDLE_TIMEOUT_S, Connection
from mcpmock.channels.http.wire import Wire
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.runner import LiveSession, run

from .http_talking import UPSTREAM, Peer, answer, first, front, ok, post, shown
from .test_wire import connected

pytestmark = pytest.mark.e2e

ASKED = post(b"{}")
LAST = answer(b"[]").replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
BEGUN = answer(b"[]")[:-1]


@attrs.define
class Mirrored:
    """A client and the servers that it was connected to."""

    client: Peer
    servers: list[Peer]
    coming: trio.MemoryReceiveChannel[Peer]

    async def server(self) -> Peer:
        """The newest connection to the server; waits for the first."""
        if not self.servers:
            self.servers.append(await self.coming.receive())
        return self.servers[-1]

    async def asks(self) -> None:
        """The client asks, and the server has read it."""
        await self.client.send(ASKED)
        server, read = await self.server(), b""
        while not read.endswith(b"\r\n\r\n{}"):
            data = await server.stream.receive_some()
            assert data, read
            read += data

    async def answers(self, data: bytes) -> None:
        await (await self.server()).send(data)

    async def is_answered(self) -> None:
        await self.asks()
        await self.answers(answer(b"[]"))
        assert (200, b"[]") == await self.client.response()


@asynccontextmanager
async def mirrored(*, reached: bool = True) -> AsyncIterator[Mirrored]:
    opened, coming = trio.open_memory_channel[Peer](9)

    async def connect() -> trio.abc.Stream:
        if not reached:
            raise OSError("no server")
        ours, theirs = await connected()
        await opened.send(Peer(theirs))
        return ours

    with trio.fail_after(3600):
        async with front(mirrors=True) as door, trio.open_nursery() as nursery:

            async def serve() -> None:
                while True:
                    ours = await door.conversation()
                    listener = door.listener
                    upstream = HttpClientChannel(
                        connect, UPSTREAM, client_of=listener.connection_of
                    )
                    nursery.start_soon(run, LiveSession(Pipeline([]), ours, upstream))

            nursery.start_soon(door.listener.run)
            nursery.start_soon(serve)
            near, far = await connected()
            made = Mirrored(door.connect(lambda: (near, far)), [], coming)
            yield made
            for peer in (made.client, *made.servers):
                await peer.leave()
            nursery.cancel_scope.cancel()


async def close(peer: Peer) -> None:
    await peer.leave()


async def reset(peer: Peer) -> None:
    Wire(peer.stream).reset_on_close()
    await peer.leave()


async def half_close(peer: Peer) -> None:
    assert isinstance(peer.stream, trio.SocketStream)
    peer.stream.socket.shutdown(socket.SHUT_WR)


Leave = Callable[[Peer], Awaitable[None]]


async def seen(peer: Peer) -> str:
    """How the other side left, behind all that it said."""
    try:
        while await peer.stream.receive_some():
            pass
    except trio.BrokenResourceError:
        return "reset"
    return "closed"


@pytest.mark.parametrize(("leave", "how"), [(close, "closed"), (reset, "reset")])
@pytest.mark.parametrize("moment", ["idle", "asked", "begun"])
@pytest.mark.parametrize("side", ["client", "server"])
async def test_one_side_leaves(side: str, moment: str, leave: Leave, how: str) -> None:
    """The other side sees it, in the middle of an exchange or behind it, and as what it was."""
    async with mirrored() as both:
        await both.is_answered()
        if moment != "idle":
            await both.asks()
        if moment == "begun":
            await both.answers(BEGUN)
            await both.client.reads(b"HTTP/1.1 200 OK\r\n")
        client, server = both.client, await both.server()
        goes, stays = (client, server) if side == "client" else (server, client)
        await leave(goes)

        assert how == await seen(stays)


async def test_one_connection_for_one_client() -> None:
    """It is used for all its requests, until the server says that it was the last."""
    async with mirrored() as both:
        for _ in range(3):
            await both.is_answered()
        await both.asks()
        await both.answers(LAST)
        assert (200, b"[]") == await both.client.response()

        assert "closed" == await seen(both.client)
        assert 0 == both.coming.statistics().current_buffer_used


async def test_a_last_answer_that_comes_in_pieces() -> None:
    """The connection is closed behind it, not before its end."""
    async with mirrored() as both:
        await both.asks()
        await both.answers(LAST[:-1])
        await both.client.reads(b"HTTP/1.1 200 OK\r\n")
        await both.answers(LAST[-1:])

        assert (await both.client.rest()).endswith(b"\r\n\r\n[]")


DONE: dict[str, tuple[Callable[[Connection], None], str, bool]] = {
    "the last answer": (lambda one: one.close_behind(1), "closed", True),
    "another answer": (lambda one: one.close_behind(9), "closed", False),
    "closed": (lambda one: one.close_idle("closed"), "closed", False),
    "reset": (lambda one: one.close_idle("reset"), "reset", False),
}
"""What the server does, what an idle client sees, and whether one with an exchange sees it."""


@pytest.mark.parametrize("name", DONE)
@pytest.mark.parametrize("idle", [True, False])
async def test_what_is_done_to_a_connection(name: str, idle: bool) -> None:
    """At once where nothing is asked; else behind the answer, if it is about that."""
    do, how, last = DONE[name]
    with trio.fail_after(20):
        async with front(mirrors=True) as door:
            near, far = await connected()
            client = door.connect(lambda: (near, far))
            await client.send(ASKED)
            _, _ = await first(channel := await door.conversation())
            connection = door.listener.connection_of(1)
            assert connection is not None
            if not idle:
                do(connection)
            channel.send_nowait(ok(1, b"[]"))
            assert (200, b"[]") == await client.response()
            if idle:
                do(connection)
            if idle or last:
                assert how == await seen(client)
            else:
                await client.send(ASKED)
                await first(channel)
                channel.send_nowait(ok(2, b"[]"))
                assert (200, b"[]") == await client.response()
            await client.leave()


async def test_an_idle_connection_is_kept(autojump_clock: MockClock) -> None:
    """As long as the server keeps its own: it says when it does not."""
    async with mirrored() as both:
        await both.is_answered()
        await trio.sleep(1000)
        await both.is_answered()

        assert 0 == both.coming.statistics().current_buffer_used


async def test_a_server_that_is_not_reached(autojump_clock: MockClock) -> None:
    """It keeps no connection: that of its client is kept as long as any that is idle."""
    async with mirrored(reached=False) as both:
        await both.client.send(ASKED)
        assert 502 == (await both.client.response())[0]

        assert "closed" == await seen(both.client)
        assert IDLE_TIMEOUT_S == trio.current_time()


async def test_without_connections_to_a_server() -> None:
    """A client that ends its input has left."""
    with trio.fail_after(20):
        async with front() as door:
            near, far = await connected()
            client = door.connect(lambda: (near, far))
            await client.send(ASKED)
            receive, _ = await first(await door.conversation())
            await half_close(client)

            assert ["closed"] == shown(await receive())
            await client.leave()


async def test_a_client_that_ends_its_input() -> None:
    """The server sees that behind the request, and its answer arrives."""
    async with mirrored() as both:
        await both.client.send(ASKED)
        await half_close(both.client)
        server = await both.server()
        assert (await server.rest()).endswith(b"\r\n\r\n{}")
        await server.send(answer(b"[]"))

        assert (200, b"[]") == await both.client.response()
        assert "closed" == await seen(both.client)


@pytest.mark.parametrize("begun", [False, True])
async def test_a_server_that_leaves_a_client_without_input(begun: bool) -> None:
    """Its client's connection is closed as well, with or without the beginning of an answer."""
    async with mirrored() as both:
        await both.asks()
        await half_close(both.client)
        server = await both.server()
        assert b"" == await server.stream.receive_some()
        if begun:
            await server.send(BEGUN)
            await both.client.reads(b"HTTP/1.1 200 OK\r\n")
        await server.leave()

        assert "closed" == await seen(both.client)


async def test_a_client_that_leaves_behind_the_end_of_its_input() -> None:
    """No event tells that it is gone: it is looked at, and the server sees it soon."""
    async with mirrored() as both:
        await both.asks()
        await half_close(both.client)
        server = await both.server()
        assert b"" == await server.stream.receive_some()
        await both.client.leave()
        while True:  # the next to be told is the server
            try:
                await server.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            except trio.BrokenResourceError:
                break
