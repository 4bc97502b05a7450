"""The connection to the server that belongs to one of a client, over memory streams."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from mcpmock.channels.http.addresses import Connect
from mcpmock.channels.http.client import HttpClientChannel
from mcpmock.channels.http.pairing import IdleWatch, PairedConnection
from mcpmock.channels.http.wire import Wire

from .http_talking import UPSTREAM, Streams, answer, everything, request, said, shown, socket_pair


class Client:
    """The client's connection: notes what is done to it."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def close_behind(self, exchange: int) -> None:
        self.told.append(exchange)

    def close_idle(self, how: str) -> None:
        self.told.append(how)

    def close(self) -> None:
        self.told.append("closed at once")


@pytest.mark.parametrize("unasked", [b"", b"HTTP/1.1 408 Request Timeout\r\n\r\n"])
@pytest.mark.parametrize("make", [memory_stream_pair, socket_pair])
async def test_an_idle_connection_is_watched(
    autojump_clock: MockClock, make: Streams, unasked: bytes
) -> None:
    """It is used again and again; when the server closes it, or says something unasked, the
    client's is closed.
    """
    servers: list[trio.abc.Stream] = []
    client, watch = Client(), IdleWatch()

    async def connect() -> trio.abc.Stream:
        ours, theirs = make()
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
        await servers[0].aclose()
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("make", [memory_stream_pair, socket_pair])
async def test_a_connection_that_outlives_the_watch(
    autojump_clock: MockClock, make: Streams
) -> None:
    """It is closed with its client's as ever."""
    ours, theirs = make()
    watch = IdleWatch()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch.run)
        await wait_all_tasks_blocked()
        pair = PairedConnection(unopened, Client(), watch)
        pair.give_back(Wire(ours))
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    wire = pair.take()
    assert wire is not None
    pair.give_back(wire)
    pair.close("closed")

    assert b"" == await theirs.receive_some()
    await theirs.aclose()


async def unopened() -> trio.abc.Stream:
    raise AssertionError("unreachable because it is open")


@pytest.mark.parametrize("closed", [False, True])
async def test_a_connection_that_is_not_kept(closed: bool) -> None:
    """Given back when there is no client any more, or another one is idle already, it is closed."""
    pair = PairedConnection(unopened, Client(), IdleWatch())
    kept, other = socket_pair()
    given, theirs = socket_pair()
    if closed:
        pair.close("closed")
    else:
        pair.give_back(Wire(kept))
    pair.give_back(Wire(given))

    assert b"" == await theirs.receive_some()
    assert pair.idle is not closed
    for stream in (kept, other, theirs):
        await stream.aclose()


async def test_a_connection_that_is_used_when_it_is_looked_at(autojump_clock: MockClock) -> None:
    """Nothing is done to its client."""
    ours, theirs = memory_stream_pair()
    client = Client()
    pair = PairedConnection(unopened, client, IdleWatch())
    await pair.look()
    pair.give_back(wire := Wire(ours))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pair.look)
        await wait_all_tasks_blocked()
        theirs.send_stream.close()
        assert pair.take() is wire

    assert [] == client.told


def test_who_is_told_that_the_input_has_ended() -> None:
    """The exchange under way, which another one that is over does not change."""
    told: list[str] = []
    pair = PairedConnection(unopened, Client(), IdleWatch())
    pair.on_input_end = mine = lambda: told.append("mine")
    pair.forget(lambda: told.append("other"))
    pair.end_input()
    pair.forget(mine)
    pair.end_input()

    assert ["mine"] == told


async def test_the_watch_leaves_no_descriptor() -> None:
    """Its own is closed when it ends."""
    watch = IdleWatch()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch.run)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert watch._epoll.closed


LAST = answer(b"[]").replace(b"\r\n", b"\r\nConnection: close\r\n", 1)


@pytest.mark.parametrize(
    ("ended", "body", "answered", "heard", "told"),
    [
        (True, b"{}", b"", [], ["closed at once"]),
        (True, b"{}", b"no HTTP\r\n\r\n", [502, "eof"], []),
        (True, b"{}", answer(b"[]"), [200, "eof"], []),
        (False, b"{}", b"", ["closed"], []),
        (False, b"{}", answer(b"[]"), [200, "eof"], []),
        (False, b"{}", LAST, [200, "eof"], [1]),
        (False, b"x" * (8 << 20), answer(b"[]"), [200, "eof"], [1]),
    ],
)
async def test_what_the_server_does_to_its_connection(
    autojump_clock: MockClock,
    ended: bool,
    body: bytes,
    answered: bytes,
    heard: list[object],
    told: list[object],
) -> None:
    """A close is passed on: behind the exchange, or at once to a client that has ended its input.
    What is no HTTP is an error of the exchange. An answer before the end of its request is the
    last one, too.
    """
    ours, theirs = socket_pair()
    client = Client()

    class Carrier:
        def paired(self, connect: Connect) -> PairedConnection:
            return PairedConnection(connect, client, IdleWatch(), input_ended=ended)

    async def connect() -> trio.abc.Stream:
        return ours

    channel = HttpClientChannel(connect, UPSTREAM, client_of=lambda _: Carrier())  # type: ignore[arg-type, return-value]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(channel.run)
        channel.send_nowait(said(1, request(), body))
        receive = await channel.accept()
        nursery.start_soon(_replies, theirs, answered)
        found = shown(await everything(receive))
        await channel.aclose()
        nursery.cancel_scope.cancel()
    await ours.aclose()
    await theirs.aclose()

    assert heard == [one for one in found if isinstance(one, int | str)]
    assert told == [*dict.fromkeys(client.told)]


async def _replies(stream: trio.abc.Stream, answered: bytes) -> None:
    while not (await stream.receive_some()).endswith((b"{}", b"x")):
        pass
    await (stream.send_all(answered) if answered else stream.aclose())
