"""A cassette as rows: each event with the request it belongs to, its latency, and remarks.

Pure: events in, `Row`s out. `protocol.correlation` knows which response answers which request,
`summary` writes the one-line texts, `filter` and `exchange` select rows, the command line prints
them. The members of a batch are rows of their own.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, overload

import attrs
import msgspec
from msgspec import UNSET

from mcpmock.cassette.model import Cassette, Event, Gap, Take, has_exchanges, names_endpoint
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import (
    CANCELLED,
    PROGRESS,
    Attribution,
    Correlation,
    PendingCall,
    id_space,
)
from mcpmock.protocol.raw_json import elements
from mcpmock.protocol.transport_facts import NO_SESSION, REPEATING_STATUSES

from .summary import MAX_SUMMARY_CHARS, event_summary, message_summary

FACTS = ("stderr", "end", "http", "sse", "body", "fault", "auth", "gap")
KINDS = ("request", "response", "error", "notification", "opaque", *FACTS)
_OUTCOMES = ("", "answered", "cancelled")
_ANSWERED, _CANCELLED = 1, 2
_MAX_TIME_US = (1 << 63) - 1
"""The largest number in an array. A file that was edited may name a time beyond it."""
PROBE = "server/discover"
REFUSED = "refused"
"""The note on a probe that an older server refuses, and on its answer. That is how a client finds
out which handshake the server knows, and no error (2026-07-28, basic/versioning).
"""


class LeftOut(Gap):
    """Events that the cassette has and this timeline has not, for a reader who is behind."""


# A Struct, because one is made for every event: 0.5 us, where a frozen attrs class takes 2.6.
class Row(msgspec.Struct, kw_only=True, frozen=True, gc=False):
    """An event, or one message of a batch, with what is known about it."""

    take: int
    """Which take of the cassette, from 1."""
    place: int
    """Its index among all rows of the cassette."""
    event: Event
    kind: str
    """One of KINDS. `error` is an error response, or a tool result with `isError`."""
    message: m.Message | None = None
    """None for a fact."""
    size: int = 0
    """The bytes of the message, also of one whose head alone was kept."""
    direction: m.Direction | None = None
    method: str | None = None
    """Its method; for a response, the method of its request."""
    id: str | None = None
    """The id as written in the JSON."""
    tool: str | None = None
    """The tool of the call that the message belongs to."""
    latency: int | None = None
    """Microseconds from a request to its response, or from head to head."""
    status: int | None = None
    """The response status of its HTTP exchange."""
    call: int | None = None
    """The row index of the request that it is, answers, reports progress on or cancels."""
    asked: str | None = None
    """The method of that request."""
    within: int | None = None
    """The row index of the client request during which the server sent this."""
    item: int | None = None
    """Its index in a batch."""
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """What it is about, on one short line. Made anew each time: not every reader wants it."""
        return self.summarize(MAX_SUMMARY_CHARS)

    def summarize(self, limit: int | None) -> str:
        """Return what it is about, on one line of at most so many characters; None for all."""
        if self.message is None:
            return event_summary(self.event, limit)
        shown = self.event.payload if self.message == m.OPAQUE else None
        return message_summary(self.message, shown or b"", self.method, limit)

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("response", self.kind) if self.kind == "error" else (self.kind,)

    @property
    def id_forms(self) -> tuple[str, ...]:
        """Its id as written; a string also without its quotes."""
        if self.id is None:
            return ()
        value = m.decode(self.id.encode())
        return (self.id, value) if isinstance(value, str) else (self.id,)


def timeline(cassette: Cassette) -> Timeline:
    """Return all events of all takes, in the order of the file."""
    takes: list[_TakeRows] = []
    for number, take in enumerate(cassette.takes, 1):
        first = takes[-1].end if takes else 0
        takes.append(_TakeRows(TakeAnnotator.of(take, number, first)))
    return Timeline(takes)


@attrs.define(eq=False)
class _TakeRows:
    """What is known about the rows of a take besides their events."""

    annotator: TakeAnnotator
    _events: array[int] = attrs.field(factory=lambda: array("q"))
    """The event of each row, by its place in the take."""
    _calls: array[int] = attrs.field(factory=lambda: array("q"))
    _within: array[int] = attrs.field(factory=lambda: array("q"))
    _words: list[_RowWords] = attrs.field(factory=list)
    _others: dict[int, tuple[int | None, int, int | None]] = attrs.field(factory=dict)
    """Item, size and latency of a row that is not a plain message."""

    def __attrs_post_init__(self) -> None:
        # speed: 2 us a row, of which most have no within and are no facts (tools/growth.py)
        events, calls, within, words = self._events, self._calls, self._within, self._words
        known: dict[_RowWords, _RowWords] = {}  # there are few, and many rows
        for place, event in enumerate(self.annotator.take.events):
            for row in self.annotator.add(event):
                if row.item is not None or row.message is None or event.oversize is not None:
                    self._others[len(events)] = row.item, row.size, row.latency
                events.append(place)
                calls.append(_NONE if row.call is None else row.call)
                within.append(_NONE if row.within is None else row.within)
                about = row.kind, row.method, row.tool, row.asked, row.notes
                words.append(known.setdefault(about, about))

    @property
    def end(self) -> int:
        """The index behind its last row."""
        return self.annotator.offset + len(self._events)

    def rows(self, places: Iterable[int]) -> Iterator[Row]:
        """Yield the rows of these places, in order."""
        offset, events, at = self.annotator.offset, iter(self.annotator.take.events), -1
        event: Event | None = None
        messages: Sequence[m.Message] = ()
        for place in places:
            index = place - offset
            while at < self._events[index]:
                event, at, messages = next(events), at + 1, ()
            assert event is not None, "places are in order"
            messages = messages or self._messages(index, event)
            yield self._row(index, place, event, messages)

    def row(self, place: int) -> Row:
        index = place - self.annotator.offset
        event = self.annotator.take.events[self._events[index]]
        return self._row(index, place, event, self._messages(index, event))

    def _messages(self, index: int, event: Event) -> Sequence[m.Message]:
        """Return the message of an event, or all those of a batch."""
        payload = event.payload
        if payload is None:
            return ()
        in_batch = index in self._others and self._others[index][0] is not None
        return m.parse_items(payload) if in_batch else (m.parse(payload),)

    def _row(self, index: int, place: int, event: Event, messages: Sequence[m.Message]) -> Row:
        kind, method, tool, asked, notes = self._words[index]
        annotator, call, within = self.annotator, self._calls[index], self._within[index]
        status = outcome = None
        if event.x is not None or kind == "request":
            status, outcome = annotator.ending(place, event, kind, method)
        if index in self._others:
            item, size, latency = self._others[index]
        else:
            item, size = None, len(event.m if event.m is not UNSET else event.payload or b"")
            answers = call != _NONE and type(messages[0]) is m.Response
            latency = annotator.latency(event, call) if answers else None
        message = messages[item or 0] if messages else None
        id_ = getattr(message, "id", None)
        return Row(
            take=annotator.number,
            place=place,
            event=event,
            kind=kind,
            message=message,
            size=size,
            direction=_direction_of(event),
            method=method,
            id=None if id_ is None else id_.decode("utf-8", "backslashreplace"),
            tool=tool,
            latency=latency,
            status=status,
            call=None if call == _NONE else call,
            asked=asked,
            within=None if within == _NONE else within,
            item=item,
            notes=notes if outcome is None else (outcome, *notes),
        )


_RowWords = tuple[str, str | None, str | None, str | None, tuple[str, ...]]
"""Kind, method, tool, method of the call, and notes."""
_NONE = -1


@attrs.define(eq=False)
class Timeline(Sequence[Row]):
    """Rows that are made each time that they are read: 50 bytes are kept of each."""

    _takes: Sequence[_TakeRows]
    _places: Sequence[int] = attrs.field(init=False)
    """The indexes of its rows in the whole timeline."""

    def __attrs_post_init__(self) -> None:
        self._places = range(self._takes[-1].end if self._takes else 0)

    def where(self, keeps: Callable[[Row], bool]) -> Timeline:
        """Return the rows that are kept."""
        pairs = zip(self._places, self, strict=True)
        return self.at(array("q", (place for place, row in pairs if keeps(row))))

    @property
    def has_exchanges(self) -> bool:
        """Whether some events of the cassette belong to an HTTP exchange."""
        return any(has_exchanges(take.annotator.take.events) for take in self._takes)

    def gaps(self, take: int) -> Sequence[Gap]:
        """Return what could not be recorded in a take."""
        return self._takes[take - 1].annotator.gaps

    def at(self, places: Sequence[int]) -> Timeline:
        """Return the rows of these indexes, in order."""
        chosen = Timeline(self._takes)
        chosen._places = places
        return chosen

    def by_take(self) -> Iterator[tuple[int, Timeline]]:
        """Yield the number of each take that has rows, with these."""
        for take, places in self._parts():
            yield take.annotator.number, self.at(places)

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Row]:
        for take, places in self._parts():
            yield from take.rows(places)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Timeline: ...
    def __getitem__(self, index: int | slice) -> Row | Timeline:
        if isinstance(index, slice):
            return self.at(self._places[index])
        place = self._places[index]
        return self._take_of(place).row(place)

    def _parts(self) -> Iterator[tuple[_TakeRows, Sequence[int]]]:
        """Yield each take that has rows, with the indexes of these. Many takes may have none: a
        cassette of many takes is read by parts of one take.
        """
        first = 0
        while first < len(self._places):
            take = self._take_of(self._places[first])
            last = bisect_left(self._places, take.end, first)
            yield take, self._places[first:last]
            first = last

    def _take_of(self, place: int) -> _TakeRows:
        return self._takes[bisect_right(self._takes, place, key=attrgetter("end"))]


def exchange(rows: Timeline, id_: str) -> Timeline:
    """Return the requests with this id and all rows that belong to them, including server requests
    during them and the facts of their HTTP exchanges. `rows` are a whole timeline.
    """
    inside: set[int] = set()
    found: set[int] = set()
    for place, row in enumerate(rows):
        asked = row.kind == "request" and id_ in row.id_forms
        if asked or row.call in inside or row.within in inside:
            found.add(place)
            if row.kind == "request":
                inside.add(place)
    return rows.at(sorted(found | _surrounding_facts(rows, found)))


def value_of(row: Row, numbers: Sequence[int]) -> dict[str, Any]:
    """Return as JSON what is known about an event, and the event as recorded. `numbers` are
    the event numbers of all rows.
    """
    return {
        "type": "event",
        "take": row.take,
        "n": row.event.n,
        "kind": row.kind,
        "method": row.method,
        "id": row.id,
        "tool": row.tool,
        "status": row.status,
        "latency": row.latency,
        "call": None if row.call is None else numbers[row.call],
        "summary": row.summary,
        "notes": row.notes,
        "event": row.event,
    }


def raws(rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield the bytes of the message in each row, without the rest of its batch; empty for a
    fact.
    """
    batch, spans = None, None
    for row in rows:
        payload = row.event.payload or b""
        if row.item is None:
            yield payload
            continue
        if row.event is not batch:
            batch, spans = row.event, elements(payload)
        assert spans is not None, "a row with `item` comes from a batch"
        yield payload[slice(*spans[row.item])]


def _surrounding_facts(rows: Sequence[Row], found: set[int]) -> set[int]:
    """Return the row indexes of the facts of each HTTP exchange that carried one of these to the
    server, and of their SSE fields. A stream to the client may carry unrelated messages.
    """
    sent = [rows[place] for place in found]
    posts = {(row.take, row.event.x) for row in sent if row.event.x and row.event.d == "c2s"}
    around = {
        place
        for place, row in enumerate(rows)
        if row.kind in FACTS and (row.take, row.event.x) in posts
    }
    for place in found - {0}:
        before = rows[place - 1]
        same = (before.take, before.event.x) == (rows[place].take, rows[place].event.x)
        if before.kind == "sse" and same:
            around.add(place - 1)
    return around


@attrs.define
class TakeAnnotator:
    """Reads one take, event by event. Of each row it keeps the time, the tool and the outcome."""

    take: Take
    number: int
    offset: int
    """The index of its first row among all rows."""
    timed: bool
    """Whether its events have times: `fmt` drops them."""
    one_stream: bool = False
    """Whether all answers come on one event stream, as over HTTP+SSE."""
    gaps: list[Gap] = attrs.field(factory=list)
    """What could not be recorded."""
    _times: array[int] = attrs.field(factory=lambda: array("q"))
    """When each row was recorded."""
    _tools: list[str | None] = attrs.field(factory=list)
    """The tool of each row."""
    _sessions: defaultdict[tuple[int, int | None], Correlation] = attrs.field(
        factory=lambda: defaultdict(Correlation)
    )
    _outcomes: bytearray = attrs.field(factory=bytearray)
    """Of each row that is a request: whether it was answered or cancelled."""
    _heads: dict[int, int] = attrs.field(factory=dict)
    """The time of the request head of each HTTP exchange."""
    _statuses: dict[int, int] = attrs.field(factory=dict)
    _probes: dict[int, PendingCall] = attrs.field(factory=dict)
    """By exchange, the request that asks for the revisions of the server."""
    _partial: bool = False
    """Whether events were left out: what names no call may belong to one of them."""

    @classmethod
    def of(cls, take: Take, number: int, offset: int) -> TakeAnnotator:
        timed = any(event.t for event in take.events)
        return cls(take, number, offset, timed, one_stream=take.transport == "sse")

    def add(self, event: Event) -> Sequence[Row]:
        """Return the rows of the next event, without what later events decide."""
        payload = event.payload
        if payload is None:
            return [self._keep(self._fact_row(event))]
        return self._message_rows(event, payload)

    def ending(
        self, place: int, event: Event, kind: str, method: str | None
    ) -> tuple[int | None, str | None]:
        """Return what later events decide of a row: its status, and a note on how it ended."""
        status = self.status(event.x)
        if kind == "request":
            return status, self.outcome(place, method, status)
        probed = kind == "http" and event.d == "s2c" and event.x in self._probes
        return status, REFUSED if probed and _is_refusal(status) else None

    def outcome(self, place: int, method: str | None, status: int | None) -> str | None:
        """Return how a request ended that got no answer, after the last event; else None."""
        known = self._outcomes[place - self.offset]
        if known == _ANSWERED:
            return None
        if known == _CANCELLED:
            return _OUTCOMES[_CANCELLED]
        if method == PROBE and _is_refusal(status):
            return REFUSED
        repeated = status is not None and status in REPEATING_STATUSES
        return "redirected" if repeated else "unanswered"

    def status(self, exchange: int | None) -> int | None:
        """Return the response status of an HTTP exchange."""
        return None if exchange is None else self._statuses.get(exchange)

    def _keep(self, row: Row) -> Row:
        self._times.append(max(-_MAX_TIME_US, min(row.event.t, _MAX_TIME_US)))
        self._tools.append(row.tool)
        self._outcomes.append(0)
        return row

    def _fact_row(self, event: Event) -> Row:
        frame = event.frame
        kind = next(name for name in FACTS if getattr(event, name) is not UNSET)
        self.one_stream |= names_endpoint(event) and self.take.transport == "sse"
        self._partial |= isinstance(event.gap, LeftOut)
        if event.gap is not UNSET:
            self.gaps.append(event.gap)
        return Row(
            take=self.number,
            place=self.offset + len(self._times),
            event=event,
            kind=kind,
            direction=_direction_of(event),
            latency=None if frame is None else self._time_to_head(event, frame),
            notes=_event_notes(event),
        )

    def _time_to_head(self, event: Event, frame: m.Frame) -> int | None:
        """Note the head of an exchange; for a response, the time since its request."""
        if isinstance(frame.fact, m.HttpRequest) and event.x is not None:
            self._heads[event.x] = event.t
        if not isinstance(frame.fact, m.HttpResponse) or event.x is None:
            return None
        self._statuses[event.x] = frame.fact.status
        asked = self._heads.get(event.x)
        return event.t - asked if asked is not None and self.timed else None

    def _calls(self, event: Event) -> Correlation:
        return self._sessions[id_space(event.s, event.x)]

    def _message_rows(self, event: Event, payload: bytes) -> list[Row]:
        spans = elements(payload) if payload[:1] != b"{" else None
        messages = m.parse_items(payload) if spans else []
        if spans is None or messages in ([], [m.OPAQUE]):
            size = len(payload) if event.oversize is None else event.oversize.bytes
            return [self._message_row(event, m.parse(payload), size)]
        return [
            self._message_row(event, message, span.end - span.start, item)
            for item, (message, span) in enumerate(zip(messages, spans, strict=True))
        ]

    def _message_row(
        self, event: Event, message: m.Message, size: int, item: int | None = None
    ) -> Row:
        place = self.offset + len(self._times)
        direction = m.C2S if event.d == "c2s" else m.S2C
        attribution = self._calls(event).note(direction, message, place, event.x)
        answer = type(message) is m.Response
        failed = answer and message.error is not None  # type: ignore[union-attr]
        if failed and attribution.call is None and event.x in self._probes:
            # A server that knows no such request may not name its id either.
            attribution = Attribution(PROBE, self._probes[event.x])
        asked = attribution.call
        if event.x is not None and asked is not None and asked.request.method == PROBE:
            self._probes[event.x] = asked
        refused = failed and attribution.method == PROBE
        id_ = getattr(message, "id", None)
        # A server without sessions gets cancels and answers in other exchanges than the calls.
        elsewhere = direction is m.C2S and event.x is not None and event.s == NO_SESSION
        unknown = attribution.call is None and (self._partial or elsewhere)
        notes = () if unknown else self._message_notes(message, attribution)
        notes += _event_notes(event)
        if refused:
            notes = (REFUSED, *notes)
        row = Row(
            take=self.number,
            place=place,
            event=event,
            kind="response" if refused else _message_kind(message),
            message=message,
            size=size,
            direction=direction,
            method=attribution.method,
            id=None if id_ is None else id_.decode("utf-8", "backslashreplace"),
            tool=self._called_tool(asked, place),
            latency=self.latency(event, asked.index) if answer and asked is not None else None,
            call=None if asked is None else asked.index,
            asked=None if asked is None else asked.request.method,
            within=None
            if direction is m.C2S
            else self._enclosing_call(event, direction, message, attribution),
            item=item,
            notes=notes if item is None else (f"batch {item + 1}", *notes),
        )
        return self._keep(row)

    def _called_tool(self, call: PendingCall | None, place: int) -> str | None:
        if call is None:
            return None
        if call.index != place:
            return self._tools[call.index - self.offset]
        return call.request.tool

    def _message_notes(self, message: m.Message, attribution: Attribution) -> tuple[str, ...]:
        """Return the notes on a message; records the outcome of requests."""
        match message:
            case m.Response():
                return self._note_answer(attribution)
            case m.Notification(method=method) if method == CANCELLED:
                return self._note_cancellation(attribution)
            case m.Notification(method=method) if method == PROGRESS and attribution.call is None:
                return ("unknown token",)
            case _:
                return ("late",) if attribution.late else ()

    def _note_answer(self, attribution: Attribution) -> tuple[str, ...]:
        if attribution.call is None:
            return ("answers no request",)
        if attribution.late:
            outcome = self._outcomes[attribution.call.index - self.offset]
            return (f"late: {_OUTCOMES[outcome]} before",)
        self._outcomes[attribution.call.index - self.offset] = _ANSWERED
        return ()

    def _note_cancellation(self, attribution: Attribution) -> tuple[str, ...]:
        if attribution.call is None:
            return ("cancels no request",)
        place = attribution.call.index - self.offset
        self._outcomes[place] = self._outcomes[place] or _CANCELLED
        return ("late: answered before",) if self._outcomes[place] == _ANSWERED else ()

    def latency(self, event: Event, call: int) -> int | None:
        """Return the microseconds since the request of this index."""
        return event.t - self._times[call - self.offset] if self.timed else None

    def _enclosing_call(
        self, event: Event, direction: m.Direction, message: m.Message, attribution: Attribution
    ) -> int | None:
        """Return the client request that caused a server message which does not name it."""
        if direction is m.C2S or attribution.method is None:
            return None
        if attribution.call is not None and attribution.call.direction is m.C2S:
            return None
        guess = event.x is None or self.one_stream
        call = self._calls(event).related(message, attribution, event.x, guess=guess)
        return None if call is None else call.index


def _direction_of(event: Event) -> m.Direction | None:
    if event.m is UNSET and event.payload is None and (event.d is None or event.frame is None):
        return None
    return m.C2S if event.d == "c2s" else m.S2C


def _is_refusal(status: int | None) -> bool:
    return status is not None and 400 <= status < 500


def _message_kind(message: m.Message) -> str:
    match message:
        case m.Request():
            return "request"
        case m.Notification():
            return "notification"
        # What OAuth answers: `{"error": "invalid_token"}`.
        case m.Response(id=None, error=bytes() as error) if error[:1] == b'"':
            return "opaque"
        case m.Response():
            return "error" if message.failed else "response"
        case _:
            return "opaque"


def _event_notes(event: Event) -> tuple[str, ...]:
    if event.eol == "\n" and event.oversize is None and not event.redacted:
        return ()
    found = []
    if event.eol != "\n" and event.x is None:  # SSE allows any line break
        found.append({"\r\n": "CRLF", "": "no line break"}.get(event.eol, "odd line break"))
    if event.oversize is not None:
        found.append(f"only the head of {event.oversize.bytes} bytes")
    if event.redacted and event.http is UNSET:  # nearly every head has something redacted
        found.append("redacted")
    return tuple(found)
