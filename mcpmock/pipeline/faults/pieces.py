"""Messages as the bytes that carry them, whole or not, and what ends a stream. Used by the kinds.

Bytes are frames too: on stdio pieces of a line (`Fragment`), over HTTP of a body (`HttpBody`). So
what cuts a stream stands in the same row as everything else, is recorded as it crossed the wire,
and needs no second engine below the transports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus

from mcpmock.protocol.exchanges import EVENT_STREAM
from mcpmock.protocol.messages import (
    S2C,
    ExchangeEnd,
    Fragment,
    Frame,
    HttpBody,
    HttpResponse,
    ProcessExit,
    SseMeta,
    Stderr,
    StreamEnd,
)
from mcpmock.protocol.stage import Hangup, Send

from .fault import Act, Seen


def wire_of(seen: Seen) -> bytes:
    """The bytes of a message with what frames it, as far as it goes its own way: a line, a body in
    JSON, or an event.
    """
    frame = seen.frame
    if frame.exchange is None:
        return frame.raw + frame.eol
    if frame.wire is not None:
        return frame.wire
    return frame.raw if _is_body(seen) else _event(seen)


def pieces(seen: Seen, cuts: Iterable[int]) -> list[list[Frame]]:
    """The message cut at these places, in increasing order; the first piece has the heads."""
    data, places = wire_of(seen), [0, *cuts]
    ends = [*places[1:], len(data)]
    sliced = [
        _piece(seen, data[at:end], last=end == len(data))
        for at, end in zip(places, ends, strict=True)
    ]
    return [[*_heads(seen), sliced[0]], *([piece] for piece in sliced[1:])]


def broken_off(seen: Seen, data: bytes) -> Iterable[Act]:
    """These bytes in place of the message, and then the end of the stream."""
    piece = Frame(seen.direction, data, b"", Fragment(last=True))
    if seen.exchange is not None:
        piece = Frame(seen.direction, data, b"", HttpBody(), seen.exchange)
    yield Send([*_heads(seen), piece])
    yield from closing(seen, "closed")


def closing(seen: Seen, how: str, after: float = 0.0) -> Iterable[Act]:
    """The end of what carries the message: of the exchange, or of the session."""
    if seen.exchange is not None:
        yield Send([Frame(S2C, fact=ExchangeEnd(how), exchange=seen.exchange)], after)
        return
    yield Send([Frame(S2C, b"", b"", StreamEnd(how))], after)
    yield Hangup("a fault closed the stream", after)


def dying(code: int, signal: int | None, stderr: str | None) -> Iterable[Act]:
    """The server process ends."""
    if stderr is not None:
        yield Send([Frame(S2C, stderr.encode() + b"\n", b"", Stderr())])
    exit_ = ProcessExit(code) if signal is None else ProcessExit(signal=signal)
    yield Send([Frame(S2C, b"", b"", StreamEnd()), Frame(S2C, b"", b"", exit_)])
    yield Hangup("a fault ended the server")


def refusal(
    seen: Seen, status: int, fields: Mapping[str, str] | None = None, body: str | None = None
) -> list[Frame]:
    """A whole response to the request, with a body of plain text or none."""
    number, known = seen.exchange, {one.value: one.phrase for one in HTTPStatus}
    headers = list((fields or {}).items())
    if body is not None:
        headers.append(("Content-Type", "text/plain; charset=utf-8"))
    text = [] if body is None else [Frame(S2C, body.encode(), b"", HttpBody(), number)]
    head = HttpResponse(status, known.get(status, ""), headers)
    return [
        Frame(S2C, fact=head, exchange=number),
        *text,
        Frame(S2C, fact=ExchangeEnd(), exchange=number),
    ]


def with_type(head: Frame, content_type: str) -> Frame:
    """The head of a response that says another content type."""
    assert isinstance(head.fact, HttpResponse)
    headers = [
        (name, content_type if name.lower() == "content-type" else value)
        for name, value in head.fact.headers
    ]
    fact = HttpResponse(head.fact.status, head.fact.reason, headers)
    return Frame(head.direction, fact=fact, exchange=head.exchange)


def with_events(seen: Seen, metas: Sequence[SseMeta]) -> list[Frame]:
    """The message behind events that have no data, on an event stream."""
    unit = seen.followed_by()
    heads = [frame for frame in unit[:-1] if isinstance(frame.fact, HttpResponse)]
    # Only an empty event tells an event without data from the meta of the message behind it.
    events = [Frame(S2C, fact=meta, exchange=seen.exchange) for meta in (*metas, SseMeta())]
    return [*heads, *events, *unit[len(heads) :]]


def _heads(seen: Seen) -> list[Frame]:
    return [frame for frame in seen.heads() if isinstance(frame.fact, HttpResponse)]


def _piece(seen: Seen, data: bytes, *, last: bool) -> Frame:
    if seen.exchange is not None:
        return Frame(seen.direction, data, b"", HttpBody(), seen.exchange)
    eol = seen.frame.eol if last and data.endswith(seen.frame.eol) else b""
    return Frame(seen.direction, data.removesuffix(eol), eol, Fragment(last=last))


def _is_body(seen: Seen) -> bool:
    """Whether it is the whole of a body, and no event."""
    heads = [frame.fact for frame in seen.unit[:-1] if isinstance(frame.fact, HttpResponse)]
    return bool(heads) and heads[0].media_type != EVENT_STREAM


def _event(seen: Seen) -> bytes:
    """As an event stream has it."""
    metas = [frame.fact for frame in seen.unit[:-1] if isinstance(frame.fact, SseMeta)]
    fields = [b"%b: %b\n" % field for meta in metas for field in _fields(meta)]
    lines = [b"data: " + line + b"\n" for line in seen.frame.raw.split(b"\n")]
    return b"".join([*fields, *lines, b"\n"])


def _fields(meta: SseMeta) -> Iterable[tuple[bytes, bytes]]:
    for name in ("id", "event", "retry"):
        value = getattr(meta, name)
        if value is not None:
            yield name.encode(), str(value).encode()
