"""Messages as the bytes that carry them, whole or not, and what ends a stream. Used by the kinds.

Bytes are frames too: on stdio pieces of a line (`Fragment`), over HTTP of a body (`HttpBody`). So
what cuts a stream stands in the same row as everything else, is recorded as it crossed the wire,
and needs no second engine below the transports.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcpmock.pipeline.stage import Hangup, Send
from mcpmock.protocol import messages as m
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.transports.body import BodyWriter

from .fault import Act, MatchedMessage


def wire_bytes(matched: MatchedMessage) -> bytes:
    """Return the bytes of a message with what frames it, as far as it goes its own way: a line, a
    body in JSON, or an event (behind events without data that came with it).
    """
    frame = matched.frame
    if frame.exchange is None:
        return frame.raw + frame.eol
    if matched.direction is m.C2S:
        return frame.raw
    heads = [frame.fact for frame in matched.unit if isinstance(frame.fact, m.HttpResponse)]
    return BodyWriter(heads[0].media_type if heads else EVENT_STREAM).write(matched.unit)


def cut_message(matched: MatchedMessage, cuts: Iterable[int]) -> list[list[m.Frame]]:
    """Return the message cut at these places, in increasing order; the first piece has the
    heads.
    """
    data, places = wire_bytes(matched), [0, *cuts]
    ends = [*places[1:], len(data)]
    sliced = [
        _piece(matched, data[at:end], last=end == len(data))
        for at, end in zip(places, ends, strict=True)
    ]
    return [[*_heads(matched, data), sliced[0]], *([piece] for piece in sliced[1:])]


def break_off_stream(
    matched: MatchedMessage, data: bytes, *, how: str = "closed", after: float = 0.0
) -> Iterable[Act]:
    """Yield these bytes in place of the message, and then the end of the stream: of both its
    directions, where it is the request of an exchange that breaks off.
    """
    number = matched.exchange
    if number is not None and matched.direction is m.C2S:
        piece = m.Frame(m.C2S, data, b"", m.HttpBody(more=True, unframed=True), number)
        left = m.Frame(m.C2S, fact=m.ExchangeEnd(how), exchange=number)
        yield Send([*_heads(matched, data), piece, left], after)
    elif data:
        fact = m.Fragment(last=True) if number is None else m.HttpBody()
        yield Send([*_heads(matched), m.Frame(matched.direction, data, b"", fact, number)], after)
    yield from close_stream(matched, how, after)


def has_chunks(matched: MatchedMessage) -> bool:
    """Return whether the message comes in one."""
    return matched.exchange is not None and matched.direction is m.S2C


def cut_in_chunk(matched: MatchedMessage) -> Iterable[Act]:
    """Yield the beginning of the chunk that was to carry the message, up to the middle of its
    length; and the end of the connection.
    """
    size = b"%x" % len(wire_bytes(matched))
    piece = m.Frame(
        m.S2C, size[: max(1, len(size) - 1)], b"", m.HttpBody(unframed=True), matched.exchange
    )
    end = m.Frame(m.S2C, fact=m.ExchangeEnd("closed"), exchange=matched.exchange)
    yield Send([*_heads(matched), piece, end])


def close_stream(matched: MatchedMessage, how: str, after: float = 0.0) -> Iterable[Act]:
    """Yield the end of what carries the message: of the exchange, or of the session."""
    if matched.exchange is not None:
        yield Send([m.Frame(m.S2C, fact=m.ExchangeEnd(how), exchange=matched.exchange)], after)
        return
    yield Send([m.Frame(m.S2C, b"", b"", m.StreamEnd(how))], after)
    yield Hangup("a fault closed the stream", after)


def end_server(
    code: int, signal: int | None, stderr: str | None, *, transport: str = "stdio"
) -> Iterable[Act]:
    """End the server's process: over HTTP all that is open in the session ends, and the
    session is unknown afterwards.
    """
    if stderr is not None:
        yield Send([m.Frame(m.S2C, stderr.encode() + b"\n", b"", m.Stderr())])
    if transport != "stdio":
        yield Hangup("a fault ended the server")
        return
    exit_ = m.ProcessExit(code) if signal is None else m.ProcessExit(signal=signal)
    yield Send([m.Frame(m.S2C, b"", b"", m.StreamEnd()), m.Frame(m.S2C, b"", b"", exit_)])
    yield Hangup("a fault ended the server")


def with_events(matched: MatchedMessage, metas: Sequence[m.SseMeta]) -> list[m.Frame]:
    """Return the message behind events that have no data, on an event stream."""
    unit = matched.followed_by()
    heads = [frame for frame in unit[:-1] if isinstance(frame.fact, m.HttpResponse)]
    # Only an empty event tells an event without data from the meta of the message behind it.
    events = [
        m.Frame(m.S2C, fact=meta, exchange=matched.exchange) for meta in (*metas, m.SseMeta())
    ]
    return [*heads, *events, *unit[len(heads) :]]


def _heads(matched: MatchedMessage, data: bytes = b"") -> list[m.Frame]:
    """Give a request's heads a length that it can have sent in pieces, or not to its end."""
    if matched.direction is m.S2C:
        return [frame for frame in matched.heads() if isinstance(frame.fact, m.HttpResponse)]
    return [_counted(frame, max(len(data), len(matched.frame.raw))) for frame in matched.unit[:-1]]


def _counted(frame: m.Frame, size: int) -> m.Frame:
    head = frame.fact
    if not isinstance(head, m.HttpRequest):
        return frame
    left_out = ("content-length", "transfer-encoding")
    headers = [field for field in head.headers if field[0].lower() not in left_out]
    headers.append(("Content-Length", str(size)))
    return m.Frame(
        m.C2S, fact=m.HttpRequest(head.method, head.target, headers), exchange=frame.exchange
    )


def _piece(matched: MatchedMessage, data: bytes, *, last: bool) -> m.Frame:
    if matched.exchange is not None and matched.direction is m.C2S:
        return m.Frame(m.C2S, data, b"", m.Fragment(last=last), matched.exchange)
    if matched.exchange is not None:
        return m.Frame(matched.direction, data, b"", m.HttpBody(), matched.exchange)
    eol = matched.frame.eol if data.endswith(matched.frame.eol) else b""
    return m.Frame(matched.direction, data.removesuffix(eol), eol, m.Fragment(last=last))
