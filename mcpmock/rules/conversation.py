"""`ConversationChecker`: the frames of one session go in, in order, and out come the violations of
the protocol's rules.

It puts messages together, follows the HTTP exchanges and checks their heads and streams; `messages`
checks what is said in them. Pure and bounded. What was not seen (a gap, a message too long to look
at) is never reported as a violation. The live stage and the check of a cassette feed one of these
per session; what all sessions with a server share is its `ServerState`.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.messages import (
    C2S,
    ExchangeEnd,
    Fragment,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    Opaque,
    Response,
    SseMeta,
    member,
    parse,
    parse_items,
)
from mcpmock.protocol.methods import FIRST
from mcpmock.protocol.raw_json import elements

from . import http_heads, http_modern, http_sse, http_streams
from .calls import MOST
from .context import CheckedMessage, ServerState, State
from .exchange import CheckedExchange, OpenExchanges
from .memory import IncompleteMessages, slim
from .messages import Judge, MessageChecker
from .revisions import revision_named, revision_of
from .violation import Violation

_OVER_HTTP = ("streamable-http", "sse")


@attrs.define
class ConversationChecker:
    """One session, of which `hear` is given every frame once, in order."""

    state: State = attrs.field(factory=State)
    _judge: Judge = attrs.field(init=False)
    _checker: MessageChecker = attrs.field(init=False)
    _exchanges: OpenExchanges = attrs.field(factory=OpenExchanges)
    _heads: http_heads.Heads = attrs.field(factory=http_heads.Heads)
    _sse: http_sse.Sse = attrs.field(factory=http_sse.Sse)
    _incomplete: IncompleteMessages = attrs.field(factory=IncompleteMessages)

    def __attrs_post_init__(self) -> None:
        self._judge = Judge(self.state)
        self._checker = MessageChecker(self.state, self._judge)

    @classmethod
    def over(
        cls, transport: str, *, alone: bool = False, server: ServerState | None = None
    ) -> ConversationChecker:
        """`alone`: the exchanges outside any session, each of which is another caller's."""
        return cls(State(transport, alone and transport in _OVER_HTTP, server or ServerState()))

    def miss(self) -> None:
        """Part of the session was not seen."""
        self.state.blind = True

    def hear(self, frame: Frame, number: int) -> list[Violation]:
        """The rules that this frame breaks. `number` is the caller's, for the violations."""
        self._judge.number = number
        if isinstance(frame.fact, Fragment):
            whole = self._incomplete.whole(frame)
            self.state.blind |= self._incomplete.lost
            return [] if whole is None else self.hear(whole, number)
        exchange = None if frame.exchange is None else self._exchanges.take(frame)
        if exchange is not None:
            return list(self._check_fact(frame, exchange))
        return [] if frame.fact is not None else list(self._check_messages(frame, None))

    def _check_fact(self, frame: Frame, exchange: CheckedExchange) -> Iterator[Violation]:
        match frame.fact:
            case HttpRequest() | HttpResponse():
                yield from self._check_head(frame, exchange)
            case SseMeta():
                if self._streamable:
                    yield from self._judge.violations(http_streams.event(exchange), exchange)
            case HttpBody() if frame.direction is not C2S and self._is_mcp(exchange):
                if self._streamable:
                    yield from self._judge.violations(
                        http_heads.body(exchange, frame.raw), exchange
                    )
            case ExchangeEnd(how) if frame.direction is not C2S:
                if self._streamable:
                    yield from self._judge.violations(http_streams.ended(exchange, how), exchange)
                self._end_exchange(exchange)
            case ExchangeEnd():
                self._end_exchange(exchange)
            case None if frame.direction is C2S:
                yield from self._check_posted(frame, exchange)
            case None:
                yield from self._check_sent(frame, exchange)
                self._exchanges.data_is_over(exchange)
            case _:
                pass

    @property
    def _streamable(self) -> bool:
        return self.state.transport == "streamable-http"

    def _is_mcp(self, exchange: CheckedExchange) -> bool:
        """Whether it is one of the protocol's: other paths have their own rules."""
        if exchange.posted is not None:
            return any(not isinstance(one, Opaque) for one in exchange.posted)
        path = "" if exchange.head is None else exchange.head.path
        return exchange.method != "POST" and path in self.state.server.paths

    def _check_head(self, frame: Frame, exchange: CheckedExchange) -> Iterator[Violation]:
        """A head is judged when what it is about is known: of a POST the body."""
        if isinstance(frame.fact, HttpRequest):
            if exchange.method != "POST":
                exchange.revision = revision_named(self.state, exchange)
                yield from self._check_request_head(exchange)
        elif exchange.method != "POST" or exchange.posted is not None:
            yield from self._check_response_head(exchange)

    def _check_request_head(self, exchange: CheckedExchange) -> Iterator[Violation]:
        if not self._is_mcp(exchange):
            return
        if self._streamable:
            yield from self._judge.violations(self._heads.asked(exchange, self.state), exchange)
            yield from self._judge.violations(http_modern.asked(exchange), exchange)
        elif exchange.method == "POST":
            yield from self._judge.violations(self._sse.asked(exchange), exchange, FIRST)

    def _check_response_head(self, exchange: CheckedExchange) -> Iterator[Violation]:
        if self._streamable and self._is_mcp(exchange):
            yield from self._judge.violations(self._heads.answered(exchange, self.state), exchange)

    def _check_posted(self, frame: Frame, exchange: CheckedExchange) -> Iterator[Violation]:
        """The body of a request: what is in it, then the heads around it."""
        items = parse_items(frame.raw)
        exchange.posted = items
        if self._is_mcp(exchange) and exchange.head is not None:
            if len(self.state.server.paths) < MOST:
                self.state.server.paths.add(exchange.head.path)
            exchange.revision = revision_of(self.state, C2S, items[0], exchange)
            exchange.open = [request.id for request in exchange.requests]
            yield from self._check_request_head(exchange)
            yield from self._check_messages(frame, exchange)
            if exchange.response is not None:
                yield from self._check_response_head(exchange)
        exchange.posted = [slim(item) for item in items]

    def _check_sent(self, frame: Frame, exchange: CheckedExchange) -> Iterator[Violation]:
        """A message in a response."""
        if not self._streamable:
            yield from self._judge.violations(self._sse.data(exchange, frame), exchange, FIRST)
        elif self._is_mcp(exchange):
            yield from self._judge.violations(http_heads.body(exchange, frame.raw), exchange)
        event = None if exchange.event is None else exchange.event.event
        if event not in (None, "", "message") or exchange.again or not frame.raw.strip():
            return
        ours = parse(frame.raw) if exchange.status >= 400 or not self._is_mcp(exchange) else None
        if isinstance(ours, Opaque) or (ours and member(frame.raw, "jsonrpc") is None):
            return
        yield from self._check_messages(frame, exchange)

    def _end_exchange(self, exchange: CheckedExchange) -> None:
        self._heads.ended(exchange)
        self._checker.forget_exchange(exchange.number)
        self._incomplete.forget(exchange.number)

    def _check_messages(
        self, frame: Frame, exchange: CheckedExchange | None
    ) -> Iterator[Violation]:
        spans = elements(frame.raw)
        raws = [frame.raw[slice(*span)] for span in spans] if spans else [frame.raw]
        for raw in raws:
            message = parse(raw)
            batch = len(spans or ())
            checked, violations = self._checker.check(
                frame.direction, raw, message, exchange, batch
            )
            yield from violations
            self._note_on_exchange(checked)

    def _note_on_exchange(self, checked: CheckedMessage) -> None:
        """What a message changes about the exchanges: what is open on them, what was cancelled."""
        message, call = checked.message, checked.note.call
        if isinstance(message, Response) and checked.exchange is not None:
            if message.id is not None:
                checked.exchange.answered(message.id)
            elif message.error is not None:
                # An error without an id answers a request that could not be read, so which of them
                # it answers is not known.
                checked.exchange.open = []
        elif checked.method == CANCELLED and call is not None:
            origin = self._checker.origin_of(call)
            cancelled = origin and self._exchanges.running(origin.exchange)
            if cancelled:
                cancelled.cancelled = True
