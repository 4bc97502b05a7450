"""A cassette recorded over HTTP as bare messages, for players on another transport.

Heads, ends of exchanges and whatever else HTTP adds are removed; which message answers which, when
and in which order is kept. `Event.x` stays on messages as a hint to which request a server message
belongs (`plan.builder`). `protocol.http_reply` reads the messages of an exchange; `sessions` calls
this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from mcpmock.cassette.model import Cassette, Event, Take, event_line
from mcpmock.protocol import edit
from mcpmock.protocol.http_reply import ReplyFlattener, flatten
from mcpmock.protocol.messages import C2S, ExchangeEnd, Frame
from mcpmock.protocol.transport_facts import NO_SESSION

from .join_resumed import resumed

SSE = "sse"
"""The transport, as takes name it, whose answers come on another exchange than they were asked."""
_event = msgspec.json.Decoder(Event)


def bare(cassette: Cassette, *, one_session: bool) -> Cassette:
    """The cassette with each take over HTTP as if it had come over stdio.

    `one_session`: the live client has one session for everything, so exchanges that belonged to
    none become part of each session of their take.
    """
    takes = [_bare_take(take, one_session=one_session) for take in cassette.takes]
    return msgspec.structs.replace(cassette, takes=takes)


def _bare_take(take: Take, *, one_session: bool) -> Take:
    if all(event.x is None for event in take.events):
        return take
    events = list(_messages(resumed(take.events), streams=take.transport != SSE))
    if one_session:
        events = list(_joined(events))
    header = msgspec.structs.replace(take.header, transport="stdio")
    return msgspec.structs.replace(take, header=header, events=events)


def _messages(events: Sequence[Event], *, streams: bool) -> Iterator[Event]:
    """The messages in all exchanges, and what belongs to none (standard error). `streams`: answers
    come on the exchange that asked.
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
        elif frame.direction is C2S:
            for raw in _said(frame, answers.get(event.x) if streams else None):
                yield _bare_event(event, frame, raw)
        else:
            answering = answers.setdefault(event.x, ReplyFlattener(None))
            for said in answering.hear(frame):
                yield _bare_event(event, frame, said.raw)


def _said(frame: Frame, answering: ReplyFlattener | None) -> list[bytes]:
    """What a client said with a frame. In the era without sessions it cancels by leaving."""
    if frame.fact is None:
        raw = flatten(frame.raw)
        return [raw] if raw.strip() else []
    if not isinstance(frame.fact, ExchangeEnd) or answering is None or not answering.modern:
        return []
    return [edit.cancelled(id_) for id_ in answering.open]


def _bare_event(event: Event, frame: Frame, raw: bytes) -> Event:
    """A message in the place of an event."""
    message = Frame(frame.direction, raw, exchange=event.x)
    line = event_line(event.n, event.t, message, session=event.s, redacted=event.redacted)
    return _event.decode(line)


def _joined(events: Sequence[Event]) -> Iterator[Event]:
    """What belonged to no session as part of each that there is; alone where there is none."""
    sessions = sorted({event.s for event in events} - {NO_SESSION})
    for event in events:
        if event.s != NO_SESSION or not sessions:
            yield event
        else:
            yield from (msgspec.structs.replace(event, s=session) for session in sessions)
