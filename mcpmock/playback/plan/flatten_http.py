"""A cassette recorded over HTTP as bare messages, for players on another transport.

Heads, ends of exchanges and everything else that HTTP adds are removed; times, order and the
relation of answers to requests stay. `Event.x` stays on messages as a hint to which request a
server message belongs (`plan.builder`). `protocol.http_reply` reads the messages of an exchange;
`sessions` calls this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from mcpmock.cassette.model import Cassette, Event, Take, event_line
from mcpmock.protocol import edit
from mcpmock.protocol.http_reply import EVENT_STREAM, ReplyFlattener, flatten
from mcpmock.protocol.messages import C2S, ExchangeEnd, Frame
from mcpmock.protocol.transport_facts import LAST_EVENT_ID_HEADER, NO_SESSION, HttpRequest

from .join_resumed import resumed

SSE = "sse"
"""HTTP+SSE as takes name it: answers come on the event stream, not on the exchange of the request.
"""
_event = msgspec.json.Decoder(Event)


def bare(cassette: Cassette, *, one_session: bool) -> Cassette:
    """Return the cassette with each HTTP take as if it had been recorded over stdio.

    `one_session`: the live client has a single session, so exchanges without a session become part
    of each session of their take.
    """
    takes = [bare_take(take, one_session=one_session) for take in cassette.takes]
    return msgspec.structs.replace(cassette, takes=takes)


def bare_take(take: Take, *, one_session: bool, keep_streams: bool = False) -> Take:
    """Return one take of `bare`. `keep_streams`: the head of each GET that opens a stream stays."""
    if all(event.x is None for event in take.events):
        return take
    streams = take.transport != SSE
    kept = streams and keep_streams
    events = list(_flatten_exchanges(resumed(take.events), streams=streams, keep_streams=kept))
    if one_session:
        events = list(_join_sessions(events))
    header = msgspec.structs.replace(take.header, transport="stdio")
    return msgspec.structs.replace(take, header=header, events=events)


def _flatten_exchanges(
    events: Sequence[Event], *, streams: bool, keep_streams: bool
) -> Iterator[Event]:
    """Yield the messages in all exchanges, and standard error, which belongs to none. `streams`:
    answers come on the exchange of their request.
    """
    answers = {
        event.x: ReplyFlattener(event.payload)
        for event in events
        if event.d == "c2s" and event.payload is not None
    }
    for event in events:
        frame = event.frame
        if frame is None or event.x is None:
            yield from [] if event.d is not None else [event]
        elif keep_streams and _opens_stream(frame):
            yield msgspec.structs.replace(event, x=None)
        elif frame.direction is C2S:
            for raw in _read_client_messages(frame, answers.get(event.x) if streams else None):
                yield _bare_event(event, frame, raw)
        else:
            flattener = answers.setdefault(event.x, ReplyFlattener(None))
            for message in flattener.feed(frame):
                yield _bare_event(event, frame, message.raw)


def _opens_stream(frame: Frame) -> bool:
    """Return whether this head asks for the standalone stream, and resumes none."""
    head = frame.fact
    return (
        isinstance(head, HttpRequest)
        and head.method == "GET"
        and EVENT_STREAM in (head.header("accept") or "")
        and head.header(LAST_EVENT_ID_HEADER) is None
    )


def _read_client_messages(frame: Frame, flattener: ReplyFlattener | None) -> list[bytes]:
    """Return the messages in a client frame, and the cancels that the end of an exchange stands
    for.
    """
    if frame.fact is None:
        raw = flatten(frame.raw)
        return [raw] if raw.strip() else []
    # Revision 2026-07-28 (modern): a client cancels a call by closing its response stream.
    if not isinstance(frame.fact, ExchangeEnd) or flattener is None or not flattener.modern:
        return []
    return [edit.cancelled(id_) for id_ in flattener.open]


def _bare_event(event: Event, frame: Frame, raw: bytes) -> Event:
    """Return a message in the place of an event."""
    message = Frame(frame.direction, raw, exchange=event.x)
    line = event_line(event.n, event.t, message, session=event.s, redacted=event.redacted)
    return _event.decode(line)


def _join_sessions(events: Sequence[Event]) -> Iterator[Event]:
    """Return events without a session, repeated for each session; unchanged where there is no
    session.
    """
    sessions = sorted({event.s for event in events} - {NO_SESSION})
    for event in events:
        if event.s != NO_SESSION or not sessions:
            yield event
        else:
            yield from (msgspec.structs.replace(event, s=session) for session in sessions)
