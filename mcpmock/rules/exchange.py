"""`CheckedExchange`: the state of one open HTTP exchange, for the rules; `OpenExchanges`: all open
exchanges of a conversation. Neither judges. On stdio there are no exchanges.
"""

from __future__ import annotations

from collections import OrderedDict

import attrs

from mcpmock.protocol import messages as m
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.transport_facts import (
    LAST_EVENT_ID_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_HEADER,
)

from .memory import drop_oldest

MAX_REMEMBERED = 1000
"""How many exchanges, requests and the like are remembered; the oldest is dropped first."""


@attrs.define(eq=False)
class CheckedExchange:
    """One exchange."""

    number: int
    head: m.HttpRequest | None = None
    response: m.HttpResponse | None = None
    posted: list[m.Message] | None = None
    """The messages in the request body; None until it arrived."""
    revision: str | None = None
    """The revision of the posted messages."""
    open: list[bytes] = attrs.field(factory=list)
    """The ids of the posted requests without a response."""
    resumes: int | None = None
    """The number of the exchange whose stream it resumes, according to `Last-Event-ID`."""
    event: m.SseMeta | None = None
    """The fields of the event whose data comes next."""
    event_ids: bool = False
    """One of its events had an id."""
    cancelled: bool = False
    """One of its requests was cancelled."""
    owner: int = 0
    """The number of the exchange in which the stream of the next data began."""
    repeated: bool = False
    """The next data was sent before, on this stream or on another."""

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
    def requests(self) -> list[m.Request]:
        return [one for one in self.posted or () if isinstance(one, m.Request)]

    @property
    def session(self) -> str | None:
        return self.request_header(SESSION_HEADER)

    @property
    def version(self) -> str | None:
        return self.request_header(PROTOCOL_VERSION_HEADER)

    def request_header(self, name: str) -> str | None:
        """Return a header field of the request."""
        return None if self.head is None else self.head.header(name)

    def has_request(self, id_: bytes) -> bool:
        """Return whether a request with this id was posted in this exchange."""
        return any(m.same_id(request.id, id_) for request in self.requests)

    def mark_answered(self, id_: bytes) -> None:
        self.open = [one for one in self.open if not m.same_id(one, id_)]


@attrs.define
class OpenExchanges:
    """The open exchanges of a conversation, and the event ids of its streams."""

    _running: OrderedDict[int, CheckedExchange] = attrs.field(factory=OrderedDict)
    _events: OrderedDict[str, int] = attrs.field(factory=OrderedDict)
    """By event id, the number of the exchange in which its stream began."""

    def take(self, frame: m.Frame) -> CheckedExchange:
        """Return the exchange of this frame, updated with its head or its event."""
        number = frame.exchange or 0
        exchange = self._running.get(number)
        if exchange is None:
            exchange = self._running[number] = CheckedExchange(number, owner=number)
            drop_oldest(self._running, MAX_REMEMBERED)
        match frame.fact:
            case m.HttpRequest() as head:
                exchange.head = head
                exchange.resumes = self._events.get(head.header(LAST_EVENT_ID_HEADER) or "")
            case m.HttpResponse() as response:
                exchange.response = response
            case m.SseMeta() as event:
                self._take_event(exchange, event)
            case m.ExchangeEnd() if not (frame.direction is m.C2S and exchange.head is None):
                self._running.pop(number, None)
            case _:
                pass
        return exchange

    def running(self, number: int | None) -> CheckedExchange | None:
        """Return the open exchange of this number, if there is one."""
        return None if number is None else self._running.get(number)

    def end_data(self, exchange: CheckedExchange) -> None:
        """Forget the event whose data arrived."""
        exchange.event, exchange.repeated, exchange.owner = None, False, exchange.number

    def _take_event(self, exchange: CheckedExchange, event: m.SseMeta) -> None:
        exchange.event, exchange.repeated, exchange.owner = event, False, exchange.number
        if not event.id or len(event.id) > MAX_REMEMBERED:
            return
        exchange.event_ids = True
        first = exchange.number if exchange.resumes is None else exchange.resumes
        exchange.repeated = event.id in self._events
        exchange.owner = self._events.setdefault(event.id, first)
        drop_oldest(self._events, 10 * MAX_REMEMBERED)
