"""The connection to the server that belongs to one of a client, over memory streams."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from mcpmock.channels.http.pairing import IdleWatch, PairedConnection


class Client:
    """The client's connection: notes what is done to it."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def close_behind(self, exchange: int) -> None:
        self.told.append(exchange)

    def close_idle(self, how: str) -> None:
        self.told.append(how)

    def leave(self) -> None:
        self.told.append("left")


@pytest.mark.parametrize("unasked", [b"", b"HTTP/1.1 408 Request Timeout\r\n\r\n"])
async def test_an_idle_connection_is_watched(autojump_clock: MockClock, unasked: bytes) -> None:
    """It is used again and again; when the server closes it, or says something unasked, the
    client's is closed.
    """
    servers: list[trio.abc.Stream] = []
    client, watch = Client(), IdleWatch()

    async def connect() -> trio.abc.Stream:
        ours, theirs = memory_stream_pair()
        servers.append(theirs)
        return ours

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch.run)
        await wait_all_tasks_blocked()
        pair = PairedConnection(connect, client, watch)
        assert pair.take() is None
        wire = await pair.open()
        for number in range(3):
            pair.give_back(wire)
            await wait_all_tasks_blocked()
            assert (pair.idle, client.told) == (True, [])
            assert wire is pair.take()
            await servers[0].send_all(b"%d" % number)
            assert b"%d" % number == await wire.read()
        pair.give_back(wire)
        await wait_all_tasks_blocked()
        await (servers[0].send_all(unasked) if unasked else servers[0].aclose())
        await wait_all_tasks_blocked()

        assert (pair.idle, client.told) == (False, ["closed"])
        nursery.cancel_scope.cancel()
