"""The events of an episode as steps: one message of the client, or one of the server.

Over stdio an event is a step. Over HTTP a request step is a head and its body, however far apart
they were recorded, and a server-sent event is its fields and its data; an event stream that its
client lost and resumed is one stream. `bare_take` makes bare messages of a cassette that was
recorded over HTTP, for players on another transport. `plan.builder` plans steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET, Struct, field

from mcpmock.cassette import FORMAT
from mcpmock.cassette.model import (
    Cassette,
    Episode,
    Event,
    Header,
    Take,
    event_line,
    has_exchanges,
)
from mcpmock.playback.header_profile import LAST_EVENT
from mcpmock.protocol import edit
from mcpmock.protocol.http_reply import EVENT_STREAM, ReplyFlattener, flatten
from mcpmock.protocol.messages import C2S, ExchangeEnd, Frame, Request, parse
from mcpmock.protocol.transport_facts import (
    LAST_EVENT_ID_HEADER,
    NO_SESSION,
    HttpRequest,
    HttpResponse,
)

_OK = 200
_StreamExchange = int
"""The first exchange of an event stream."""


def resumed(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events with each stream on its first exchange and no event sent twice on it, nor
    one of another stream of the session that comes again where this one is resumed. The moment at
    which the client left does not move.
    """
    if not has_exchanges(events):
        return events
    events = _without_torn_down_ends(events)
    continuations = _Continuations()
    for event in events:
        if event.s != NO_SESSION:  # resuming needs a session
            continuations.note(event)
    return list(continuations.joined(events)) if continuations.chains else events


def _without_torn_down_ends(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events without the ends of responses whose client had left before."""
    # The recorder closes its connection to the server when the client leaves. What it then reads
    # there, mostly a reset and mostly nothing at all, is its own doing and not the server's.
    left: set[int] = set()
    kept = []
    for event in events:
        if event.end is not UNSET and event.x is not None:
            if event.d == "c2s":
                left.add(event.x)
            elif event.x in left:
                continue
        kept.append(event)
    return kept if len(kept) < len(events) else events


class _Continuations(Struct, eq=False):
    """Which exchanges continue which."""

    continues: dict[int, _StreamExchange] = field(default_factory=dict)
    """By the exchange of the GET, the stream that it continues."""
    chains: dict[int, _StreamExchange] = field(default_factory=dict)
    """By the exchange of a GET, the stream that it resumes, be that one that the server ended."""
    _resumes: dict[int, tuple[int, str]] = field(default_factory=dict)
    """By the exchange of a GET, the session and the last event that it names."""
    _owners: dict[tuple[int, str], _StreamExchange] = field(default_factory=dict)
    """The streams that go on behind an event, by its session and id."""
    _ended: set[_StreamExchange] = field(default_factory=set)
    """The streams whose response the server ended."""

    def note(self, event: Event) -> None:
        x = event.x or 0
        fact = None if event.http is UNSET else event.frame and event.frame.fact
        if isinstance(fact, HttpRequest):
            named = event.s, fact.header(LAST_EVENT) or ""
            if named in self._owners:
                self._resumes[x] = named
        elif isinstance(fact, HttpResponse):
            if x in self._resumes and fact.status == _OK and fact.media_type == EVENT_STREAM:
                stream = self._owners[self._resumes[x]]
                self.chains[x] = self.chains.get(stream, stream)
                if stream in self._ended:
                    # What the client polled for comes here, and it may lose this one too.
                    self._owners[self._resumes[x]] = x
                else:
                    self.continues[x] = stream
        elif event.sse is not UNSET and event.sse.id:
            self._owners[event.s, event.sse.id] = self.continues.get(x, x)
        elif event.end is not UNSET and event.d == "s2c":
            self._ended.add(self.continues.get(x, x))

    def joined(self, events: Sequence[Event]) -> Iterator[Event]:
        last = {stream: x for x, stream in self.continues.items()}
        resumed_chains = set(self.chains.values())
        sent: set[tuple[_StreamExchange, str]] = set()
        # The TypeScript SDK's example store sends the events of all streams where one is resumed,
        # what is still on its way on another one too.
        stored = _stored_events(events)
        told = {event for place, event in stored.items() if events[place].x not in self.chains}
        again: set[int] = set()
        """The exchanges on which an event comes that was sent before."""
        for place, event in enumerate(events):
            x = event.x
            if x in self.chains and place in stored:
                again |= {x} if stored[place] in told else set()
                told.add(stored[place])
            if x is None or (chain := self.chains.get(x, x)) not in resumed_chains:
                yield event
                continue
            stream = self.continues.get(x, x)
            if event.sse is not UNSET and event.sse.id:
                known = chain, event.sse.id
                again |= {x} if known in sent else set()
                sent.add(known)
            is_over = event.end is not UNSET and event.d == "s2c" and x != last.get(stream, x)
            if not (is_over or x in again or (x != stream and event.http is not UNSET)):
                yield event if x == stream else msgspec.structs.replace(event, x=stream)
            if is_message(event):
                again.discard(x)


def _stored_events(events: Sequence[Event]) -> dict[int, tuple[int, str, bytes | None]]:
    """Return session, id and data of each server-sent event with an id, by its place."""
    found: dict[int, tuple[int, str, bytes | None]] = {}
    waiting: dict[int | None, int] = {}
    for place, event in enumerate(events):
        if event.sse is not UNSET and event.sse.id:
            waiting[event.x] = place
            found[place] = event.s, event.sse.id, None
        elif event.d == "s2c" and event.x in waiting:
            at = waiting.pop(event.x)
            found[at] = (*found[at][:2], event.payload)
    return found


class EpisodeStep(NamedTuple):
    """`place` is the index of its event in the episode: that of the body or the data where there
    are two.
    """

    place: int
    event: Event
    frame: Frame
    head: HttpRequest | None = None
    """The head of the request whose body `frame` is."""
    meta: Frame | None = None
    """What the server-sent event carried besides its data, which `frame` is."""


def steps(events: Sequence[Event]) -> Iterator[EpisodeStep]:
    """Yield the steps in the order they happened. A request whose body was recorded after the
    answer stands ahead of the answer: a server that answers has read enough of the request.
    """
    parts = _StepParts.of(events)
    waiting: dict[int, HttpRequest] = {}
    for index, event in enumerate(events):
        if event.x is not None and event.d == "s2c" and event.x in waiting:
            yield _request(events, parts.bodies[event.x], waiting.pop(event.x))
        frame = None if index in parts.taken else event.frame
        if frame is None:
            if event.x in waiting and parts.bodies.get(event.x) == index:
                yield _request(events, index, waiting.pop(event.x))
        elif isinstance(frame.fact, HttpRequest) and event.x in parts.bodies:
            waiting[event.x] = frame.fact
        elif isinstance(frame.fact, HttpRequest):
            yield EpisodeStep(index, event, frame, frame.fact)
        else:
            meta = parts.metas.get(index)
            yield EpisodeStep(
                index, event, frame, None, None if meta is None else events[meta].frame
            )


def merged(episodes: Iterable[Episode]) -> Episode:
    """Return episodes one after the other as one, for exchanges that belong to no session.
    Exchanges and sessions are renumbered where two would be the same; process ends are left out.
    """
    events: list[Event] = []
    last_x = last_t = 0
    parts: list[tuple[int, Episode]] = []
    take: Take | None = None
    for session, episode in enumerate(episodes, 2):
        take = take or episode.take
        parts.append((len(events), episode))
        base_x, base_t = last_x, last_t - episode.events[0].t
        for event in episode.events:
            if event.x is None and event.end is not UNSET:
                continue
            x = None if event.x is None else event.x + base_x
            s = session if event.x is None else event.s
            last_x, last_t = max(last_x, x or 0), base_t + event.t
            events.append(msgspec.structs.replace(event, x=x, s=s, t=last_t))
    take = take or Take(header=Header(mcpmock=FORMAT), events=[])
    return Episode(take=take, events=events, parts=parts)


def _request(events: Sequence[Event], index: int, head: HttpRequest) -> EpisodeStep:
    event = events[index]
    frame = event.frame
    assert frame is not None
    return EpisodeStep(index, event, frame, head)


class _StepParts(Struct, eq=False):
    """Which events belong together: `bodies` by exchange, `metas` by the index of the data."""

    bodies: dict[int, int] = field(default_factory=dict)
    metas: dict[int, int] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)
    """The events that are part of the step of another one."""

    @classmethod
    def of(cls, events: Sequence[Event]) -> _StepParts:
        parts = cls()
        heads: set[int] = set()
        last: dict[int, int] = {}
        for index, event in enumerate(events):
            if event.x is None:
                continue
            if event.d == "c2s":
                if event.http is not UNSET:
                    heads.add(event.x)
                elif event.x in heads and is_message(event):
                    parts.bodies.setdefault(event.x, index)
                    parts.taken.add(index)
            elif event.sse is not UNSET:
                last[event.x] = index
            else:
                meta = last.pop(event.x, None)
                if meta is not None and is_message(event):
                    parts.metas[index] = meta
                    parts.taken.add(meta)
        return parts


def is_message(event: Event) -> bool:
    """Return whether the event is a message, well-formed or not."""
    return event.m is not UNSET or event.text is not UNSET or event.b64 is not UNSET


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
    if not has_exchanges(take.events):
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
    """Yield messages and standard error. `streams`: answers come on their request's exchange."""
    answers = {
        event.x: ReplyFlattener(event.payload)
        for event in events
        if event.d == "c2s" and event.payload is not None
    }
    repeated = _repeated_exchanges(events)
    for event in events:
        if event.x in repeated:
            continue
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


def _repeated_exchanges(events: Sequence[Event]) -> set[int]:
    """Return the exchanges that were answered with a redirect which the client followed. RFC 9110,
    15.4.8: the same request is sent again, so it is one request.
    """
    from mcpmock.transports.headers import path_and_query  # recordings over pipes need it not

    bodies = {e.x: e.payload for e in events if e.d == "c2s" and e.payload is not None}
    repeated: set[int] = set()
    heads: dict[int, HttpRequest] = {}
    awaited: dict[tuple[str, str, bytes | None], list[int]] = {}
    """Redirected exchanges by method, path and body of the request that follows."""
    for event in events:
        if event.http is UNSET or event.x is None or (frame := event.frame) is None:
            continue
        if isinstance(frame.fact, HttpRequest):
            head = heads[event.x] = frame.fact
            if waiting := awaited.get((head.method, head.path, bodies.get(event.x))):
                repeated.add(waiting.pop(0))
        elif isinstance(frame.fact, HttpResponse) and frame.fact.repeats_request:
            asked, location = heads.get(event.x), frame.fact.header("location")
            if asked is not None and location:
                path = path_and_query(location, asked.target).partition("?")[0]
                awaited.setdefault((asked.method, path, bodies.get(event.x)), []).append(event.x)
    return repeated


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
    """Return the messages, and the cancels that the end of an exchange stands for."""
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
    """Repeat an event without a session for each session, if there is any. Each began with a probe
    of its own, so of equal probes each gets only one.
    """
    sessions = sorted({event.s for event in events} - {NO_SESSION})
    equal = _equal_probes(events) if len(sessions) > 1 else set()
    for event in events:
        if event.s != NO_SESSION or not sessions:
            yield event
        elif event.x not in equal:
            yield from (msgspec.structs.replace(event, s=session) for session in sessions)


def _equal_probes(events: Sequence[Event]) -> set[int]:
    """Return the exchanges without a session that ask what the server is, as one before them did,
    and got the same answer.
    """
    said: dict[int, list[tuple[str | None, bytes | None]]] = {}
    for event in events:
        if event.s == NO_SESSION and event.x is not None:
            said.setdefault(event.x, []).append((event.d, event.payload))
    first: dict[tuple[tuple[str | None, bytes | None], ...], int] = {}
    return {
        x
        for x, messages in said.items()
        if first.setdefault(tuple(messages), x) != x and _is_probe(messages[0][1])
    }


def _is_probe(raw: bytes | None) -> bool:
    message = parse(raw or b"")
    return isinstance(message, Request) and message.method == "server/discover"
