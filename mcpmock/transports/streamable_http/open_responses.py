"""The open responses of a Streamable HTTP server, and the choice among them for each message.

The stages behind this one know no exchanges, only a sequence of messages. An answer goes to the
exchange of its request, progress to that of its token, any other message to the most likely one.
The first message decides whether a response is one JSON body or an event stream. `server` stands
above and takes the frames; `in_flight_calls` stands below.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mcpmock.protocol import edit
from mcpmock.protocol.correlation import CANCELLED, LISTEN, PROGRESS, SUBSCRIPTION_PATH
from mcpmock.protocol.error_codes import (
    DEFINED_MODERN,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    SERVER_ERROR,
)
from mcpmock.protocol.http_reply import EVENT_STREAM, HeldMessages
from mcpmock.protocol.messages import (
    S2C,
    Batch,
    ExchangeEnd,
    Frame,
    HttpResponse,
    Message,
    Notification,
    Opaque,
    Request,
    Response,
    SseMeta,
    decode,
    member,
    parse,
    parse_items,
)
from mcpmock.protocol.raw_json import elements, splice
from mcpmock.protocol.transport_facts import SESSION_HEADER, Fact, Headers
from mcpmock.transports.in_flight_calls import InFlightCall, InFlightCalls

from .common import JSON

_OK = (200, "OK")
_BAD_REQUEST = (INVALID_PARAMS, *DEFINED_MODERN)
_STATUS = {METHOD_NOT_FOUND: (404, "Not Found")} | dict.fromkeys(_BAD_REQUEST, (400, "Bad Request"))
"""The status of some errors in the modern era (2026-07-28, "Transports"); all others have 200."""


@attrs.define(eq=False)
class _ResponseState:
    """The open response to a POST with requests, or to a GET, which has no calls."""

    number: int
    calls: list[InFlightCall] = attrs.field(factory=list)
    priming: bool = False
    modern: bool = False
    streaming: bool = False
    events: int = 0

    @property
    def only_listens(self) -> bool:
        return all(call.method == LISTEN for call in self.calls)


@attrs.define
class OpenResponses:
    """The open responses of one conversation. Frames to send are added to `frames`."""

    stateless: bool
    frames: list[Frame] = attrs.field(factory=list)
    session: str | None = None
    revision: str | None = None
    """The revision in the answer to `initialize`."""
    in_flight: InFlightCalls = attrs.field(factory=InFlightCalls)
    _exchanges: dict[int, _ResponseState] = attrs.field(factory=dict)
    _streams: list[_ResponseState] = attrs.field(factory=list)
    _held: HeldMessages = attrs.field(factory=HeldMessages)

    def answer(
        self,
        x: int,
        status: tuple[int, str],
        body: bytes = b"",
        more: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Send a whole response: a head and, unless it is empty, a JSON body."""
        kind = [("Content-Type", JSON)] if body else []
        self._add_fact(x, HttpResponse(*status, [*kind, *self._headers(), *more]))
        if body:
            self.frames.append(Frame(S2C, body, exchange=x))
        self._add_fact(x, ExchangeEnd())
        self._exchanges.pop(x, None)

    def expect(self, x: int, raw: bytes, *, priming: bool, modern: bool = False) -> bytes:
        """Open the response to a POST with requests, until all of them are answered. Returns the
        message for the server, with ids of its own where two callers use one.
        """
        raw, calls = self.in_flight.ask(x, raw)
        self._exchanges[x] = _ResponseState(x, calls, priming, modern)
        return raw

    def listen(self, x: int) -> None:
        """Open the stream of a GET, and send the messages held for it."""
        stream = self._exchanges[x] = _ResponseState(x)
        self._streams.append(stream)
        self._begin_stream(stream)
        for raw in self._held.take():
            self._add_event(stream, raw)

    def lose(self, x: int) -> list[InFlightCall]:
        """Forget an exchange that its client closed. Returns its open calls."""
        exchange = self._exchanges.pop(x, None)
        if exchange is None:
            return []
        if exchange in self._streams:
            self._streams.remove(exchange)
        return exchange.calls

    def end_streams(self) -> None:
        """End the streams of GETs, as the SDKs' servers do after a DELETE. What still waits for an
        answer becomes a stream, as theirs are from the start: with a status of 5xx at the end the
        client of PyPI mcp 1.30 fails for a call that it has given up.
        """
        for exchange in tuple(self._exchanges.values()):
            if exchange in self._streams:
                self._end_stream(exchange)
            elif not exchange.streaming:
                self._begin_stream(exchange)

    def end(self) -> None:
        """Answer every open request with an error: the server has ended."""
        for exchange in tuple(self._exchanges.values()):
            text = "mcpmock: the server ended"
            errors = [edit.error(call.id, SERVER_ERROR, text) for call in exchange.calls]
            if exchange.streaming:
                for error in errors:
                    self._add_event(exchange, error)
                self._end_stream(exchange)
            else:
                body = errors[0] if len(errors) == 1 else b"[%b]" % b",".join(errors)
                self.answer(exchange.number, (502, "Bad Gateway"), body)

    def route(self, raw: bytes) -> None:
        """Send a message of the server. A batch stays one if its members have one exchange."""
        message = parse(raw)
        if not isinstance(message, Batch):
            self._route_one(raw, message, self._call_of(message))
            return
        spans = elements(raw) or []
        items = [raw[span.start : span.end] for span in spans]
        messages = parse_items(raw)
        calls = [self._call_of(one) for one in messages]
        owned = [call for call in calls if call is not None]
        if not owned:
            self._route_unrelated(raw, messages[0])
        elif len(owned) == len(calls) and len({call.exchange for call in owned}) == 1:
            put_back = self.in_flight.put_back
            new = [put_back(item, call) for item, call in zip(items, owned, strict=True)]
            whole = splice(raw, zip(spans, new, strict=True))
            answered = all(isinstance(one, Response) for one in messages)
            pairs = zip(owned, messages, strict=True)
            finished = [call for call, one in pairs if self._finish_call(call, one)]
            self._send_to(owned[0].exchange, whole, finished, answered=answered)
        else:
            for item, one, call in zip(items, messages, calls, strict=True):
                self._route_one(item, one, call)

    def _route_one(self, raw: bytes, message: Message, call: InFlightCall | None) -> None:
        if call is None:
            self._route_unrelated(raw, message)
            return
        raw = self.in_flight.put_back(raw, call)
        finished = [call] if self._finish_call(call, message) else []
        status = self._status_of(message, call.exchange)
        answered = isinstance(message, Response)
        self._send_to(call.exchange, raw, finished, answered=answered, status=status)

    def _call_of(self, message: Message) -> InFlightCall | None:
        return self.in_flight.of(message, cancels=self.stateless)

    def _finish_call(self, call: InFlightCall, message: Message) -> bool:
        """Forget the call, and return True, if this message is its last: its answer, or (modern
        era) the server's cancel, with which it may end a `subscriptions/listen`.
        """
        cancelled = isinstance(message, Notification) and message.method == CANCELLED
        if not isinstance(message, Response) and not (self.stateless and cancelled):
            return False
        if call.method == "initialize" and isinstance(message, Response):
            version = decode(member(message.result, "protocolVersion") or b"null")
            self.revision = version if isinstance(version, str) else self.revision
        self.in_flight.forget(call)
        return True

    def _send_to(
        self,
        x: int,
        raw: bytes,
        finished: Sequence[InFlightCall],
        *,
        answered: bool,
        status: tuple[int, str] = _OK,
    ) -> None:
        """Send a message to this exchange, unless its client has closed it."""
        exchange = self._exchanges.get(x)
        if exchange is None:
            return
        exchange.calls = [call for call in exchange.calls if call not in finished]
        over = bool(finished) and not exchange.calls
        if over and answered and not exchange.streaming:
            self.answer(x, status, raw)
            return
        if not exchange.streaming:
            self._begin_stream(exchange)
        self._add_event(exchange, raw)
        if over:
            self._end_stream(exchange)

    def _route_unrelated(self, raw: bytes, message: Message) -> None:
        """Send a message that belongs to no call: to the only open request, else to the newest GET,
        else to the oldest request. Where the requests are those of several callers, to none.

        One exchange alone gets it: "The server MUST send each of its JSON-RPC messages on only one
        of the connected streams" (2025-11-25, "Multiple Connections").
        """
        addressed = isinstance(message, (Response, Request)) or _names_request(message)
        if isinstance(message, Opaque) or (addressed and self.stateless):
            return  # a banner, or meant for one caller: nothing says which, or it is gone
        pending = [exchange for exchange in self._exchanges.values() if exchange.calls]
        pending = [exchange for exchange in pending if not exchange.only_listens] or pending
        if self._streams and len(pending) != 1:
            exchange = self._streams[-1]
        elif pending and (len(pending) == 1 or not self.stateless):
            exchange = pending[0]
        else:
            if not self.stateless and not isinstance(message, Response):
                self._held.add(raw)
            return
        if not exchange.streaming:
            self._begin_stream(exchange)
        self._add_event(exchange, raw)

    def _status_of(self, message: Message, x: int) -> tuple[int, str]:
        exchange = self._exchanges.get(x)
        if exchange is None or not exchange.modern:
            return _OK
        if not isinstance(message, Response) or message.error is None:
            return _OK
        code = decode(member(message.error, "code") or b"null")
        return _STATUS.get(code, _OK) if isinstance(code, int) else _OK

    def _begin_stream(self, exchange: _ResponseState) -> None:
        fields = [("Content-Type", EVENT_STREAM), ("Cache-Control", "no-cache, no-transform")]
        self._add_fact(exchange.number, HttpResponse(*_OK, [*fields, *self._headers()]))
        exchange.streaming = True
        if exchange.priming:
            # 2025-11-25: an event with an id and empty data comes first: a client that loses the
            # connection then can resume before the first message.
            self._add_fact(exchange.number, SseMeta(id=f"{exchange.number}-0"))
            self.frames.append(Frame(S2C, exchange=exchange.number))

    def _add_event(self, exchange: _ResponseState, raw: bytes) -> None:
        exchange.events += 1
        # Ids are for resumption, which 2026-07-28 does not have.
        id_ = None if self.stateless else f"{exchange.number}-{exchange.events}"
        self._add_fact(exchange.number, SseMeta(id=id_, event="message"))
        self.frames.append(Frame(S2C, raw, exchange=exchange.number))

    def _end_stream(self, exchange: _ResponseState) -> None:
        self.lose(exchange.number)
        self._add_fact(exchange.number, ExchangeEnd())

    def _headers(self) -> Headers:
        return [] if self.session is None else [(SESSION_HEADER, self.session)]

    def _add_fact(self, x: int, fact: Fact) -> None:
        self.frames.append(Frame(S2C, fact=fact, exchange=x))


def _names_request(message: Message) -> bool:
    if not isinstance(message, Notification):
        return False
    return message.method == PROGRESS or member(message.params, *SUBSCRIPTION_PATH) is not None
