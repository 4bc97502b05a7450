"""`CheckedExchange`: what is known of one HTTP exchange while it lasts, for the watchers;
`OpenExchanges`: all
of a conversation.

Keeps, never judges. On stdio there is none.
"""

from __future__ import annotations

from collections import OrderedDict

import attrs

from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import (
    C2S,
    ExchangeEnd,
    Frame,
    HttpRequest,
    HttpResponse,
    Message,
    Request,
    SseMeta,
    same_id,
)
from mcpmock.protocol.transport_facts import (
    LAST_EVENT_ID_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_HEADER,
)

MOST = 1000
"""How many exchanges, events and the like are remembered; beyond, the oldest is forgotten."""


@attrs.define(eq=False)
class CheckedExchange:
    """One exchange. What came in its body is known once `posted` is."""

    number: int
    head: HttpRequest | None = None
    response: HttpResponse | None = None
    posted: list[Message] | None = None
    """The messages in the body of the request; None until it came."""
    revision: str | None = None
    """Of the messages posted."""
    open: list[bytes] = attrs.field(factory=list)
    """The ids of the requests posted that have no answer yet."""
    resumes: int | None = None
    """The number of the exchange whose stream it continues, as `Last-Event-ID` says."""
    event: SseMeta | None = None
    """What the event said whose data comes next."""
    event_ids: bool = False
    """Whether one of its events had an id."""
    cancelled: bool = False
    """Whether one of its requests was cancelled."""
    owner: int = 0
    """The exchange that the stream began with of which the next data is a part."""
    again: bool = False
    """The next data was sent before, on this stream or another."""

    @property
    def method(self) -> str:
        return "" if self.head is None else self.head.method

    @property
    def status(self) -> int:
        return 0 if self.response is None else self.response.status

    @property
    def streams(self) -> bool:
        """Whether the answer is an event stream."""
        return self.response is not None and self.response.media_type == EVENT_STREAM

    @property
    def requests(self) -> list[Request]:
        return [one for one in self.posted or () if isinstance(one, Request)]

    @property
    def session(self) -> str | None:
        return self.asked(SESSION_HEADER)

    @property
    def version(self) -> str | None:
        return self.asked(PROTOCOL_VERSION_HEADER)

    def asked(self, name: str) -> str | None:
        """A field of the request's head."""
        return None if self.head is None else self.head.header(name)

    def asks(self, id_: bytes) -> bool:
        """Whether a request of this id was posted here."""
        return any(same_id(request.id, id_) for request in self.requests)

    def answered(self, id_: bytes) -> None:
        self.open = [one for one in self.open if not same_id(one, id_)]


@attrs.define
class OpenExchanges:
    """The exchanges of a conversation that are not over, and the events of its streams."""

    _running: OrderedDict[int, CheckedExchange] = attrs.field(factory=OrderedDict)
    _events: OrderedDict[str, int] = attrs.field(factory=OrderedDict)
    """By the id of an event, the exchange that its stream began with."""

    def take(self, frame: Frame) -> CheckedExchange:
        """The exchange of this frame, with what its head or its event says."""
        number = frame.exchange or 0
        exchange = self._running.get(number)
        if exchange is None:
            exchange = self._running[number] = CheckedExchange(number, owner=number)
            if len(self._running) > MOST:
                self._running.popitem(last=False)
        match frame.fact:
            case HttpRequest() as head:
                exchange.head = head
                exchange.resumes = self._events.get(head.header(LAST_EVENT_ID_HEADER) or "")
            case HttpResponse() as response:
                exchange.response = response
            case SseMeta() as event:
                self._event(exchange, event)
            case ExchangeEnd() if not (frame.direction is C2S and exchange.head is None):
                self._running.pop(number, None)
            case _:
                pass
        return exchange

    def running(self, number: int | None) -> CheckedExchange | None:
        """The exchange of this number, if it is not over."""
        return None if number is None else self._running.get(number)

    def data_is_over(self, exchange: CheckedExchange) -> None:
        """The data of an event came: the next belongs to another."""
        exchange.event, exchange.again, exchange.owner = None, False, exchange.number

    def _event(self, exchange: CheckedExchange, event: SseMeta) -> None:
        exchange.event = event
        if not event.id or len(event.id) > MOST:
            return
        exchange.event_ids = True
        first = exchange.number if exchange.resumes is None else exchange.resumes
        exchange.again = event.id in self._events
        exchange.owner = self._events.setdefault(event.id, first)
        if len(self._events) > 10 * MOST:
            self._events.popitem(last=False)
