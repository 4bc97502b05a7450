"""The body of one HTTP message: its bytes to frames and back.

What a body becomes is said by its head: JSON is one message, an event stream is many, anything else
is bytes that pass. A message longer than a piece is not held: it goes on in pieces (`Fragment`), as
long lines do. What is in an encoded body is decoded, and leaves as the bytes that came
(`content_coding`). `channels/` stands above and owns the connection; transfer coding is gone before
the bytes come here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Direction,
    ExchangeEnd,
    Fact,
    Fragment,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    SseMeta,
)

from .content_coding import ContentDecoder, ContentEncoder, can_decode, codings_of
from .sse import KEPT_BYTES, Excerpt, SseDecoder, encode_event

PIECE_BYTES = 1 << 20
"""The longest message that is held until it is whole, and the longest piece of longer ones."""
MAX_DECODED_BYTES = 64 << 20
"""How much one message of an encoded body may be decoded to, and what an event stream holds up to
the end of an event.
"""
_CARRIED = (type(None), Fragment, HttpBody)


class BodyReader(ABC):
    """The bytes of one body in, frames out."""

    @classmethod
    def of_request(cls, exchange: int, head: HttpRequest, *, mcp: bool) -> BodyReader:
        """Return a reader of a body to the server: exactly one body comes out, be it of zero bytes,
        unless the head has none.
        """
        form = _MESSAGE if mcp else _OTHER
        body = _OneBody(C2S, exchange, form, wanted=head.has_body)
        codings = codings_of(head) if mcp else ()
        return _Encoded(body, codings, C2S, exchange) if codings else body

    @classmethod
    def of_response(cls, exchange: int, head: HttpResponse, *, mcp: bool) -> BodyReader:
        """Return a reader of a body to the client, of which an empty one is nothing."""
        if not mcp:
            return _Bytes(S2C, exchange, kept=0)
        body: BodyReader
        media_type = head.media_type
        if media_type == "application/json" or media_type.endswith("+json"):
            body = _OneBody(S2C, exchange, _MESSAGE, wanted=False)
        elif media_type == EVENT_STREAM:
            body = _Events(S2C, exchange)
        else:
            body = _Bytes(S2C, exchange)
        codings = codings_of(head)
        return _Encoded(body, codings, S2C, exchange) if codings else body

    @abstractmethod
    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that `data` completes, in order."""

    @abstractmethod
    def end(self) -> list[Frame]:
        """End the body: what was held."""

    @abstractmethod
    def cut(self) -> list[Frame]:
        """Return the connection died in the middle of the body: what was held, as HttpBody."""


class _Form(NamedTuple):
    """The frame of a body that is one thing: whole, or in pieces."""

    whole: Fact | None
    piece: Fact
    last: Fact
    kept: int
    """How much is recorded of one that is cut short."""


_MESSAGE = _Form(None, Fragment(), Fragment(last=True), KEPT_BYTES)
_OTHER = _Form(HttpBody(unkept=True), HttpBody(unkept=True, more=True), HttpBody(unkept=True), 0)


class _OneBody(BodyReader):
    """A body that is one message, or one of a request that is not MCP's. `wanted`: also if it
    has no bytes.
    """

    def __init__(self, direction: Direction, exchange: int, form: _Form, *, wanted: bool) -> None:
        self._direction = direction
        self._exchange = exchange
        self._form = form
        self._wanted = wanted
        self._rest: list[bytes] = []
        self._held = 0
        self._in_pieces = False

    def feed(self, data: bytes) -> list[Frame]:
        self._rest.append(data)
        self._held += len(data)
        if not self._in_pieces and self._held <= PIECE_BYTES:
            return []
        self._in_pieces = True
        held = self._take()
        cuts = range(0, len(held), PIECE_BYTES)
        return [self._frame(held[at : at + PIECE_BYTES], b"", self._form.piece) for at in cuts]

    def end(self) -> list[Frame]:
        if self._in_pieces:
            return [self._frame(b"", b"\n", self._form.last)]
        if not self._held and not self._wanted:
            return []
        return [self._frame(self._take(), b"\n", self._form.whole)]

    def cut(self) -> list[Frame]:
        return Excerpt(self._direction, self._exchange, self._form.kept).take(self._take())

    def _take(self) -> bytes:
        held = bytes(self._rest[0]) if len(self._rest) == 1 else b"".join(self._rest)
        self._rest, self._held = [], 0
        return held

    def _frame(self, raw: bytes, eol: bytes, fact: Fact | None) -> Frame:
        return Frame(self._direction, raw, eol, fact, self._exchange)


class _Events(BodyReader):
    """An event stream."""

    def __init__(self, direction: Direction, exchange: int) -> None:
        self._decoder = SseDecoder(direction, exchange)

    def feed(self, data: bytes) -> list[Frame]:
        return self._decoder.feed(bytes(data))

    def end(self) -> list[Frame]:
        return self._decoder.end()

    def cut(self) -> list[Frame]:
        return self._decoder.end()


class _Bytes(BodyReader):
    """A body that is not MCP: passed on as it comes."""

    def __init__(self, direction: Direction, exchange: int, kept: int = KEPT_BYTES) -> None:
        self._excerpt = Excerpt(direction, exchange, kept)

    def feed(self, data: bytes) -> list[Frame]:
        return self._excerpt.take(bytes(data))

    def end(self) -> list[Frame]:
        return []

    def cut(self) -> list[Frame]:
        return []


class _Encoded(BodyReader):
    """A body behind content codings. Of the frames that one read completes, the last has its bytes
    and those that were held before as `wire`. What cannot be decoded only passes.
    """

    def __init__(
        self, inner: BodyReader, codings: Sequence[str], direction: Direction, exchange: int
    ) -> None:
        self._inner = inner
        self._name = ", ".join(codings)
        self._decoder = ContentDecoder(codings) if can_decode(codings) else None
        self._direction = direction
        self._exchange = exchange
        self._held: list[bytes] = []
        self._max_bytes = KEPT_BYTES if isinstance(inner, _Bytes) else MAX_DECODED_BYTES
        self._since_message = 0
        self._lost = False

    def feed(self, data: bytes) -> list[Frame]:
        self._held.append(bytes(data))
        if self._lost:
            return self._passing(more=True)
        frames: list[Frame] = []
        try:
            if self._decoder is None:
                raise ValueError
            for piece in self._decoder.feed(bytes(data)):
                frames += self._inner.feed(piece)
                whole = frames and type(frames[-1].fact) in (type(None), SseMeta)
                self._since_message = len(piece) + (0 if whole else self._since_message)
                if self._since_message > self._max_bytes:
                    raise ValueError
        except ValueError:
            return self._marked(frames + self._inner.cut()) + self._give_up()
        return self._carried(frames)

    def end(self) -> list[Frame]:
        if self._lost:
            return self._passing(more=False) if self._direction is C2S else []
        frames = self._carried(self._inner.end())
        # Events are read as they come: nothing is missing where the stream ends behind one.
        is_read = isinstance(self._inner, _Events) and not frames
        if self._decoder is not None and self._decoder.is_cut and not is_read:
            return [*frames, self._undecoded(f"{self._name}, which is cut short", more=False)]
        return frames + (self._passing(more=False) if self._held else [])

    def cut(self) -> list[Frame]:
        return [] if self._lost else self._marked(self._inner.cut())

    def _give_up(self) -> list[Frame]:
        self._lost = True
        if isinstance(self._inner, _Bytes) and self._since_message > self._max_bytes:
            return self._passing(more=True)  # as much is recorded as of any body
        return [self._undecoded(self._name, more=self._direction is C2S)]

    def _undecoded(self, codings: str, *, more: bool) -> Frame:
        """Return a frame with what is held that says that no recording has it."""
        fact = HttpBody(undecoded=codings, more=more)
        return Frame(self._direction, self._take(), fact=fact, exchange=self._exchange)

    def _passing(self, *, more: bool) -> list[Frame]:
        """Return what is held, as bytes that no recording needs."""
        fact = HttpBody(unkept=True, more=more and self._direction is C2S)
        return [Frame(self._direction, self._take(), fact=fact, exchange=self._exchange)]

    def _carried(self, frames: list[Frame]) -> list[Frame]:
        """Return these frames with all that is held."""
        if frames:
            self._marked(frames)[-1].wire = self._take()
        return frames

    def _marked(self, frames: list[Frame]) -> list[Frame]:
        for frame in frames:
            frame.wire, frame.decoded = b"", self._name
        return frames

    def _take(self) -> bytes:
        held, self._held = b"".join(self._held), []
        return held


def _encoder_for(frames: Sequence[Frame]) -> ContentEncoder | None:
    for frame in frames:
        if frame.decoded is not None and frame.wire is None:
            return ContentEncoder(frame.decoded.split(", "))
    return None


class BodyWriter:
    """Frames in, the bytes of one body out. Heads and ends have no bytes here, but an end lets go
    of an SseMeta that waits for its message.
    """

    def __init__(self, media_type: str) -> None:
        self._events = media_type == EVENT_STREAM
        self._encoder: ContentEncoder | None = None
        self._meta: SseMeta | None = None  # its message, if it has one, is the very next frame
        self._eol = b"\n"
        self._in_pieces = False

    def write(self, frames: Sequence[Frame]) -> bytes:
        """Return the bytes of these frames. Where the first of an encoded body are not as they
        came, all of it is encoded anew.
        """
        if self._encoder is None:
            self._encoder = _encoder_for(frames)
        if self._encoder is None:
            return self._plain(frames)
        for frame in frames:
            frame.wire = None
        last = any(type(frame.fact) is ExchangeEnd for frame in frames)
        return self._encoder.encode(self._plain(frames), last=last)

    def _plain(self, frames: Sequence[Frame]) -> bytes:
        if self._events:
            return b"".join([self._event(frame) for frame in frames])
        return b"".join([one.carried for one in frames if isinstance(one.fact, _CARRIED)])

    def _event(self, frame: Frame) -> bytes:
        match frame.fact:
            case None:
                return self._message(frame)
            case SseMeta() as meta:
                before = self._lone_meta()
                if frame.wire is not None:
                    return before + frame.wire
                self._meta = meta
                return before
            case Fragment(last):
                return self._piece(frame.raw, last=last)
            case HttpBody():
                return self._lone_meta() + frame.carried
            case _:
                return self._lone_meta()

    def _message(self, frame: Frame) -> bytes:
        meta, self._meta = self._meta, None
        self._eol = b"\r\n" if frame.eol == b"\r\n" else b"\n"
        if frame.wire is not None:
            return frame.wire
        return encode_event(meta, frame.raw, self._eol)

    def _lone_meta(self) -> bytes:
        """Return the SseMeta that waited for a message, now that none came."""
        meta, self._meta = self._meta, None
        return b"" if meta is None else encode_event(meta, None, self._eol)

    def _piece(self, raw: bytes, *, last: bool) -> bytes:
        """Write a message that comes in pieces, a long line of stdio, as one event, as it comes."""
        begin = b"" if self._in_pieces else self._begin_pieces()
        text = raw.replace(b"\r", b"\n").replace(b"\n", self._eol + b"data: ")
        self._in_pieces = not last
        return begin + text + (self._eol * 2 if last else b"")

    def _begin_pieces(self) -> bytes:
        meta, self._meta = self._meta, None
        fields = b"" if meta is None else encode_event(meta, None, self._eol)
        return fields.removesuffix(self._eol) + b"data: "
