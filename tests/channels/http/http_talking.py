"""Both sides of HTTP as the tests play them: clients of a listener and servers behind a channel, in
raw bytes over memory streams.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import attrs
import trio
from trio.testing import memory_stream_pair

from mcpmock.channels.channel import Receive
from mcpmock.channels.http.client import Credentials, HttpClientChannel
from mcpmock.channels.http.server import HttpListener, HttpServerChannel
from mcpmock.protocol.messages import C2S, S2C, ExchangeEnd, Fact, Frame, HttpRequest, HttpResponse
from mcpmock.transports.access_policy import AccessPolicy
from mcpmock.transports.headers import Upstream
from mcpmock.transports.session_router import SessionRouter, TransportKind

PORT = 8080
HOST = b"Host: 127.0.0.1:8080\r\n"
JSON = [("Content-Type", "application/json")]
EVENTS = [("Content-Type", "text/event-stream")]
GET = b"GET /mcp HTTP/1.1\r\n" + HOST + b"\r\n"
UPSTREAM = Upstream.parse("http://127.0.0.1:9000/mcp")
Streams = Callable[[], tuple[trio.abc.Stream, trio.abc.Stream]]
"""What makes both ends of a connection."""


def post(body: bytes, *fields: bytes, target: bytes = b"/mcp") -> bytes:
    """A whole POST."""
    lines = b"".join(field + b"\r\n" for field in fields)
    head = b"POST %b HTTP/1.1\r\n%bContent-Type: application/json\r\nContent-Length: %d\r\n%b\r\n"
    return head % (target, HOST, len(body), lines) + body


def chunked(*pieces: bytes) -> bytes:
    """A whole POST in chunks."""
    head = b"POST /mcp HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (*pieces, b""))
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks


def answer(body: bytes, status: bytes = b"200 OK") -> bytes:
    """A whole response of JSON."""
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (status, len(body)) + body


def of(exchange: int | None, *facts: Fact | bytes) -> list[Frame]:
    """Frames to the client: facts, and messages as bytes."""
    return [
        Frame(S2C, fact, exchange=exchange)
        if isinstance(fact, bytes)
        else Frame(S2C, fact=fact, exchange=exchange)
        for fact in facts
    ]


def said(exchange: int, *facts: Fact | bytes) -> list[Frame]:
    """The same, to the server."""
    frames = of(exchange, *facts)
    for frame in frames:
        frame.direction = C2S
    return frames


def ok(exchange: int | None, body: bytes) -> list[Frame]:
    """A whole answer of JSON."""
    return of(exchange, HttpResponse(200, "OK", JSON), body, ExchangeEnd())


def request(method: str = "POST", target: str = "/mcp", *fields: tuple[str, str]) -> HttpRequest:
    return HttpRequest(method, target, [("Host", "127.0.0.1:8080"), *JSON, *fields])


def shown(frames: Sequence[Frame]) -> list[object]:
    """What frames say: the bytes of messages, the kinds of facts with the bytes they have."""
    found: list[object] = []
    for frame in frames:
        match frame.fact:
            case None:
                found.append(frame.raw)
            case ExchangeEnd(how):
                found.append(how)
            case HttpRequest(method, target):
                found.append((method, target))
            case HttpResponse(status):
                found.append(status)
            case fact:
                found.append((type(fact).__name__, frame.raw))
    return found


def socket_pair() -> tuple[trio.abc.Stream, trio.abc.Stream]:
    """Both ends of a connection that takes at once what is written, as memory streams do not."""
    ours, theirs = trio.socket.socketpair()
    return trio.SocketStream(ours), trio.SocketStream(theirs)


class Peer:
    """A client or a server that speaks bytes."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self._rest = b""

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def reads(self, expected: bytes) -> None:
        """The next bytes are these."""
        while len(self._rest) < len(expected) and expected.startswith(self._rest):
            data = await self.stream.receive_some()
            if not data:
                break
            self._rest += data
        got, self._rest = self._rest[: len(expected)], self._rest[len(expected) :]
        assert expected == got

    async def response(self) -> tuple[int, bytes]:
        """The status and body of the next response that says how long it is."""
        while b"\r\n\r\n" not in self._rest:
            data = await self.stream.receive_some()
            assert data, self._rest
            self._rest += data
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        size = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
        while len(self._rest) < size:
            data = await self.stream.receive_some()
            assert data, self._rest
            self._rest += data
        body, self._rest = self._rest[:size], self._rest[size:]
        return int(head.split(b" ")[1]), body

    async def rest(self) -> bytes:
        """All that comes until the other side closes."""
        while data := await self.stream.receive_some():
            self._rest += data
        got, self._rest = self._rest, b""
        return got

    async def leave(self) -> None:
        await self.stream.aclose()


@attrs.define
class Front:
    """A listener, clients that connect to it, and what it tells."""

    listener: HttpListener
    nursery: trio.Nursery
    told: list[BaseException]
    open: set[trio.abc.Stream] = attrs.field(factory=set)

    def connect(
        self, make: Callable[..., tuple[trio.abc.Stream, ...]] = memory_stream_pair
    ) -> Peer:
        ours, theirs = make()
        self.nursery.start_soon(self._serve, theirs)
        return Peer(ours)

    async def conversation(self) -> HttpServerChannel:
        return await self.listener.accept()

    async def _serve(self, stream: trio.abc.Stream) -> None:
        self.open.add(stream)
        try:
            await self.listener.serve(stream)
        finally:
            self.open.discard(stream)


@asynccontextmanager
async def front(
    kind: TransportKind = TransportKind.STREAMABLE_HTTP,
    body_limit: int | None = None,
    token: str | None = None,
    *,
    mirrors: bool = False,
) -> AsyncIterator[Front]:
    """A listener in front of nothing; at the end no connection is open."""
    told: list[BaseException] = []
    access = AccessPolicy(PORT, token=token)
    listener = HttpListener(
        SessionRouter(kind, "/mcp"),
        access,
        [],
        body_limit=body_limit,
        mirrors=mirrors,
        tell=told.append,
    )
    with trio.fail_after(3600):
        async with trio.open_nursery() as nursery:
            made = Front(listener, nursery, told)
            yield made
            await listener.aclose()
        assert set() == made.open


async def first(channel: HttpServerChannel) -> tuple[Receive, list[Frame]]:
    """The next exchange of a conversation, and its first batch."""
    receive = await channel.accept()
    return receive, await receive()


async def everything(receive: Receive) -> list[Frame]:
    """All that an exchange has to say, until its end."""
    found: list[Frame] = []
    while True:
        try:
            found += await receive()
        except trio.EndOfChannel:
            return found


@attrs.define
class Back:
    """A client channel, and the servers that it connects to."""

    channel: HttpClientChannel
    nursery: trio.Nursery
    make: Streams = memory_stream_pair
    connected: int = 0
    _servers: tuple[trio.MemorySendChannel[Peer], trio.MemoryReceiveChannel[Peer]] = attrs.field(
        factory=lambda: trio.open_memory_channel[Peer](1000)
    )

    async def connect(self) -> trio.abc.Stream:
        ours, theirs = self.make()
        await self._servers[0].send(Peer(theirs))
        self.connected += 1
        return ours

    async def server(self) -> Peer:
        """The server's end of the next connection."""
        return await self._servers[1].receive()

    async def send(self, *frames: Frame) -> Receive:
        """Begins an exchange."""
        self.channel.send_nowait(frames)
        return await self.channel.accept()


@asynccontextmanager
async def back(
    connect: Callable[[], Awaitable[trio.abc.Stream]] | None = None,
    upstream: Upstream = UPSTREAM,
    credentials: Credentials | None = None,
    follows: bool = False,
    make: Streams = memory_stream_pair,
    is_mcp: Callable[[HttpRequest], bool] | None = None,
) -> AsyncIterator[Back]:
    """A channel to servers that the test plays."""
    with trio.fail_after(3600):
        async with trio.open_nursery() as nursery:

            async def connected() -> trio.abc.Stream:
                return await (connect or made.connect)()

            own = ["127.0.0.1:8080"]
            channel = HttpClientChannel(
                connected,
                upstream,
                own=own,
                is_mcp=is_mcp,
                credentials=credentials,
                follows=follows,
            )
            made = Back(channel, nursery, make)
            nursery.start_soon(channel.run)
            yield made
            await channel.aclose()
            nursery.cancel_scope.cancel()
