"""A cassette as rows: each event with the request it belongs to, its latency, and remarks.

Pure: events in, `Row`s out. `protocol.correlation` knows which response answers which request,
`summary` writes the one-line texts, `filter` and `exchange` select rows, the command line prints
them. The members of a batch are rows of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import attrs
import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from mcpmock.cassette.model import Cassette, Event, Gap, Take, names_endpoint
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
from mcpmock.protocol.transport_facts import REPEATING_STATUSES

from .summary import MAX_SUMMARY_CHARS, event_summary, message_summary

FACTS = ("stderr", "end", "http", "sse", "body", "fault", "auth", "gap")
KINDS = ("request", "response", "error", "notification", "opaque", *FACTS)
_ANSWERED, _CANCELLED = "answered", "cancelled"
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


def timeline(cassette: Cassette) -> list[Row]:
    """Return all events of all takes, in the order of the file."""
    rows: list[Row] = []
    for number, take in enumerate(cassette.takes, 1):
        rows += TakeAnnotator.of(take, number, len(rows)).all_rows()
    return rows


def exchange(rows: Sequence[Row], id_: str) -> list[Row]:
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
    around = _surrounding_facts(rows, found)
    return [row for place, row in enumerate(rows) if place in found | around]


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
    """Reads one take: `all_rows` of a whole one, `add` event by event of one that grows."""

    take: Take
    number: int
    offset: int
    """The index of its first row among all rows."""
    timed: bool
    """Whether its events have times: `fmt` drops them."""
    one_stream: bool = False
    """Whether all answers come on one event stream, as over HTTP+SSE."""
    rows: list[Row] = attrs.field(factory=list)
    _sessions: defaultdict[tuple[int, int | None], Correlation] = attrs.field(
        factory=lambda: defaultdict(Correlation)
    )
    _outcomes: dict[int, str] = attrs.field(factory=dict)
    """By row index of a request: answered or cancelled."""
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

    def all_rows(self) -> Iterator[Row]:
        for event in self.take.events:
            self.add(event)
        for place, row in enumerate(self.rows, self.offset):
            yield self._complete_row(place, row)

    def add(self, event: Event) -> Sequence[Row]:
        """Return the rows of the next event, without what later events decide."""
        known = len(self.rows)
        payload = event.payload
        if payload is None:
            self.rows.append(self._fact_row(event))
        else:
            self._add_messages(event, payload)
        return self.rows[known:]

    def _complete_row(self, place: int, row: Row) -> Row:
        """Add the status and the outcome, which later events decide."""
        status = None if row.event.x is None else self._statuses.get(row.event.x)
        if status is not None:
            row = replace(row, status=status)
        if row.kind == "http" and row.event.d == "s2c" and row.event.x in self._probes:
            return replace(row, notes=(REFUSED, *row.notes)) if _is_refusal(status) else row
        if row.kind != "request":
            return row
        if row.method == PROBE and place not in self._outcomes and _is_refusal(status):
            return replace(row, notes=(REFUSED, *row.notes))
        repeated = status is not None and status in REPEATING_STATUSES
        outcome = self._outcomes.get(place, "redirected" if repeated else "unanswered")
        return row if outcome == _ANSWERED else replace(row, notes=(outcome, *row.notes))

    def _fact_row(self, event: Event) -> Row:
        frame = event.frame
        kind = next(name for name in FACTS if getattr(event, name) is not UNSET)
        self.one_stream |= names_endpoint(event)
        self._partial |= isinstance(event.gap, LeftOut)
        direction = frame.direction if frame is not None and event.d is not None else None
        return Row(
            take=self.number,
            event=event,
            kind=kind,
            direction=direction,
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

    def _add_messages(self, event: Event, payload: bytes) -> None:
        spans = elements(payload) if payload[:1] != b"{" else None
        messages = m.parse_items(payload) if spans else []
        if spans is None or messages in ([], [m.OPAQUE]):
            size = len(payload) if event.oversize is None else event.oversize.bytes
            self.rows.append(self._message_row(event, m.parse(payload), size))
            return
        for item, (message, span) in enumerate(zip(messages, spans, strict=True)):
            self.rows.append(self._message_row(event, message, span.end - span.start, item))

    def _message_row(
        self, event: Event, message: m.Message, size: int, item: int | None = None
    ) -> Row:
        place = self.offset + len(self.rows)
        direction = m.C2S if event.d == "c2s" else m.S2C
        attribution = self._calls(event).note(direction, message, place, event.x)
        failed = isinstance(message, m.Response) and message.error is not None
        if failed and attribution.call is None and event.x in self._probes:
            # A server that knows no such request may not name its id either.
            attribution = Attribution(PROBE, self._probes[event.x])
        asked = attribution.call
        if event.x is not None and asked is not None and asked.request.method == PROBE:
            self._probes[event.x] = asked
        refused = failed and attribution.method == PROBE
        id_ = getattr(message, "id", None)
        notes = (*self._message_notes(message, attribution), *_event_notes(event))
        if refused:
            notes = (REFUSED, *notes)
        return Row(
            take=self.number,
            event=event,
            kind="response" if refused else _message_kind(message),
            message=message,
            size=size,
            direction=direction,
            method=attribution.method,
            id=None if id_ is None else id_.decode("utf-8", "backslashreplace"),
            tool=self._called_tool(asked, place),
            latency=self._latency(event, message, attribution),
            call=None if asked is None else asked.index,
            within=self._enclosing_call(event, direction, message, attribution),
            item=item,
            notes=notes if item is None else (f"batch {item + 1}", *notes),
        )

    def _called_tool(self, call: PendingCall | None, place: int) -> str | None:
        if call is None:
            return None
        if call.index != place:
            return self.rows[call.index - self.offset].tool
        return call.request.tool

    def _message_notes(self, message: m.Message, attribution: Attribution) -> tuple[str, ...]:
        """Return the notes on a message; records the outcome of requests."""
        if self._partial and attribution.call is None:
            return ()
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
            return (f"late: {self._outcomes[attribution.call.index]} before",)
        self._outcomes[attribution.call.index] = _ANSWERED
        return ()

    def _note_cancellation(self, attribution: Attribution) -> tuple[str, ...]:
        if attribution.call is None:
            return ("cancels no request",)
        outcome = self._outcomes.setdefault(attribution.call.index, _CANCELLED)
        return ("late: answered before",) if outcome == _ANSWERED else ()

    def _latency(self, event: Event, message: m.Message, attribution: Attribution) -> int | None:
        if not self.timed or attribution.call is None or not isinstance(message, m.Response):
            return None
        return event.t - self.rows[attribution.call.index - self.offset].event.t

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


def _is_refusal(status: int | None) -> bool:
    return status is not None and 400 <= status < 500


def _message_kind(message: m.Message) -> str:
    match message:
        case m.Request():
            return "request"
        case m.Notification():
            return "notification"
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
