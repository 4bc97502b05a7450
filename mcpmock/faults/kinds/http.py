"""HTTP: statuses, bodies and heads that a client did not expect."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import attrs
from attrs.converters import optional

from mcpmock.faults.chunking import wire_bytes
from mcpmock.faults.fault import HTTP, Act, Dice, Fault, FaultLevel, MatchedMessage, frozen
from mcpmock.faults.match import Subject
from mcpmock.faults.responses import plain_response, uncounted, with_type
from mcpmock.faults.segments import On
from mcpmock.faults.session_state import Effect
from mcpmock.options.units import Count, Seconds, Status, to_seconds
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import S2C, ExchangeEnd, Frame, HttpBody, HttpResponse
from mcpmock.protocol.revisions import speaks_modern

_ANY_REQUEST = On.ASKED | On.RESPONSE
"""What a client sends is an HTTP request, a JSON-RPC response included."""


@frozen(kw_only=True)
class HttpStatus(Fault, acts_on=_ANY_REQUEST, only="server", transports=HTTP):
    """The request never arrives and is answered with `status`.

    The answer has a `Retry-After` header with `retry_after`, and `body` as plain text, where these
    are given.

    >>> fault = mcpmock.faults.HttpStatus(status=429, retry_after="2s", match={"tool": "get_*"})
    """

    status: Status = 503
    retry_after: Seconds | None = attrs.field(default=None, converter=optional(to_seconds))
    body: str | None = None

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        seconds = None if self.retry_after is None else str(math.ceil(self.retry_after))
        fields = {} if seconds is None else {"Retry-After": seconds}
        yield Send(plain_response(matched.exchange, self.status, fields, self.body))


@frozen(kw_only=True)
class SessionExpired(Fault, acts_on=_ANY_REQUEST, only="server", transports=HTTP):
    """The request never arrives and is answered with 404: the client has to initialize again.

    With `match.after` the session expires from some request on. `initialize` always passes, and so
    do requests of revision 2026-07-28, which has no sessions.

    >>> fault = mcpmock.faults.SessionExpired(match={"method": "tools/call", "nth": 2})
    """

    def fits(self, subject: Subject) -> bool:
        message = subject.message
        return subject.method != "initialize" and (message is None or not speaks_modern(message))

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield Send(plain_response(matched.exchange, 404))


@frozen(kw_only=True)
class EmptyResponse(Fault, acts_on=On.REQUEST, only="server", transports=HTTP):
    """The request never arrives and is answered with 200 and an empty body.

    >>> fault = mcpmock.faults.EmptyResponse(match={"method": "tools/call"})
    """

    content_type: str = "application/json"

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield Send(plain_response(matched.exchange, 200, {"Content-Type": self.content_type}))


@frozen(kw_only=True)
class MalformedChunk(Fault, acts_on=On.REQUEST, only="server", transports=HTTP):
    """The request never arrives; the answer has a chunk with an invalid length.

    With `cut` the length breaks off and the connection closes. A valid head and one valid chunk
    come first.

    >>> fault = mcpmock.faults.MalformedChunk(match={"method": "tools/call"})
    """

    cut: bool = False

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        number = matched.exchange
        head = HttpResponse(200, "OK", [("Content-Type", "application/json")])
        broken = b"1" if self.cut else b"mcpmock\r\n{}\r\n"
        # A body that is not whole is sent in chunks: first a valid one, then the invalid one.
        yield Send(
            [
                Frame(S2C, fact=head, exchange=number),
                Frame(S2C, b"{", b"", HttpBody(), number),
                Frame(S2C, broken, b"", HttpBody(unframed=True), number),
                Frame(S2C, fact=ExchangeEnd("closed"), exchange=number),
            ]
        )


class _WholeResponse(Fault, only="client", level=FaultLevel.BODY, transports=("streamable-http",)):
    """A fault that changes the head of a response and all that comes behind it."""

    def subject(self, subject: Subject) -> Subject:
        """Return all that comes on the HTTP exchange of a call that matches."""
        return subject.carried

    def continues(self, subject: Subject, on: On, memory: Any) -> bool:
        return subject.frame.exchange in memory and on in On.MESSAGE | On.CLOSE


@frozen(kw_only=True)
class WrongContentType(_WholeResponse):
    """The response has another `content_type`; its body is the same, also that of an event stream.

    >>> fault = mcpmock.faults.WrongContentType(content_type="text/html", match={"tool": "get_*"})
    """

    content_type: str = "text/html"

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        head, number = matched.unit[0], matched.exchange
        if matched.on is On.CLOSE:
            del matched.memory[number]
        elif number in matched.memory:
            yield Send([Frame(S2C, wire_bytes(matched), b"", HttpBody(), number)])
            return
        elif isinstance(head.fact, HttpResponse) and head.fact.media_type != self.content_type:
            relabelled, *rest = with_type(head, self.content_type), *matched.unit[1:]
            if head.fact.media_type == EVENT_STREAM:
                # Under another type its events are the bytes of a body.
                matched.memory[number] = True
                rest = [Frame(S2C, wire_bytes(matched), b"", HttpBody(), number)] if rest else []
            yield Send([uncounted(relabelled), *rest])
            return
        yield matched.passed()


@frozen(kw_only=True)
class JsonInsteadOfSse(_WholeResponse):
    """The response comes alone, as JSON, where an event stream was to come.

    Progress and everything else on the stream is lost.

    >>> fault = mcpmock.faults.JsonInsteadOfSse(match={"method": "tools/call"})
    """

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        head, number = matched.unit[0], matched.exchange
        if isinstance(head.fact, HttpResponse):
            if head.fact.media_type != EVENT_STREAM:
                yield matched.passed()
                return
            matched.memory[number] = with_type(head, "application/json")
        if matched.on is On.CLOSE:
            del matched.memory[number]
            yield matched.passed()
        elif matched.on is On.RESPONSE and matched.frame.fact is None:
            answer = Frame(S2C, matched.frame.raw, exchange=number)
            yield Send([matched.memory.pop(number), answer])
        else:
            yield Effect(lambda session, _: session.unmute(number))


@frozen(kw_only=True)
class Outage(Fault, acts_on=_ANY_REQUEST, only="server", transports=HTTP):
    """Requests that match are refused with `status` for `time`, counted from the first one.

    With `reset` their connections are reset instead.

    >>> fault = mcpmock.faults.Outage(time="5s", status=503, match={"nth": 3})
    """

    time: Seconds = attrs.field(default=5.0, converter=to_seconds)
    status: Status = 503
    reset: bool = False

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        if matched.now >= matched.memory.setdefault("until", matched.now + self.time):
            yield matched.passed()
        elif self.reset:
            yield Send([Frame(S2C, fact=ExchangeEnd("reset"), exchange=matched.exchange)])
        else:
            yield Send(plain_response(matched.exchange, self.status))


@frozen(kw_only=True)
class Quota(Fault, acts_on=On.ASKED, only="server", transports=HTTP):
    """Only `requests` requests that match pass in each `window`; further ones get 429.

    The answer says in `Retry-After` when the next window begins.

    >>> fault = mcpmock.faults.Quota(requests=10, window="1s")
    """

    requests: Count = 10
    window: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        began = matched.memory.get("began")
        if began is None or matched.now >= began + self.window:
            began = matched.memory["began"] = matched.now
            matched.memory["let"] = 0
        if matched.memory["let"] < self.requests:
            matched.memory["let"] += 1
            yield matched.passed()
            return
        left = math.ceil(began + self.window - matched.now)
        yield Send(plain_response(matched.exchange, 429, {"Retry-After": str(left)}))
