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
    wrong_headers: bool = False
    """Headers that repeat arguments are missing or wrong."""
    owner: int = 0
    """The number of the exchange in which the stream of the next data began."""
    repeated: bool = False
    """The next data was sent before, on this stream or on another."""
    retry_us: int | None = None
    """How long the server has asked to wait before this stream is resumed."""
    hurried: tuple[int, int] | None = None
    """How long the client waited before it resumed the stream, and how long it was asked to; None
    if that is not known.
    """

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
    def stream(self) -> int:
        """The number of the exchange in which its event stream began."""
        return self.number if self.resumes is None else self.resumes

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
        return any(m.answers_id(request.id, id_) for request in self.requests)

    def mark_answered(self, id_: bytes) -> None:
        self.open = [one for one in self.open if not m.answers_id(one, id_)]


@attrs.define
class OpenExchanges:
    """The open exchanges of a conversation, and the event ids of its streams."""

    _running: OrderedDict[int, CheckedExchange] = attrs.field(factory=OrderedDict)
    _events: OrderedDict[str, int] = attrs.field(factory=OrderedDict)
    """By event id, the number of the exchange in which its stream began."""
    _ends: OrderedDict[int, tuple[int, int]] = attrs.field(factory=OrderedDict)
    """By the exchange in which a stream began: when the server ended it, and how long the client
    was asked to wait.
    """
    time: int | None = None
    """The time of the next frame in microseconds, if it is known."""

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
                exchange.hurried = self._waited(exchange.resumes)
                exchange.retry_us = None if exchange.hurried is None else exchange.hurried[1]
            case m.HttpResponse() as response:
                exchange.response = response
            case m.SseMeta() as event:
                self._take_event(exchange, event)
            case m.ExchangeEnd() if not (frame.direction is m.C2S and exchange.head is None):
                self._running.pop(number, None)
                self._note_end(exchange, frame)
            case _:
                pass
        return exchange

    def running(self, number: int | None) -> CheckedExchange | None:
        """Return the open exchange of this number, if there is one."""
        return None if number is None else self._running.get(number)

    def end_data(self, exchange: CheckedExchange) -> None:
        """Forget the event whose data arrived."""
        exchange.event, exchange.repeated, exchange.owner = None, False, exchange.number

    def _waited(self, stream: int | None) -> tuple[int, int] | None:
        """Return how long the client waited before it resumed a stream, and how long it should."""
        ended = None if stream is None else self._ends.pop(stream, None)
        if ended is None or self.time is None:
            return None
        return self.time - ended[0], ended[1]

    def _note_end(self, exchange: CheckedExchange, frame: m.Frame) -> None:
        """Note when a stream ended that the client is to resume after a while."""
        if exchange.retry_us is None or self.time is None or frame.direction is m.C2S:
            return
        self._ends[exchange.stream] = self.time, exchange.retry_us
        drop_oldest(self._ends, MAX_REMEMBERED)

    def _take_event(self, exchange: CheckedExchange, event: m.SseMeta) -> None:
        exchange.event, exchange.repeated, exchange.owner = event, False, exchange.number
        if event.retry is not None:
            exchange.retry_us = 1000 * event.retry
        if not event.id or len(event.id) > MAX_REMEMBERED:
            return
        exchange.event_ids = True
        exchange.repeated = event.id in self._events
        exchange.owner = self._events.setdefault(event.id, exchange.stream)
        drop_oldest(self._events, 10 * MAX_REMEMBERED)
