"""A client over HTTP in the test's own trio loop: it says exactly what the test says, and hears
answers piece by piece.

    async with calling(recorder.url) as caller:
        await caller.post(request(1, "ping"))
        assert (await caller.answer()).status == 200

One connection each, no retries, no redirects, no fields of its own but Host.
"""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import h11
import trio

from tests.support.http_upstream import RESET, STREAM
from tests.support.raw_http import Headers, request_bytes

PATIENCE = 60.0
"""Seconds without a byte after which a server is taken for dead."""
TOGETHER = 100.0
"""Seconds for clients who come together; on an idle machine they take one or two."""


class HungUpError(Exception):
    """The server closed the connection (`how`: `closed` or `reset`) where more was to come."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


@dataclass(frozen=True)
class Answer:
    """A whole response."""

    status: int
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of a field, if there is one."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    @property
    def message(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


@dataclass
class Caller:
    """A connection to a server, and what it is known as there."""

    stream: trio.abc.Stream
    authority: str
    target: str
    status: int = 0
    headers: Headers = field(default_factory=list)
    _parser: h11.Connection | None = None
    _rest: bytes = b""
    _events: bytearray = field(default_factory=bytearray)
    _method: str = ""

    async def send(self, data: bytes, *, method: str = "POST") -> None:
        """These bytes; an answer to a request with this method is expected."""
        self._method = method
        try:
            await self.stream.send_all(data)
        except trio.BrokenResourceError:
            pass  # a server may answer before it has read all, and close

    async def ask(
        self,
        method: str,
        target: str | None = None,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
    ) -> None:
        """A request."""
        fields = [("Host", self.authority), *headers]
        await self.send(request_bytes(method, target or self.target, fields, body), method=method)

    async def post(self, body: bytes, session: str | None = None, **fields: str) -> None:
        """A message of MCP; `fields` are header fields, with `_` for `-`."""
        fields = {
            "content_type": "application/json",
            "accept": f"application/json, {STREAM}",
            **fields,
        }
        if session is not None:
            fields["mcp_session_id"] = session
        headers = [(name.replace("_", "-"), value) for name, value in fields.items()]
        await self.ask("POST", headers=headers, body=body)

    async def head(self) -> int:
        """The status of the answer, once its head is there."""
        self._parser = h11.Connection(h11.CLIENT)
        self._parser.send(h11.Request(method=self._method, target="/", headers=[("Host", "x")]))
        self._parser.send(h11.EndOfMessage())
        if self._rest:
            self._parser.receive_data(self._rest)
        self._events.clear()
        event = await self._next()
        while isinstance(event, h11.InformationalResponse):
            event = await self._next()
        if not isinstance(event, h11.Response):
            raise HungUpError("closed")
        self.status = event.status_code
        self.headers = [
            (n.decode("latin-1"), v.decode("latin-1")) for n, v in event.headers.raw_items()
        ]
        return self.status

    async def piece(self) -> bytes | None:
        """The next piece of the body; None at its end."""
        event = await self._next()
        if isinstance(event, h11.Data):
            return bytes(event.data)
        assert isinstance(event, h11.EndOfMessage)
        assert self._parser is not None
        self._rest = self._parser.trailing_data[0]
        return None

    async def event(self) -> bytes | None:
        """The next server-sent event as it came; None at the end of the stream."""
        while b"\n\n" not in self._events:
            piece = await self.piece()
            if piece is None:
                return None
            self._events += piece
        block, _, rest = bytes(self._events).partition(b"\n\n")
        self._events = bytearray(rest)
        return block + b"\n\n"

    async def data(self) -> Any:
        """The data of the next server-sent event, decoded."""
        block = await self.event()
        if block is None:
            return None
        lines = [line for line in block.split(b"\n") if line.startswith(b"data:")]
        return json.loads(b"\n".join(line[5:] for line in lines))

    async def answer(self) -> Answer:
        """The whole answer."""
        await self.head()
        body = b""
        while (piece := await self.piece()) is not None:
            body += piece
        return Answer(self.status, self.headers, body)

    async def messages(self) -> list[Any]:
        """All messages of a whole answer, in JSON or as events."""
        await self.head()
        media = next((v for k, v in self.headers if k.lower() == "content-type"), "")
        if media.startswith(STREAM):
            return [message async for message in self._all_data()]
        body = b""
        while (piece := await self.piece()) is not None:
            body += piece
        return [json.loads(body)] if body else []

    async def _all_data(self) -> AsyncIterator[Any]:
        while (message := await self.data()) is not None:
            yield message

    async def to_the_end(self) -> None:
        """Hears events until there are no more of them, or the server hangs up."""
        while await self.event():
            pass

    async def ended(self) -> str:
        """Waits for the server to hang up, and says how."""
        try:
            while await self._read():
                pass
        except HungUpError as gone:
            return gone.how
        return "closed"

    async def leave(self, *, reset: bool = False) -> float:
        """Closes the connection, and says when."""
        if reset:
            assert isinstance(self.stream, trio.SocketStream)
            self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        now = trio.current_time()
        await trio.aclose_forcefully(self.stream)
        return now

    async def _next(self) -> object:
        assert self._parser is not None
        try:
            while (event := self._parser.next_event()) is h11.NEED_DATA:
                self._parser.receive_data(await self._read())
        except h11.RemoteProtocolError:
            if self._parser.trailing_data[1]:
                raise HungUpError("closed") from None
            raise
        if isinstance(event, h11.ConnectionClosed):
            raise HungUpError("closed")
        return event

    async def _read(self) -> bytes:
        with trio.fail_after(PATIENCE):
            try:
                return bytes(await self.stream.receive_some(1 << 16))
            except trio.BrokenResourceError:
                raise HungUpError("reset") from None


@asynccontextmanager
async def calling(url: str, *, window: int | None = None) -> AsyncIterator[Caller]:
    """A connection to a server; `window` is how many bytes may wait here to be read."""
    where = urlsplit(url)
    assert where.hostname is not None
    assert where.port is not None
    connection = trio.socket.socket(
        socket.AF_INET6 if ":" in where.hostname else socket.AF_INET, socket.SOCK_STREAM
    )
    with connection:
        if window is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        await connection.connect((where.hostname, where.port))
        target = where.path + ("?" + where.query if where.query else "")
        yield Caller(trio.SocketStream(connection), where.netloc, target)


async def asks(
    url: str,
    method: str = "GET",
    target: str | None = None,
    headers: Iterable[tuple[str, str]] = (),
    body: bytes | None = None,
) -> Answer:
    """The answer to one request, on a connection of its own."""
    async with calling(url) as caller:
        await caller.ask(method, target, headers, body)
        return await caller.answer()


async def posts(url: str, body: bytes, session: str | None = None, **fields: str) -> Answer:
    """The answer to one message, on a connection of its own."""
    async with calling(url) as caller:
        await caller.post(body, session, **fields)
        return await caller.answer()


async def at_once(count: int, client: Callable[[int], Awaitable[None]]) -> None:
    """So many clients, started together."""
    with trio.fail_after(TOGETHER):
        async with trio.open_nursery() as nursery:
            for nth in range(count):
                nursery.start_soon(client, nth)
