"""A cassette as rows: each event with the request it belongs to, its latency, and remarks.

Pure: events in, `Row`s out. `protocol.correlation` knows which response answers which request,
`summary` writes the one-line texts, `filter` and `exchange` select rows, the command line prints
them. The members of a batch are rows of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs
from msgspec import UNSET

from mcpmock.cassette.model import Cassette, Event, Take
from mcpmock.protocol.correlation import CANCELLED, PROGRESS, Attribution, Correlation, id_space
from mcpmock.protocol.messages import (
    C2S,
    Direction,
    Frame,
    HttpRequest,
    HttpResponse,
    Message,
    Notification,
    Opaque,
    Request,
    Response,
    decode,
    member,
    parse_items,
)
from mcpmock.protocol.raw_json import elements

from .summary import event_summary, message_summary, text_member

FACTS = ("stderr", "end", "http", "sse", "body", "fault", "gap")
KINDS = ("request", "response", "error", "notification", "opaque", *FACTS)
_ANSWERED, _CANCELLED = "answered", "cancelled"


@attrs.frozen(kw_only=True)
class Row:
    """An event, or one message of a batch, with what is known about it."""

    take: int
    """Which take of the cassette, from 1."""
    event: Event
    kind: str
    """One of KINDS. `error` is a response too: an error, or a tool's result that says it is one."""
    summary: str
    direction: Direction | None = None
    method: str | None = None
    """Its own method; of a response the method it answers."""
    id: str | None = None
    """As it was spelled."""
    tool: str | None = None
    """The tool that is called, of the call and of all that belongs to it."""
    latency: int | None = None
    """Of a response: microseconds since its request; of a response's head, since that of its
    request.
    """
    status: int | None = None
    """The status that its HTTP exchange was answered with."""
    call: int | None = None
    """The place among the rows of the request it answers, reports on, cancels, or is."""
    within: int | None = None
    """The place of the client's request during which the server sent this."""
    item: int | None = None
    """Its place in a batch."""
    notes: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("response", self.kind) if self.kind == "error" else (self.kind,)

    @property
    def id_forms(self) -> tuple[str, ...]:
        """Its id as spelled, and where that is a string also bare."""
        if self.id is None:
            return ()
        value = decode(self.id.encode())
        return (self.id, value) if isinstance(value, str) else (self.id,)


def timeline(cassette: Cassette) -> list[Row]:
    """All events of all takes, in the order of the file."""
    rows: list[Row] = []
    for number, take in enumerate(cassette.takes, 1):
        rows += _Annotator.of(take, number, len(rows)).all_rows()
    return rows


def exchange(rows: Sequence[Row], id_: str) -> list[Row]:
    """Of a whole timeline, the requests with this id and all that belongs to them: the server's
    questions and the client's answers too, and what HTTP said around them.
    """
    inside: set[int] = set()
    found: set[int] = set()
    for place, row in enumerate(rows):
        asked = row.kind == "request" and id_ in row.id_forms
        if asked or row.call in inside or row.within in inside:
            found.add(place)
            if row.kind == "request":
                inside.add(place)
    around = _around(rows, found)
    return [row for place, row in enumerate(rows) if place in found | around]


def raws(rows: Iterable[Row]) -> Iterator[bytes]:
    """What each row says, byte for byte: of the members of a batch each its own, nothing of what is
    no message.
    """
    batch, spans = None, None
    for row in rows:
        payload = row.event.payload or b""
        if row.item is None:
            yield payload
            continue
        if row.event is not batch:
            batch, spans = row.event, elements(payload)
        assert spans is not None, "because its members are rows"
        yield payload[slice(*spans[row.item])]


def _around(rows: Sequence[Row], found: set[int]) -> set[int]:
    """The places of the facts of each HTTP exchange that carried one of these to the server, and of
    what an event had besides its data. A stream that carried one to the client may carry much else.
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
class _Annotator:
    """Reads one take."""

    take: Take
    number: int
    offset: int
    """The place of its first row among all rows."""
    timed: bool
    """Whether it has times: `fmt` drops them."""
    rows: list[Row] = attrs.field(factory=list)
    _sessions: dict[tuple[int, int | None], Correlation] = attrs.field(factory=dict)
    _fates: dict[int, str] = attrs.field(factory=dict)
    """What became of a request, by its place."""
    _heads: dict[int, int] = attrs.field(factory=dict)
    """When the request of each HTTP exchange came."""
    _statuses: dict[int, int] = attrs.field(factory=dict)

    @classmethod
    def of(cls, take: Take, number: int, offset: int) -> _Annotator:
        timed = any(event.t for event in take.events)
        return cls(take, number, offset, timed)

    def all_rows(self) -> Iterator[Row]:
        for event in self.take.events:
            frame = event.frame
            if frame is None or frame.fact is not None:
                self.rows.append(self._fact(event, frame))
            else:
                self._messages(event, frame)
        for place, row in enumerate(self.rows, self.offset):
            yield self._completed(place, row)

    def _completed(self, place: int, row: Row) -> Row:
        """With what became known after it."""
        status = None if row.event.x is None else self._statuses.get(row.event.x)
        if status is not None:
            row = attrs.evolve(row, status=status)
        fate = self._fates.get(place, "unanswered")
        odd = row.kind == "request" and fate != _ANSWERED
        return attrs.evolve(row, notes=(fate, *row.notes)) if odd else row

    def _fact(self, event: Event, frame: Frame | None) -> Row:
        kind = next(name for name in FACTS if getattr(event, name) is not UNSET)
        direction = frame.direction if frame is not None and event.d is not None else None
        return Row(
            take=self.number,
            event=event,
            kind=kind,
            summary=event_summary(event),
            direction=direction,
            latency=None if frame is None else self._time_to_head(event, frame),
            notes=_modifiers(event),
        )

    def _time_to_head(self, event: Event, frame: Frame) -> int | None:
        """Keeps account of the heads of exchanges."""
        if isinstance(frame.fact, HttpRequest) and event.x is not None:
            self._heads[event.x] = event.t
        if not isinstance(frame.fact, HttpResponse) or event.x is None:
            return None
        self._statuses[event.x] = frame.fact.status
        asked = self._heads.get(event.x)
        return event.t - asked if asked is not None and self.timed else None

    def _calls(self, event: Event) -> Correlation:
        return self._sessions.setdefault(id_space(event.s, event.x), Correlation())

    def _messages(self, event: Event, frame: Frame) -> None:
        messages = parse_items(frame.raw)
        batch = frame.raw.lstrip()[:1] == b"[" and messages != [Opaque()]
        for item, message in enumerate(messages):
            self.rows.append(self._message(event, frame, message, item if batch else None))

    def _message(self, event: Event, frame: Frame, message: Message, item: int | None) -> Row:
        place = self.offset + len(self.rows)
        note = self._calls(event).note(frame.direction, message, place, event.x)
        id_ = getattr(message, "id", None)
        notes = (*self._oddities(message, note), *_modifiers(event))
        return Row(
            take=self.number,
            event=event,
            kind=_kind(message),
            summary=message_summary(message, frame.raw, note.method),
            direction=frame.direction,
            method=note.method,
            id=None if id_ is None else id_.decode("utf-8", "backslashreplace"),
            tool=_tool(note),
            latency=self._latency(event, message, note),
            call=None if note.call is None else note.call.index,
            within=self._within(event, frame, message, note),
            item=item,
            notes=notes if item is None else (f"batch {item + 1}", *notes),
        )

    def _oddities(self, message: Message, note: Attribution) -> tuple[str, ...]:
        """What is odd about it; keeps account of what became of the requests."""
        match message:
            case Response():
                return self._answer(note)
            case Notification(method=method) if method == CANCELLED:
                return self._cancel(note)
            case Notification(method=method) if method == PROGRESS and note.call is None:
                return ("unknown token",)
            case _:
                return ("late",) if note.late else ()

    def _answer(self, note: Attribution) -> tuple[str, ...]:
        if note.call is None:
            return ("answers no request",)
        if note.late:
            return (f"late: {self._fates[note.call.index]} before",)
        self._fates[note.call.index] = _ANSWERED
        return ()

    def _cancel(self, note: Attribution) -> tuple[str, ...]:
        if note.call is None:
            return ("cancels no request",)
        fate = self._fates.setdefault(note.call.index, _CANCELLED)
        return ("late: answered before",) if fate == _ANSWERED else ()

    def _latency(self, event: Event, message: Message, note: Attribution) -> int | None:
        if not self.timed or note.call is None or not isinstance(message, Response):
            return None
        return event.t - self.rows[note.call.index - self.offset].event.t

    def _within(
        self, event: Event, frame: Frame, message: Message, note: Attribution
    ) -> int | None:
        """The client's call that a server message was sent for without naming it."""
        if frame.direction is C2S or note.method is None:
            return None
        if note.call is not None and note.call.direction is C2S:
            return None
        one_stream = event.x is None or self.take.transport == "sse"
        call = self._calls(event).related(message, note, event.x, guess=one_stream)
        return None if call is None else call.index


def _kind(message: Message) -> str:
    match message:
        case Request():
            return "request"
        case Notification():
            return "notification"
        case Response(error=None, result=result):
            return "error" if member(result, "isError") == b"true" else "response"
        case Response():
            return "error"
        case _:
            return "opaque"


def _tool(note: Attribution) -> str | None:
    request = None if note.call is None else note.call.request
    if request is None or request.method != "tools/call":
        return None
    return text_member(request.params, "name")


def _modifiers(event: Event) -> tuple[str, ...]:
    found = []
    if event.eol != "\n" and event.x is None:  # how an event stream breaks its lines is no news
        found.append({"\r\n": "CRLF", "": "no line break"}.get(event.eol, "odd line break"))
    if event.oversize is not None:
        found.append(f"only the head of {event.oversize.bytes} bytes")
    if event.redacted and event.http is UNSET:  # nearly every head has something redacted
        found.append("redacted")
    return tuple(found)
