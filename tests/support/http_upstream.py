"""A server over HTTP in the test's own trio loop: it keeps what it is asked, and answers by a
script, piece by piece, when the test wants it.

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.open()
        await reply.event(b'{"jsonrpc":"2.0","id":1,"result":{}}')
        await reply.close()

    async with upstream(script) as server:
        with recording(cassette, server.url): ...
    assert len(server.asked) == 1

Nothing is normalised: heads are kept as they came, answers are the bytes that the script says.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import h11
import trio

from tests.support import progress, response
from tests.support.raw_http import Headers

RESET = struct.pack("ii", 1, 0)
_READ = 1 << 16


@dataclass(frozen=True)
class Asked:
    """One whole request, and the number of the connection that it came on."""

    connection: int
    method: str
    target: str
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of a field, if there is one."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    @property
    def message(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


class Reply:
    """The answer to one request: every method writes at once, and no more than it says."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self.kept = False
        """Whether the answer is whole, and another request may come on its connection."""
        self.behind = b""
        """What came behind the request, which nobody should have sent."""

    async def raw(self, data: bytes) -> None:
        """These bytes."""
        await self._stream.send_all(data)

    async def whole(
        self, body: bytes = b"", status: int = 200, media: str = "application/json", **fields: str
    ) -> None:
        """A whole answer; `fields` are header fields, with `_` for `-`."""
        fields = {"content_type": media, "content_length": str(len(body)), **fields}
        await self.raw(head(status, **fields) + body)
        self.kept = True

    def last_word(self, body: bytes) -> None:
        """A whole answer, and the connection is closed, unannounced, before anything can come: both
        leave in one segment.
        """
        assert isinstance(self._stream, trio.SocketStream)
        self._stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        media = "application/json"
        answer = head(200, content_type=media, content_length=str(len(body))) + body
        assert os.write(self._stream.socket.fileno(), answer) == len(answer)
        self._stream.socket.close()

    async def open(self, **fields: str) -> None:
        """The head of an event stream."""
        await self.raw(head(200, content_type=STREAM, transfer_encoding="chunked", **fields))

    async def event(self, data: bytes, prefix: bytes = b"") -> None:
        """One server-sent event; `prefix` are the lines before its data."""
        block = b"%bdata: %b\n\n" % (prefix, data)
        await self.raw(b"%x\r\n%b\r\n" % (len(block), block))

    async def close(self) -> None:
        """The end of the stream, as it should be."""
        await self.raw(b"0\r\n\r\n")
        self.kept = True

    async def hang_up(self, *, reset: bool = False) -> None:
        """Closes the connection here and now."""
        if reset:
            assert isinstance(self._stream, trio.SocketStream)
            self._stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        await trio.aclose_forcefully(self._stream)

    async def left(self) -> float:
        """Waits until the client has gone, and says when."""
        await self.ended()
        return trio.current_time()

    async def ended(self) -> str:
        """The same, and says how: `closed` or `reset`."""
        try:
            while data := await self._stream.receive_some(_READ):
                self.behind += data
        except trio.BrokenResourceError:
            return "reset"
        return "closed"


STREAM = "text/event-stream"
Script = Callable[[Asked, Reply], Awaitable[None]]


def head(status: int, **fields: str) -> bytes:
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join([f"HTTP/1.1 {status} Because", *lines, "", ""]).encode("latin-1")


@dataclass
class Upstream:
    """A listening server: all that it was asked, in order."""

    script: Script
    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    """What came and was no request, or not a whole one."""
    connections: int = 0
    _life: trio.CancelScope = field(default_factory=trio.CancelScope)
    _more: trio.Event = field(default_factory=trio.Event)

    async def got(self, whole: int, torn: int = 0) -> None:
        """Waits until so many requests have come."""
        while len(self.asked) < whole or len(self.torn) < torn:
            await self._more.wait()

    def bodies(self) -> list[bytes]:
        return [asked.body for asked in self.asked]

    def die(self) -> None:
        """Closes all that is open, as the kernel does for a process that was killed."""
        self._life.cancel()

    async def serve(self, stream: trio.abc.Stream) -> None:
        """One connection, until either side has had enough."""
        self.connections += 1
        number, rest = self.connections, b""
        try:
            while True:
                asked, rest = await self._next(stream, number, rest)
                if asked is None:
                    break
                self.asked.append(asked)
                self._came()
                reply = Reply(stream)
                await self.script(asked, reply)
                rest += reply.behind
                if not reply.kept:
                    break
        except (trio.BrokenResourceError, trio.ClosedResourceError, ssl.SSLError):
            pass  # it went away in the middle, which many tests are about
        finally:
            await trio.aclose_forcefully(stream)

    def _came(self) -> None:
        self._more.set()
        self._more = trio.Event()

    async def _next(
        self, stream: trio.abc.Stream, number: int, data: bytes
    ) -> tuple[Asked | None, bytes]:
        parser = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
        came, request, body = data, None, b""
        if data:
            parser.receive_data(data)
        while True:
            try:
                event = parser.next_event()
            except h11.RemoteProtocolError as error:
                self.torn.append(f"{error}: {came[:200]!r}")
                self._came()
                return None, b""
            match event:
                case h11.Request():
                    request = event
                case h11.Data():
                    body += bytes(event.data)
                case h11.EndOfMessage():
                    assert request is not None
                    return _asked(number, request, body), parser.trailing_data[0]
                case h11.NEED_DATA:
                    more = bytes(await stream.receive_some(_READ))
                    came += more
                    parser.receive_data(more)
                case _:
                    return None, b""


def _asked(number: int, request: h11.Request, body: bytes) -> Asked:
    headers = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in request.headers.raw_items()]
    target = request.target.decode("latin-1")
    return Asked(number, request.method.decode(), target, headers, body)


@asynccontextmanager
async def upstream(
    script: Script, *, path: str = "/mcp", context: ssl.SSLContext | None = None
) -> AsyncIterator[Upstream]:
    """A server that listens on this machine for as long as the block lasts."""
    server = Upstream(script)

    async def serve(stream: trio.SocketStream) -> None:
        if context is None:
            await server.serve(stream)
        else:
            secure = trio.SSLStream(stream, context, server_side=True, https_compatible=True)
            await server.serve(secure)

    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1", backlog=1024)
    scheme = "http" if context is None else "https"
    server.url = f"{scheme}://127.0.0.1:{listener.socket.getsockname()[1]}{path}"

    async def live() -> None:
        with server._life:
            await trio.serve_listeners(serve, [listener])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(live)
        yield server
        nursery.cancel_scope.cancel()


async def answers_all(asked: Asked, reply: Reply) -> None:
    """A script: every request gets an answer in JSON, everything else 202, or 200 where it is not
    MCP's.
    """
    try:
        message = asked.message
    except ValueError:
        await reply.whole(b"hello", media="text/plain")
        return
    if isinstance(message, dict) and "id" in message:
        await reply.whole(response(message["id"], {"given": message.get("params")}))
    else:
        await reply.whole(status=202)


def marked(name: str, message: Any) -> list[bytes]:
    """What a client of this name is told on a request: its name, and in a call the progress before
    it.
    """
    if message["method"] == "initialize":
        result = {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": name, "version": "1"},
        }
        return [response(message["id"], result)]
    params = message["params"]
    n = params["arguments"]["n"]
    result = {"content": [{"type": "text", "text": f"{name} {n}"}]}
    return [progress(params["_meta"]["progressToken"], n), response(message["id"], result)]


@dataclass
class Marking:
    """A script: sessions of Streamable HTTP, and in every answer the name of the client that opened
    the session.
    """

    names: dict[str, str] = field(default_factory=dict)

    async def __call__(self, asked: Asked, reply: Reply) -> None:
        message = asked.message
        match message["method"]:
            case "initialize":
                name = message["params"]["clientInfo"]["name"]
                self.names[f"session-of-{name}"] = name
                [answer] = marked(name, message)
                await reply.whole(answer, mcp_session_id=f"session-of-{name}")
            case "tools/call":
                await reply.open()
                for said in marked(self.names[asked.header("mcp-session-id") or ""], message):
                    await reply.event(said)
                    await trio.lowlevel.checkpoint()
                await reply.close()
            case _:
                await reply.whole(status=202)


@dataclass
class MarkingStreams:
    """A script: the same for HTTP+SSE, where each event stream is a session."""

    names: dict[str, str] = field(default_factory=dict)
    ways: dict[str, trio.MemorySendChannel[bytes]] = field(default_factory=dict)

    async def __call__(self, asked: Asked, reply: Reply) -> None:
        if asked.method == "GET":
            await self._stream(reply)
            return
        session, message = asked.target.partition("=")[2], asked.message
        await reply.whole(b"Accepted", 202, "text/plain")
        if message["method"] == "initialize":
            self.names[session] = message["params"]["clientInfo"]["name"]
        if "id" in message:
            for said in marked(self.names[session], message):
                self.ways[session].send_nowait(said)

    async def _stream(self, reply: Reply) -> None:
        session = str(len(self.ways))
        self.ways[session], told = trio.open_memory_channel[bytes](10)
        await reply.open()
        await reply.event(f"/messages?session={session}".encode(), b"event: endpoint\n")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tell, told, reply)
            await reply.left()
            nursery.cancel_scope.cancel()

    async def _tell(self, told: trio.MemoryReceiveChannel[bytes], reply: Reply) -> None:
        async for said in told:
            await reply.event(said)
