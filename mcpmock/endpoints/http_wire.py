"""What both ends of HTTP share: heads and bodies as bytes, and the two queues of an exchange.

h11 reads what peers send; what we send is written here, because h11 puts Host first, rewrites
heads and refuses the wrong lengths that a recording may hold. So the checks that keep a head one
head are here too. `http_server` and `http_client` stand above.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import h11
import trio

from mcpmock.protocol.facts import ExchangeEnd, Headers, HttpRequest, HttpResponse, header
from mcpmock.protocol.messages import Frame
from mcpmock.transports.body import BodyWriter
from mcpmock.transports.heads import end_to_end

READ_SIZE = 1 << 16
"""The most that is taken from a connection in one go."""
HEAD_LIMIT = 1 << 16
"""The longest head, in bytes."""

_TOKEN = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_TARGET = re.compile(r"[\x21-\x7e\x80-\xff]+")
_BODILESS = {204, 304}


class Inbox:
    """The frames of one exchange that came from the peer, on their way to whoever receives them."""

    def __init__(self) -> None:
        self._frames: list[Frame] = []
        self._held = 0
        self._ended = False
        self._changed = trio.lowlevel.ParkingLot()

    def put(self, frames: Sequence[Frame]) -> None:
        if not self._ended:
            self._frames += frames
            self._held += sum(frame.size for frame in frames)
            self._changed.unpark_all()

    def end(self) -> None:
        """Nothing comes behind what was put."""
        self._ended = True
        self._changed.unpark_all()

    async def receive(self) -> list[Frame]:
        await trio.lowlevel.checkpoint_if_cancelled()
        while not self._frames:
            if self._ended:
                raise trio.EndOfChannel
            await self._changed.park()
        frames, self._frames, self._held = self._frames, [], 0
        self._changed.unpark_all()
        return frames

    async def below(self, bound: int) -> None:
        """Returns when fewer than `bound` bytes are held, or nobody takes any more."""
        while self._held >= bound and not self._ended:
            await self._changed.park()


class Outflow:
    """Bytes on their way out. All that is put before they are moved goes in one piece. `emptied` is
    called each time that nothing is left.
    """

    def __init__(self, emptied: Callable[[], None] = lambda: None) -> None:
        self.held = 0
        self.ended = False
        self._emptied = emptied
        self._waiting: list[bytes] = []
        self._broken = False
        self._filled = trio.lowlevel.ParkingLot()
        self._moved = trio.lowlevel.ParkingLot()

    @property
    def done(self) -> bool:
        """Whether all of it has gone out."""
        return self.ended and not self.held and not self._broken

    def put(self, data: bytes) -> None:
        if data and not self._broken:
            self._waiting.append(data)
            self.held += len(data)
            self._filled.unpark()

    def end(self) -> None:
        """Nothing more is put."""
        self.ended = True
        self._filled.unpark()

    def drop(self) -> None:
        """What is held goes nowhere, nor what is put."""
        self._broken = True
        self._waiting, self.held = [], 0
        self._filled.unpark()
        self._moved.unpark_all()

    async def run(self, stream: trio.abc.SendStream) -> None:
        """Moves what is put, until the end or until nobody takes it."""
        try:
            while not (self._broken or self.done):
                if self._waiting:
                    await self.flush(stream)
                else:
                    await self._filled.park()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.drop()

    async def flush(self, stream: trio.abc.SendStream) -> None:
        """Writes what is held."""
        data, self._waiting = b"".join(self._waiting), []
        await stream.send_all(data)
        self.held -= len(data)
        self._moved.unpark_all()
        if not self.held:
            self._emptied()

    async def below(self, bound: int) -> None:
        """Returns when fewer than `bound` bytes are held."""
        while self.held >= bound:
            await self._moved.park()


def head_bytes(start: str, headers: Headers) -> bytes:
    """A head as it goes over the wire. Raises ValueError where it would be read as something
    else.
    """
    lines = [start, *[f"{name}: {value}" for name, value in headers]]
    text = "\r\n".join(lines)
    breaks = len(lines) - 1
    if text.count("\r") != breaks or text.count("\n") != breaks or "\0" in text:
        raise ValueError("a line break in a header field")
    for name, _ in headers:
        if not _TOKEN.fullmatch(name):
            raise ValueError(f"no name of a header field: {name!r}")
    return text.encode("latin-1") + b"\r\n\r\n"


def fields(event: h11.Request | h11.Response) -> Headers:
    """The header fields of what h11 has read, as they were spelled."""
    return [(n.decode("latin-1"), v.decode("latin-1")) for n, v in event.headers.raw_items()]


def _length(headers: Headers) -> int | None:
    """What `Content-Length` says, if it is a number."""
    value = header(headers, "content-length") or ""
    return int(value) if value.isascii() and value.isdecimal() and len(value) <= 20 else None


class RequestWriter:
    """One request as bytes. A body that is whole at the first `write` is counted, so that no
    wrong Content-Length ever makes two requests of one; a longer one keeps the length that its head
    gives, or goes in chunks.
    """

    def __init__(self, head: HttpRequest) -> None:
        self._head = head
        self._begun = self._chunked = False
        self._left = 0

    def write(self, data: bytes, *, last: bool) -> bytes:
        """The bytes of the next piece, behind those of the head if it is the first. Raises
        ValueError where the request cannot be sent.
        """
        head = b"" if self._begun else self._begin(len(data), whole=last)
        self._begun = True
        if self._chunked:
            return head + _chunk(data, last=last)
        self._left -= len(data)
        if self._left < 0 or (last and self._left):
            raise ValueError("the body is not as long as its Content-Length")
        return head + data

    def _begin(self, size: int, *, whole: bool) -> bytes:
        request = self._head
        headers = list(request.headers)
        given = _length(headers)
        if whole:
            self._left = size
            if size or request.has_body or given is not None:
                headers = _counted(headers, size)
        elif given is None:
            self._chunked = True
            headers.append(("Transfer-Encoding", "chunked"))
        else:
            self._left = given
        if not (_TOKEN.fullmatch(request.method) and _TARGET.fullmatch(request.target)):
            raise ValueError(f"no request line: {request.method!r} {request.target!r}")
        return head_bytes(f"{request.method} {request.target} HTTP/1.1", headers)


class ResponseWriter:
    """One response as bytes: frames of an exchange in, what its client reads out.

    `ended` is how the exchange ended, once it has; `closing`, whether the connection must be closed
    behind it.
    """

    def __init__(self, method: str, *, closing: bool = False) -> None:
        self.closing = closing
        self.http_1_1 = True
        self._method = method
        self.begun = False
        self.ended: str | None = None
        self._body = BodyWriter("")
        self._mute = self._chunked = False
        self._left: int | None = None

    def write(self, frames: Sequence[Frame]) -> bytes:
        """The bytes of these frames. Raises ValueError where they cannot be sent."""
        frames = self._up_to_the_end(frames)
        if self.begun:
            return self._framed(self._body.write(frames))
        response = frames[0].fact
        if type(response) is not HttpResponse:
            return b""
        self.begun = True
        self._body = BodyWriter(response.media_type)
        data = self._body.write(frames[1:])
        return self._begin(response, len(data)) + self._framed(data)

    def _up_to_the_end(self, frames: Sequence[Frame]) -> Sequence[Frame]:
        for place, frame in enumerate(frames, 1):
            if type(frame.fact) is ExchangeEnd:
                self.ended = frame.fact.how
                return frames[:place]
        return frames

    def _begin(self, response: HttpResponse, size: int) -> bytes:
        """The head; `size` bytes of the body are there, and all of them if it has ended."""
        headers = list(end_to_end(response.headers))
        whole = self.ended == "eof"
        self._mute = self._method == "HEAD" or response.status in _BODILESS
        if self._mute:
            pass
        elif header(headers, "content-length") is not None:
            self._left = _length(headers)
            if self._left is None or (whole and self._left != size):
                self.closing = True
        elif whole:
            headers.append(("Content-Length", str(size)))
            self._left = size
        elif self.http_1_1:
            self._chunked = True
            headers.append(("Transfer-Encoding", "chunked"))
        else:
            self.closing = True
        if self.closing:
            headers.append(("Connection", "close"))
        if not 200 <= response.status <= 999:
            raise ValueError(f"no status of a response: {response.status}")
        return head_bytes(f"HTTP/1.1 {response.status} {response.reason}", headers)

    def _framed(self, data: bytes) -> bytes:
        last = self.ended == "eof"
        if self._mute:
            return b""
        if self._chunked:
            return _chunk(data, last=last)
        if self._left is not None:
            self._left -= len(data)
            if last and self._left:
                self.closing = True  # the client would wait for the rest, or take it for the next
        return data


def _chunk(data: bytes, *, last: bool) -> bytes:
    chunk = b"%x\r\n%b\r\n" % (len(data), data) if data else b""
    return chunk + b"0\r\n\r\n" if last else chunk


def _counted(headers: Headers, size: int) -> Headers:
    """With the right Content-Length, where one was or at the end."""
    right = [(n, str(size) if n.lower() == "content-length" else v) for n, v in headers]
    if header(headers, "content-length") is not None:
        return right
    return [*headers, ("Content-Length", str(size))]
