"""The responses of a Streamable HTTP server that are still open, and which of them a message of the
server goes to.

What stands behind knows of no exchanges; all it gives are messages, one after the other. An answer
finds the exchange of its request, progress that of its token, and the rest the exchange that it
most likely means. Whether a response is one JSON body or an event stream is decided here, by what
comes first. `server` stands above and takes the frames; `in_flight_calls` stands below.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mcpmock.protocol import edit
from mcpmock.protocol.correlation import CANCELLED, PROGRESS, SUBSCRIPTION_PATH
from mcpmock.protocol.error_codes import (
    DEFINED_MODERN,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    SERVER_ERROR,
)
from mcpmock.protocol.http_reply import EVENT_STREAM, HeldMessages, flatten
from mcpmock.protocol.messages import (
    S2C,
    Batch,
    ExchangeEnd,
    Frame,
    HttpResponse,
    Message,
    Notification,
    Opaque,
    Response,
    SseMeta,
    decode,
    member,
    parse,
    parse_items,
)
from mcpmock.protocol.raw_json import elements, splice
from mcpmock.protocol.transport_facts import SESSION_HEADER, Fact, Headers

from .common import JSON, LISTEN
from .in_flight_calls import InFlightCall, InFlightCalls

_OK = (200, "OK")
_BAD_REQUEST = (INVALID_PARAMS, *DEFINED_MODERN)
_STATUS = {METHOD_NOT_FOUND: (404, "Not Found")} | dict.fromkeys(_BAD_REQUEST, (400, "Bad Request"))
"""The status of some errors in the modern era (2026-07-28, "Transports"); all others have 200."""


@attrs.define(eq=False)
class _Exchange:
    """The open response to a POST with requests, or to a GET, which has no calls."""

    number: int
    calls: list[InFlightCall] = attrs.field(factory=list)
    priming: bool = False
    streaming: bool = False
    events: int = 0

    @property
    def only_listens(self) -> bool:
        return all(call.method == LISTEN for call in self.calls)


@attrs.define
class OpenResponses:
    """All that is open of one conversation. What it has to say is in `take`."""

    stateless: bool
    session: str | None = None
    revision: str | None = None
    """The revision that the session agreed on."""
    in_flight: InFlightCalls = attrs.field(factory=InFlightCalls)
    _exchanges: dict[int, _Exchange] = attrs.field(factory=dict)
    _streams: list[_Exchange] = attrs.field(factory=list)
    _held: HeldMessages = attrs.field(factory=HeldMessages)
    _out: list[Frame] = attrs.field(factory=list)

    def take(self) -> list[Frame]:
        """The frames that go out now."""
        out, self._out = self._out, []
        return out

    def answer(
        self,
        x: int,
        status: tuple[int, str],
        body: bytes = b"",
        more: Sequence[tuple[str, str]] = (),
    ) -> None:
        """A whole response, at once: with a JSON body or with none."""
        kind = [("Content-Type", JSON)] if body else []
        self._say(x, HttpResponse(*status, [*kind, *self._headers(), *more]))
        if body:
            self._out.append(Frame(S2C, body, exchange=x))
        self._say(x, ExchangeEnd())
        self._exchanges.pop(x, None)

    def expect(self, x: int, raw: bytes, *, priming: bool) -> bytes:
        """The response to a POST with requests is open until all of them are answered. Gives what
        goes on.
        """
        raw, calls = self.in_flight.ask(x, raw)
        self._exchanges[x] = _Exchange(x, calls, priming=priming)
        return raw

    def listen(self, x: int) -> None:
        """A GET opened a stream: it gets what belongs to no request, and what has waited for it."""
        stream = self._exchanges[x] = _Exchange(x)
        self._streams.append(stream)
        self._begin_stream(stream)
        for raw in self._held.take():
            self._event(stream, raw)

    def lose(self, x: int) -> list[InFlightCall]:
        """The client closed this exchange: nothing more is sent there. Gives its open calls."""
        exchange = self._exchanges.pop(x, None)
        if exchange is None:
            return []
        if exchange in self._streams:
            self._streams.remove(exchange)
        return exchange.calls

    def end_streams(self) -> None:
        """The session is over: the streams that GETs opened end."""
        for stream in tuple(self._streams):
            self._end(stream)

    def end(self) -> None:
        """The server is gone: what is still asked gets an error for an answer."""
        for exchange in tuple(self._exchanges.values()):
            text = "mcpmock: the server ended"
            errors = [edit.error(call.id, SERVER_ERROR, text) for call in exchange.calls]
            if exchange.streaming:
                for error in errors:
                    self._event(exchange, error)
                self._end(exchange)
            else:
                body = errors[0] if len(errors) == 1 else b"[%b]" % b",".join(errors)
                self.answer(exchange.number, (502, "Bad Gateway"), body)

    def route(self, data: bytes) -> None:
        """A message of the server's. A batch whose members belong together stays one."""
        raw = flatten(data)
        message = parse(raw)
        if not isinstance(message, Batch):
            self._route(raw, message, self._call_of(message))
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
            finished = [call for call, one in pairs if self._finish(call, one)]
            self._deliver(owned[0].exchange, whole, finished, answered=answered)
        else:
            for item, one, call in zip(items, messages, calls, strict=True):
                self._route(item, one, call)

    def _route(self, raw: bytes, message: Message, call: InFlightCall | None) -> None:
        if call is None:
            self._route_unrelated(raw, message)
            return
        raw = self.in_flight.put_back(raw, call)
        finished = [call] if self._finish(call, message) else []
        status = self._status(message)
        answered = isinstance(message, Response)
        self._deliver(call.exchange, raw, finished, answered=answered, status=status)

    def _call_of(self, message: Message) -> InFlightCall | None:
        return self.in_flight.of(message, cancels=self.stateless)

    def _finish(self, call: InFlightCall, message: Message) -> bool:
        """Whether nothing more comes for this call: it was answered, or the server ended it, as it
        may end a listen of the modern era.
        """
        cancelled = isinstance(message, Notification) and message.method == CANCELLED
        if not isinstance(message, Response) and not (self.stateless and cancelled):
            return False
        if call.method == "initialize" and isinstance(message, Response):
            version = decode(member(message.result, "protocolVersion") or b"null")
            self.revision = version if isinstance(version, str) else self.revision
        self.in_flight.forget(call)
        return True

    def _deliver(
        self,
        x: int,
        raw: bytes,
        finished: Sequence[InFlightCall],
        *,
        answered: bool,
        status: tuple[int, str] = _OK,
    ) -> None:
        """To the exchange of its request, unless its client has left."""
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
        self._event(exchange, raw)
        if over:
            self._end(exchange)

    def _route_unrelated(self, raw: bytes, message: Message) -> None:
        """To the only request there is; else to the stream for such things, or to the oldest
        request. Where many callers meet, what tells that it belongs to one of them is no other's.
        """
        told = isinstance(message, Response) or _tells_its_request(message)
        if isinstance(message, Opaque) or (told and self.stateless):
            return
        asking = [exchange for exchange in self._exchanges.values() if exchange.calls]
        asking = [exchange for exchange in asking if not exchange.only_listens] or asking
        if self._streams and len(asking) != 1:
            exchange = self._streams[-1]
        elif asking:
            exchange = asking[0]
        else:
            if not self.stateless and not isinstance(message, Response):
                self._held.add(raw)
            return
        if not exchange.streaming:
            self._begin_stream(exchange)
        self._event(exchange, raw)

    def _status(self, message: Message) -> tuple[int, str]:
        if not self.stateless or not isinstance(message, Response) or message.error is None:
            return _OK
        code = decode(member(message.error, "code") or b"null")
        return _STATUS.get(code, _OK) if isinstance(code, int) else _OK

    def _begin_stream(self, exchange: _Exchange) -> None:
        fields = [("Content-Type", EVENT_STREAM), ("Cache-Control", "no-cache, no-transform")]
        self._say(exchange.number, HttpResponse(*_OK, [*fields, *self._headers()]))
        exchange.streaming = True
        if exchange.priming:
            # 2025-11-25: an event with an id and empty data comes first: a client that loses the
            # connection then can resume before the first message.
            self._say(exchange.number, SseMeta(id=f"{exchange.number}-0"))
            self._out.append(Frame(S2C, exchange=exchange.number))

    def _event(self, exchange: _Exchange, raw: bytes) -> None:
        exchange.events += 1
        id_ = None if self.stateless else f"{exchange.number}-{exchange.events}"
        self._say(exchange.number, SseMeta(id=id_, event="message"))
        self._out.append(Frame(S2C, raw, exchange=exchange.number))

    def _end(self, exchange: _Exchange) -> None:
        self.lose(exchange.number)
        self._say(exchange.number, ExchangeEnd())

    def _headers(self) -> Headers:
        return [] if self.session is None else [(SESSION_HEADER, self.session)]

    def _say(self, x: int, fact: Fact) -> None:
        self._out.append(Frame(S2C, fact=fact, exchange=x))


def _tells_its_request(message: Message) -> bool:
    if not isinstance(message, Notification):
        return False
    return message.method == PROGRESS or member(message.params, *SUBSCRIPTION_PATH) is not None
