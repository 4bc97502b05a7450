"""HTTP/1.1 as bytes: heads and bodies, read and written. Pure.

h11 reads what is hard to read: any response that could be read in two ways, and all but the
plainest chunks (`chunked`). Heads with one meaning are read here (`headers.lint` lets no other
request pass). `connection` and `client` stand above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import h11

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.messages import Frame
from mcpmock.protocol.transport_facts import (
    REMEMBERED_HEADS,
    ExchangeEnd,
    Headers,
    HttpBody,
    HttpRequest,
    HttpResponse,
)
from mcpmock.transports.body import BodyWriter
from mcpmock.transports.cors import with_cors
from mcpmock.transports.headers import end_to_end, field_of, lint, origin_form

from .chunked import Chunks, chunk

# Why not h11 for every head.
# speed: of one POST and its JSON answer, here and with h11: a request read 14 and 43 us, a response
# read 7 and 48 us, a response written 2 and 26 us. h11 would add 20 to 30 % to a call
# (tools/bench.py, http-record)
#
# Written heads are ours for another reason too: h11 puts Host first, adds fields, and refuses the
# wrong lengths that a recording may hold. What keeps a head from becoming two is therefore here.
MAX_HEAD_BYTES = 1 << 16
"""The longest head, in bytes."""
_MAX_CACHED_BYTES = 1 << 12
_TOKEN = lazy_pattern(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_TARGET = lazy_pattern(r"[\x21-\x7e\x80-\xff]+")
_BODILESS = {204, 304}  # nor has a response to HEAD a body, whatever its head says: RFC 9112, 6.3
_PLAIN = lazy_pattern(  # one meaning only: no folding, no bare line ends, no control characters
    rb"HTTP/1\.1 ([2-9][0-9]{2})(?: ([^\x00-\x1f\x7f]*))?\r\n"
    rb"((?:[-!#$%&'*+.^_`|~0-9A-Za-z]+:[^\x00-\x08\x0a-\x1f\x7f]*\r\n)*)\r\n"
)
_END_OF_HEAD = b"\r\n\r\n"
_ALL = h11.EndOfMessage()


def head_bytes(start: str, headers: Headers) -> bytes:
    """Return a head as it goes over the wire. Raises ValueError where it would be read as something
    else.
    """
    lines = [start, *[f"{name}: {value}" for name, value in headers]]
    text = "\r\n".join(lines)
    breaks = len(lines) - 1
    if text.count("\r") != breaks or text.count("\n") != breaks or "\0" in text:
        raise ValueError("a line break in a header field")
    for name, _ in headers:
        if not _is_token(name):
            raise ValueError(f"invalid header name: {name!r}")
    return text.encode("latin-1") + b"\r\n\r\n"


@lru_cache(maxsize=512)
def _is_token(text: str) -> bool:
    return _TOKEN.fullmatch(text) is not None


def read_head(head: bytes) -> RequestHead | str:
    """Return what a request's head says, or why it is refused."""
    # speed: 0.2 us, read anew 12 (python -m timeit)
    return _read_head(head) if len(head) <= _MAX_CACHED_BYTES else _read_head.__wrapped__(head)


@lru_cache(REMEMBERED_HEADS)
def _read_head(head: bytes) -> RequestHead | str:
    return lint(head) or RequestHead(head)


class RequestHead:
    """What a request's head says. `headers.lint` has let it pass: there is one way to read it."""

    def __init__(self, head: bytes) -> None:
        request_line, *lines = head[:-4].split(b"\r\n")
        method, target, version = request_line.decode("latin-1").split(" ")
        fields = [field for line in lines if (field := field_of(line))]
        known = {name: value for _, name, value in fields}
        headers = [(name, value) for name, _, value in fields]
        target, authority = origin_form(method, target)
        if authority is not None:
            others = [field for field in headers if field[0].lower() != "host"]
            headers = [("Host", authority), *others]
        self.request = HttpRequest(method, target, headers)
        self.http_1_1 = version == "HTTP/1.1"
        self.chunked = "transfer-encoding" in known
        self.length = int(known.get("content-length", 0))
        self.closing = not self.http_1_1
        """Whether no other request comes behind this one."""
        self.waits = self.http_1_1 and known.get("expect", "").lower() == "100-continue"
        """Whether the client sends the body only after a 100 Continue (RFC 9110, 10.1.1)."""
        if "connection" in known:
            self.closing |= _closes(self.request)


class RequestBody:
    """The body of a request, out of what comes behind its head."""

    def __init__(self, head: RequestHead, behind: bytearray) -> None:
        self.done = False
        self.behind = behind
        """What came behind the head, and, when it is done, behind the body."""
        self._left = head.length
        self._chunks = Chunks() if head.chunked else None

    def take(self) -> bytes:
        """Return all there is of it by now. Raises ValueError for bytes that are not chunks."""
        if self._chunks is None:
            data = bytes(self.behind[: self._left])
            del self.behind[: self._left]
            self._left -= len(data)
            self.done = not self._left
            return data
        data = b"".join(self._chunks.feed(bytes(self.behind)))
        self.done = self._chunks.done
        self.behind[:] = self._chunks.behind if self.done else b""
        return data


class _PlainHead(NamedTuple):
    """The head of a response that has one meaning only. Its body has this length or comes in
    chunks; where neither is said plainly, only a response without a body has one meaning.
    """

    response: HttpResponse
    length: int | None
    chunked: bool
    closing: bool


def _read_plain(head: bytes) -> _PlainHead | None:
    """Return what the head of a response says, if it has one meaning only."""
    # speed: 0.1 us, read anew 4 (python -m timeit)
    known = len(head) <= _MAX_CACHED_BYTES
    return _read_response(head) if known else _read_response.__wrapped__(head)


@lru_cache(REMEMBERED_HEADS)
def _read_response(head: bytes) -> _PlainHead | None:
    found = _PLAIN.fullmatch(head)
    if found is None:
        return None
    status, reason, lines = found.groups()
    parted = [line.partition(":") for line in lines.decode("latin-1").split("\r\n")[:-1]]
    headers = [(name, value.strip(" \t")) for name, _, value in parted]
    response = HttpResponse(int(status), (reason or b"").decode("latin-1"), headers)
    lengths, codings = response.values("content-length"), response.values("transfer-encoding")
    return _PlainHead(
        response,
        _number(lengths[0]) if len(lengths) == 1 and not codings else None,
        codings == ["chunked"] and not lengths,
        _closes(response),
    )


class ResponseReader:
    """One response, out of what comes over a connection: its head, and its body as it comes.

    A head that came whole and has one meaning only is read here, in a fifth of the time; h11 reads
    every other. `done`: that was all; `again`: and another may follow on this connection.
    """

    def __init__(self, method: str) -> None:
        self.done = self.again = False
        self._method = method
        self._begun = False
        self._left = 0
        self._chunks: Chunks | None = None
        self._parser: h11.Connection | None = None

    def feed(self, data: bytes) -> Iterator[HttpResponse | bytes]:
        """Yield what one read (of nothing, at the end) gives. Raises ValueError where it is no
        HTTP, or ends too early.
        """
        if not self._begun:
            self._begun = True
            end = data.find(_END_OF_HEAD) + len(_END_OF_HEAD)
            plain = _read_plain(data[:end])
            if plain is None or not self._is_framed(plain):
                self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
                self._parser.send(_asked(self._method))
                self._parser.send(_ALL)
            else:
                yield plain.response
                data = data[end:]
        elif not data and self._parser is None:
            raise ValueError("closed in the middle")
        if self._parser is not None:
            yield from self._by_h11(self._parser, data)
        elif self._chunks is not None:
            yield from self._chunks.feed(data)
            self.done = self._chunks.done
            self.again &= not self.done or not self._chunks.behind
        else:
            if body := data[: self._left]:
                yield body
            self.again &= len(data) <= self._left
            self._left -= min(self._left, len(data))
            self.done = not self._left

    def _is_framed(self, head: _PlainHead) -> bool:
        """Return whether the body comes in one of the two usual ways, and note in which."""
        self.again = not head.closing
        if self._method == "HEAD" or head.response.status in _BODILESS:
            return True
        self._left = head.length or 0
        self._chunks = Chunks() if head.chunked else None
        return head.chunked or head.length is not None

    def _by_h11(self, parser: h11.Connection, data: bytes) -> Iterator[HttpResponse | bytes]:
        parser.receive_data(data)
        while not self.done:
            try:
                event = parser.next_event()
            except h11.RemoteProtocolError as error:
                raise ValueError(str(error)) from error
            match event:
                case h11.NEED_DATA:
                    return
                case h11.Response():
                    raw = event.headers.raw_items()
                    headers = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in raw]
                    reason = event.reason.decode("latin-1")
                    yield HttpResponse(event.status_code, reason, headers)
                case h11.Data():
                    yield bytes(event.data)
                case h11.EndOfMessage():
                    self.done = True
                    self.again = parser.their_state is h11.DONE and not parser.trailing_data[0]
                case _:
                    pass  # 1xx responses are for us: we are the client of this connection


@lru_cache(maxsize=16)
def _asked(method: str) -> h11.Request:
    """Return all that h11 has to know of a request to read the answer."""
    return h11.Request(method=method, target="/", headers=[("Host", "upstream")])


def _closes(head: HttpRequest | HttpResponse) -> bool:
    """Return whether the sender says that this is the last on its connection."""
    options = ",".join(head.values("connection"))
    return "close" in [option.strip() for option in options.lower().split(",")]


def _number(text: str | None) -> int | None:
    """Return what a Content-Length says, if it is a number."""
    if text is None or not (text.isascii() and text.isdecimal()) or len(text) > 18:
        return None
    return int(text)


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
        """Return the bytes of the next piece, behind those of the head if it is the first. Raises
        ValueError where the request cannot be sent.
        """
        head = b"" if self._begun else self._begin(len(data), whole=last)
        self._begun = True
        if self._chunked:
            return head + chunk(data, last=last)
        self._left -= len(data)
        if self._left < 0 or (last and self._left):
            raise ValueError("the body is not as long as its Content-Length")
        return head + data

    def _begin(self, size: int, *, whole: bool) -> bytes:
        request = self._head
        if whole:
            self._left = size
            return _counted_head(request, size)
        given = _number(request.header("content-length"))
        self._chunked, self._left = given is None, given or 0
        return _request_head(request, [("Transfer-Encoding", "chunked")] if given is None else [])


@lru_cache(REMEMBERED_HEADS)
def _counted_head(request: HttpRequest, size: int) -> bytes:
    """Return a head with the right Content-Length, where one was or at the end."""
    # speed: 0.2 us, made anew 3 (python -m timeit)
    length = ("Content-Length", str(size))
    given = request.values(length[0])
    if [*given] == [length[1]] or not (size or request.has_body):
        return _request_head(request, [])
    if not given:
        return _request_head(request, [length])
    fields = [(n, length[1] if n.lower() == "content-length" else v) for n, v in request.headers]
    return _request_head(HttpRequest(request.method, request.target, fields), [])


def _request_head(request: HttpRequest, added: Headers) -> bytes:
    if not (_TOKEN.fullmatch(request.method) and _TARGET.fullmatch(request.target)):
        raise ValueError(f"invalid request line: {request.method!r} {request.target!r}")
    start = f"{request.method} {request.target} HTTP/1.1"
    return head_bytes(start, [*request.headers, *added])


class ResponseWriter:
    """One response as bytes: frames of an exchange in, what its client reads out.

    `ended` is how the exchange ended, once it has; `closing`, whether the connection must be closed
    behind it. `cors` are fields that every answer gets.
    """

    def __init__(
        self, method: str, *, closing: bool = False, cors: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.closing = closing
        self._cors = cors
        self.http_1_1 = True
        self._method = method
        self.begun = False
        self.ended: str | None = None
        self._body = BodyWriter("")
        self._mute = self._chunked = False
        self._left: int | None = None

    def write(self, frames: Sequence[Frame]) -> bytes:
        """Return the bytes of these frames. Raises ValueError where they cannot be sent."""
        frames = self._up_to_the_end(frames)
        if self.ended == "closed":
            for place, frame in enumerate(frames):
                if type(frame.fact) is HttpBody and frame.fact.unframed:
                    # A fault wants these bytes as they are. Nothing comes behind them but the end.
                    return self._write(frames[:place]) + frame.raw
        return self._write(frames)

    def _write(self, frames: Sequence[Frame]) -> bytes:
        if self.begun:
            return self._framed(self._body.write(frames))
        if not frames:
            return b""
        response = frames[0].fact
        if type(response) is not HttpResponse:
            return b""
        self._body = BodyWriter(response.media_type)
        data = self._body.write(frames[1:])
        head = self._begin(response, len(data))
        self.begun = True
        return head + self._framed(data)

    def anew(self) -> ResponseWriter:
        """Return a writer for another answer to the same request."""
        writer = ResponseWriter(self._method, closing=self.closing, cors=self._cors)
        writer.http_1_1 = self.http_1_1
        return writer

    def _up_to_the_end(self, frames: Sequence[Frame]) -> Sequence[Frame]:
        for place, frame in enumerate(frames, 1):
            if type(frame.fact) is ExchangeEnd:
                self.ended = frame.fact.how
                return frames[:place]
        return frames

    def _begin(self, response: HttpResponse, size: int) -> bytes:
        """Return the head; `size` bytes of the body are there, and all of them if it has ended."""
        added: Headers = []
        whole = self.ended == "eof"
        self._mute = self._method == "HEAD" or response.status in _BODILESS
        if self._mute:
            pass
        elif (length := response.header("content-length")) is not None:
            self._left = _number(length)
            if self._left is None or (whole and self._left != size):
                self.closing = True
        elif whole:
            added.append(("Content-Length", str(size)))
            self._left = size
        elif self.http_1_1:
            self._chunked = True
            added.append(("Transfer-Encoding", "chunked"))
        else:
            self.closing = True
        if self.closing:
            added.append(("Connection", "close"))
        return _response_head(response, (*self._cors,), (*added,))

    def _framed(self, data: bytes) -> bytes:
        last = self.ended == "eof"
        if self._mute:
            return b""
        if self._chunked:
            return chunk(data, last=last)
        if self._left is not None:
            self._left -= len(data)
            if last and self._left:
                self.closing = True  # the client would wait for the rest, or take it for the next
        return data


@lru_cache(REMEMBERED_HEADS)
def _response_head(
    response: HttpResponse,
    cors: Sequence[tuple[str, str]],
    added: Sequence[tuple[str, str]],
) -> bytes:
    # speed: 0.2 us, made anew 2 (python -m timeit)
    if not 200 <= response.status <= 999:
        raise ValueError(f"invalid status: {response.status}")
    headers = with_cors(end_to_end(response.headers), cors)
    return head_bytes(f"HTTP/1.1 {response.status} {response.reason}", [*headers, *added])
