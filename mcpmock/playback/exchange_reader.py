"""`index_exchanges`: the `AnswerIndex` of a session over Streamable HTTP, with its `ExchangeIndex`.

Ordinary is an exchange for each message: of a request with an answer in JSON, or in an event stream
that ends with it; of other messages without a body. Ordinary are also the streams of a GET, as long
as the session lasts, and its end by a DELETE; one that the server refused is left to the player.
A session with anything else (a cancel, a client that leaves a call, a stream that is resumed, an
error page) has no index. The rules for what waits for what are those of `plan.builder`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import attrs
from msgspec import UNSET, Struct
from msgspec.structs import replace

from mcpmock.cassette.model import Episode, Event
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import (
    C2S,
    Envelope,
    ExchangeEnd,
    Fact,
    Frame,
    HttpRequest,
    HttpResponse,
    Message,
    Notification,
)

from .answer_index import (
    NONE,
    AnswerIndex,
    ExchangeIndex,
    ExchangePart,
    IndexReader,
    NotOrdinary,
    is_no_response,
)
from .header_profile import LAST_EVENT, SESSION, Fingerprint, fingerprint
from .live_ids import plain_head

_FIRST_ODD_STATUS = 300


def index_exchanges(episode: Episode) -> AnswerIndex | None:
    """Return the index of an episode over HTTP; None if something in it needs a plan."""
    reader = ExchangeReader(episode.events)
    try:
        return reader.index(episode)
    except NotOrdinary:
        return None


class _ExchangeState(Struct, eq=False):
    """An exchange, as far as it was read."""

    x: int
    profile: Fingerprint
    opens_stream: bool = False
    """It is a GET."""
    ends_session: bool = False
    """It is a DELETE."""
    number: int = NONE
    """That of its client message."""
    call: int = NONE
    """The same, if that is a request."""
    head: HttpResponse | None = None
    head_place: int = NONE
    causes: tuple[int, ...] = ()
    """What the head waits for; of an event stream, what the answer waits for."""
    answer: int = NONE
    """The place of the answer."""
    fields: tuple[int, Fact, tuple[int, ...]] | None = None
    """Those of an event whose data may come next, and what they wait for if none comes."""
    over: bool = False

    @property
    def streams(self) -> bool:
        """Whether the response is an event stream."""
        return self.head is not None and self.head.media_type == EVENT_STREAM


@attrs.define(eq=False, repr=False)
class ExchangeReader(IndexReader):
    """Reads the events of an episode over HTTP in order."""

    _exchanges: dict[int, _ExchangeState] = attrs.field(factory=dict)
    _numbers: array[int] = attrs.field(factory=lambda: array("q"))
    _profiles: list[Fingerprint] = attrs.field(factory=list)
    _parts: dict[int, ExchangePart] = attrs.field(factory=dict)
    _bodiless: dict[frozenset[tuple[str, str]], list[int]] = attrs.field(factory=dict)
    _session_ids: set[str] = attrs.field(factory=set)
    _present: _ExchangeState = attrs.field(factory=lambda: _ExchangeState(NONE, {}))
    """The exchange of the event that is read."""
    _last_message: int = NONE
    _deletions: list[int] = attrs.field(factory=list)
    """The numbers of the requests to end the session."""

    def index(self, episode: Episode) -> AnswerIndex:
        index = super().index(episode)
        for one in self._exchanges.values():
            if not (one.over or one.ends_session or (one.opens_stream and one.streams)):
                raise NotOrdinary
            self._send_fields(one)
        ids = frozenset(self._session_ids)
        found = ExchangeIndex(self._numbers, self._profiles, self._parts, self._bodiless, ids)
        return replace(index, exchanges=found)

    def _read_event(self, place: int, event: Event, envelopes: Iterator[Envelope]) -> None:
        if event.m is UNSET:
            self._note_other(place, event)
            return
        exchange = self._exchanges.get(NONE if event.x is None else event.x)
        if exchange is not None and exchange.ends_session:
            exchange.over = True
            next(envelopes)
            return
        if exchange is None or exchange.over or (event.d == "c2s") != (exchange.number == NONE):
            raise NotOrdinary
        self._present = exchange
        if event.d == "s2c":
            self._begin_message(place, exchange)
            super()._read_event(place, event, envelopes)
            return
        self._number(exchange)
        super()._read_event(place, event, envelopes)
        if self.cancels:
            raise NotOrdinary
        self._last_message = exchange.number
        if self.ranks[exchange.number] != NONE:
            exchange.call = exchange.number

    def _number(self, exchange: _ExchangeState) -> None:
        exchange.number = len(self.places)
        self._numbers.append(exchange.x)
        self._profiles.append(exchange.profile)

    def _begin_message(self, place: int, exchange: _ExchangeState) -> None:
        """Note what leaves with a message, ahead of it."""
        if exchange.head is None or exchange.answer != NONE:
            raise NotOrdinary
        before: tuple[Fact, ...] = ()
        places: tuple[int, ...] = (place,)
        if not exchange.streams:
            before, places = (exchange.head,), (exchange.head_place, place)
        elif exchange.fields is not None:
            before, exchange.fields = exchange.fields[1:2], None
        self._parts[place] = ExchangePart(exchange.x, places, before)

    # What is on the exchange of a call belongs to that call.

    @property
    def _only_open(self) -> int:
        return super()._only_open if self._present.call == NONE else self._present.call

    @property
    def _latest(self) -> int:
        return self._last_message

    def _note_answer(self, place: int, id_: bytes, envelope: Envelope) -> None:
        exchange, odd = self._present, id_ == b"null" or is_no_response(envelope)
        if odd or exchange.call == NONE or self._open.get(id_) != exchange.call:
            raise NotOrdinary
        super()._note_answer(place, id_, envelope)
        exchange.answer = place
        if exchange.streams:
            exchange.causes = self._causes(exchange.call)

    def _note_notification(self, place: int, event: Event, message: Message) -> None:
        if not isinstance(message, Notification):
            raise NotOrdinary
        super()._note_notification(place, event, message)

    def _call_of_progress(self, token: bytes | None) -> int:
        call = super()._call_of_progress(token)
        if self._present.call not in (NONE, call):
            raise NotOrdinary
        return call

    def _usual_causes(self, call: int) -> tuple[int, ...]:
        causes, exchange = super()._usual_causes(call), self._present
        if exchange.call != NONE:
            return causes
        if not exchange.opens_stream:
            raise NotOrdinary
        return (*causes, exchange.number)

    # Heads, fields of events, and ends.

    def _note_other(self, place: int, event: Event) -> None:
        frame = event.frame
        if frame is None:
            return
        fact, x = frame.fact, NONE if event.x is None else event.x
        exchange = self._exchanges.get(x)
        if type(fact) is HttpRequest and exchange is None:
            self._note_request_head(place, x, fact)
            return
        if exchange is not None and exchange.ends_session:
            self._note_end_of_session(place, exchange, frame)
            return
        if exchange is None or exchange.number == NONE or exchange.over:
            raise NotOrdinary
        if event.d == "c2s":
            if not (exchange.opens_stream and exchange.streams and type(fact) is ExchangeEnd):
                raise NotOrdinary
            exchange.over = True  # the client has left its stream
        elif type(fact) is HttpResponse and exchange.head is None:
            self._note_head(place, exchange, fact)
        elif type(fact) is ExchangeEnd and exchange.head is not None:
            self._note_end(place, exchange, fact)
        elif event.sse is not UNSET and exchange.streams and exchange.answer == NONE:
            if event.sse.event == "endpoint":
                raise NotOrdinary
            self._send_fields(exchange)
            exchange.fields = place, event.sse, self._causes_on(exchange)
        else:
            raise NotOrdinary

    def _note_request_head(self, place: int, x: int, head: HttpRequest) -> None:
        opens_stream, ends_session = head.method == "GET", head.method == "DELETE"
        profile = fingerprint(head, with_path=opens_stream or ends_session)
        if LAST_EVENT in profile or not (opens_stream or ends_session or head.method == "POST"):
            raise NotOrdinary
        exchange = self._exchanges[x] = _ExchangeState(x, profile, opens_stream, ends_session)
        if opens_stream or ends_session:
            self._number(exchange)
            equal = self._bodiless.setdefault(frozenset(profile.items()), [])
            equal.append(self._add(place))
        if ends_session:
            self._deletions.append(exchange.number)
            self._profiles[exchange.number] = {}

    def _note_head(self, place: int, exchange: _ExchangeState, head: HttpResponse) -> None:
        if head.status >= _FIRST_ODD_STATUS and not exchange.opens_stream:
            raise NotOrdinary
        session = head.header(SESSION)
        self._session_ids.update([session] if session else [])
        exchange.head, exchange.head_place = plain_head(head), place
        exchange.causes = self._causes_on(exchange)
        if exchange.streams:
            self._send_facts(exchange, (place,), exchange.head)

    def _note_end_of_session(self, place: int, exchange: _ExchangeState, frame: Frame) -> None:
        """Leave to the player all answers to a DELETE but an empty one that accepts it."""
        fact, begun = frame.fact, exchange.head is not None
        if frame.direction is C2S or exchange.over:
            exchange.over = True
        elif type(fact) is ExchangeEnd and begun and not exchange.streams:
            self._note_end(place, exchange, fact)
            self._profiles[exchange.number] = exchange.profile
        elif type(fact) is HttpResponse and fact.status < _FIRST_ODD_STATUS and not begun:
            self._note_head(place, exchange, fact)
        else:
            exchange.over = True

    def _note_end(self, place: int, exchange: _ExchangeState, end: ExchangeEnd) -> None:
        self._send_fields(exchange)
        exchange.over = True
        if exchange.call != NONE:
            if exchange.answer == NONE or exchange.causes != self._causes_on(exchange):
                raise NotOrdinary
            part = self._parts[exchange.answer]
            ended = replace(part, places=(*part.places, place), after=(end,))
            self._parts[exchange.answer] = ended
        elif not exchange.streams:
            assert exchange.head is not None
            self._send_facts(exchange, (exchange.head_place, place), exchange.head, end)
        elif self._deletions == [len(self.places) - 1]:  # a stream ends with the session
            causes = exchange.number, *self._deletions
            self._send_facts(exchange, (place,), end, causes=causes)
        else:
            raise NotOrdinary

    def _send_fields(self, exchange: _ExchangeState) -> None:
        """Send the fields of an event without data alone."""
        if exchange.fields is not None:
            (place, fields, causes), exchange.fields = exchange.fields, None
            self._send_facts(exchange, (place,), fields, causes=causes)

    def _send_facts(
        self,
        exchange: _ExchangeState,
        places: tuple[int, ...],
        *facts: Fact,
        causes: tuple[int, ...] | None = None,
    ) -> None:
        """Let facts alone wait for the request of their exchange, and what followed it so far."""
        self._parts[places[0]] = ExchangePart(exchange.x, places, facts, has_message=False)
        self._wait(places[0], exchange.call, causes=causes or self._causes_on(exchange))

    def _causes_on(self, exchange: _ExchangeState) -> tuple[int, ...]:
        return (exchange.number,) if exchange.call == NONE else self._causes(exchange.call)
