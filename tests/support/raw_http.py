"""An HTTP client of bytes: send exactly this, read what comes as it comes, and say what it was.

It knows HTTP/1.1 as far as servers of MCP use it (chunked bodies, 1xx answers) and server-sent
events, and it does not help: no headers of its own, no pool, no retries, no redirects.

    with Exchange(address, request_bytes("POST", "/mcp", headers, body)) as exchange:
        exchange.status; exchange.header("content-type")
        exchange.event()        # the next server-sent event, or None at the end
        exchange.rest()         # all bytes that are left
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType

Headers = list[tuple[str, str]]
PATIENCE = 30.0
"""Seconds without a byte after which a server is taken for dead."""
_BLOCK = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_LINE = re.compile(r"\r\n|\n|\r")


class NoAnswerError(Exception):
    """The connection ended, or nothing came, where the protocol wants more."""


def request_bytes(
    method: str, target: str, headers: Headers, body: bytes | Iterable[bytes] | None
) -> bytes:
    """A request as it is on the wire; a body in pieces is sent in chunks."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    payload = b""
    if isinstance(body, bytes):
        lines.append(f"Content-Length: {len(body)}")
        payload = body
    elif body is not None:
        lines.append("Transfer-Encoding: chunked")
        payload = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in [*body, b""])
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + payload


@dataclass(frozen=True)
class ServerEvent:
    """One server-sent event: its fields in order, and how its lines end."""

    fields: tuple[tuple[str, str], ...]
    eol: str

    @property
    def data(self) -> str:
        return "\n".join(value for name, value in self.fields if name == "data")

    @property
    def id(self) -> str | None:
        return next((value for name, value in self.fields if name == "id"), None)


def read_event(block: bytes) -> ServerEvent | None:
    """The event of a block of lines; None for one of comments alone."""
    text = block.decode("utf-8")
    found = []
    for row in _LINE.split(text):
        name, _, value = row.partition(":")
        if name:
            found.append((name, value.removeprefix(" ")))
    eol = "\r\n" if "\r\n" in text else "\n"
    return ServerEvent(tuple(found), eol) if found else None


@dataclass
class Connection:
    """A TCP connection that can carry several exchanges, one after the other."""

    address: tuple[str, int]
    socket: socket.socket = field(init=False)
    buffer: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.socket = socket.create_connection(self.address, PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def more(self) -> bool:
        """Wait for more bytes; False at the end of the connection."""
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            return False
        except TimeoutError:
            raise NoAnswerError(f"nothing for {PATIENCE} s after {bytes(self.buffer)!r}") from None
        self.buffer += data
        return bool(data)

    def until(self, mark: bytes) -> bytes:
        """All bytes up to a mark, without the mark."""
        while (at := self.buffer.find(mark)) < 0:
            if not self.more():
                raise NoAnswerError(f"the connection ended after {bytes(self.buffer)!r}")
        found = bytes(self.buffer[:at])
        del self.buffer[: at + len(mark)]
        return found

    def exactly(self, count: int) -> Iterator[bytes]:
        """So many bytes, as they come."""
        while count:
            if not self.buffer and not self.more():
                raise NoAnswerError(f"the connection ended with {count} bytes to come")
            piece = bytes(self.buffer[:count])
            del self.buffer[: len(piece)]
            count -= len(piece)
            yield piece

    def close(self) -> None:
        self.socket.close()


class Exchange:
    """One request, sent, and its answer, which is read when it is asked for.

    Node's servers keep the head of a stream back until there is an event for it.
    """

    def __init__(self, connection: Connection, request: bytes, *, head_only: bool = False) -> None:
        self._connection = connection
        self._head_only = head_only
        self._events = bytearray()
        try:
            connection.socket.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a server may answer before it has read all, and close

    def __enter__(self) -> Exchange:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    @cached_property
    def head(self) -> tuple[int, Headers]:
        """Status and headers; the provisional answers before it are skipped."""
        while True:
            first, *rest = self._connection.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
            if (status := int(first.split()[1])) >= 200:
                pairs = (line.partition(":") for line in rest)
                return status, [(name.lower(), value.strip()) for name, _, value in pairs]

    @property
    def status(self) -> int:
        return self.head[0]

    @property
    def headers(self) -> Headers:
        return self.head[1]

    def header(self, name: str) -> str | None:
        """The value of a header, if there is one; None if not."""
        return next((value for key, value in self.headers if key == name), None)

    def rest(self) -> bytes:
        """What is left of the body."""
        return bytes(self._events) + b"".join(self._pieces)

    def event(self) -> ServerEvent | None:
        """The next server-sent event; None at the end of the stream."""
        while True:
            start = 0
            while (found := _BLOCK.search(self._events, start)) is None:
                start = max(0, len(self._events) - 3)
                piece = next(self._pieces, None)
                if piece is None:
                    return None
                self._events += piece
            block = bytes(self._events[: found.end()])
            del self._events[: found.end()]
            if event := read_event(block):
                return event

    def events(self) -> Iterator[ServerEvent]:
        """All events to the end of the stream."""
        while event := self.event():
            yield event

    @cached_property
    def _pieces(self) -> Iterator[bytes]:
        return self._body()

    def _body(self) -> Iterator[bytes]:
        if self.status in (204, 304) or self._head_only:
            return
        if (self.header("transfer-encoding") or "").lower() == "chunked":
            yield from self._chunks()
        elif (length := self.header("content-length")) is not None:
            yield from self._connection.exactly(int(length))
        else:
            while self._connection.buffer or self._connection.more():
                yield from self._connection.exactly(len(self._connection.buffer))

    def _chunks(self) -> Iterator[bytes]:
        connection = self._connection
        while size := int(connection.until(b"\r\n").split(b";")[0], 16):
            yield from connection.exactly(size)
            connection.until(b"\r\n")
        while connection.until(b"\r\n"):
            pass  # trailers
