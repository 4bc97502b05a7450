"""HTTP/1.1 as bytes: heads and bodies, read and written. Pure.

h11 reads what is hard to read: the answers of servers, and chunks. Our own are the heads of
requests, after `heads.lint` has left one way to read them, and all that is written, because h11
puts Host first, adds fields and refuses the wrong lengths that a recording may hold. So what keeps
a head from becoming two is here, too. Above: `http_connection` and `http_client`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import h11

from mcpmock.protocol.facts import ExchangeEnd, Headers, HttpRequest, HttpResponse, header
from mcpmock.protocol.messages import Frame
from mcpmock.transports.body import BodyWriter
from mcpmock.transports.heads import end_to_end

HEAD_LIMIT = 1 << 16
"""The longest head, in bytes."""
_TOKEN = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_TARGET = re.compile(r"[\x21-\x7e\x80-\xff]+")
_BODILESS = {204, 304}


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


def request_of(head: bytes) -> tuple[HttpRequest, str]:
    """The request and the HTTP version that a head says, which `heads.lint` has let pass: there is
    one way to read it.
    """
    request_line, *lines = head[:-4].decode("latin-1").split("\r\n")
    method, target, version = request_line.split(" ")
    parted = [line.partition(":") for line in lines]
    headers = [(name, value.strip(" \t")) for name, _, value in parted]
    return HttpRequest(method, target, headers), version


class RequestBody:
    """The body of a request, out of what comes behind its head. A counted one is cut off here; the
    chunks of any other h11 reads.
    """

    def __init__(self, head: bytes, request: HttpRequest, behind: bytearray) -> None:
        self.done = False
        self.behind = behind
        """What came behind the head, and, when it is done, behind the body."""
        self._left = _length(request.headers) or 0
        self._parser: h11.Connection | None = None
        if request.header("transfer-encoding") is not None:
            self._parser = h11.Connection(h11.SERVER)
            self._parser.receive_data(head)
            self._parser.next_event()

    def take(self) -> bytes:
        """All there is of it by now. Raises ValueError where chunks are no chunks."""
        if self._parser is not None:
            return self._take_chunks(self._parser)
        data = bytes(self.behind[: self._left])
        del self.behind[: self._left]
        self._left -= len(data)
        self.done = not self._left
        return data

    def _take_chunks(self, parser: h11.Connection) -> bytes:
        if self.behind:
            parser.receive_data(bytes(self.behind))
            self.behind.clear()
        found = []
        try:
            while type(event := parser.next_event()) is h11.Data:
                found.append(event.data)
        except h11.RemoteProtocolError as error:
            raise ValueError(str(error)) from error
        if type(event) is h11.EndOfMessage:
            self.done = True
            self.behind += parser.trailing_data[0]
        return b"".join(found)


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
