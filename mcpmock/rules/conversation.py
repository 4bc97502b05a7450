"""`ConversationChecker`: takes the frames of one session in order and returns the violations.

It reassembles messages, follows the HTTP exchanges and checks their heads and streams; `messages`
checks the messages themselves. Pure and bounded. Traffic that was not seen (a gap, an oversize
message) never counts as a violation. `checker` feeds one of these per session; all sessions with a
server share one `ServerState`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.methods import FIRST
from mcpmock.protocol.raw_json import items
from mcpmock.protocol.transport_facts import RESENT_STATUSES

from . import http_heads, http_sse, http_streams
from .context import CheckedMessage, ServerState, State
from .exchange import MAX_REMEMBERED, CheckedExchange, OpenExchanges
from .memory import IncompleteMessages, slim_request
from .messages import Judge, MessageChecker
from .revisions import revision_named, revision_of
from .specification import Breach, Unjudged, Violation

_END_OF_STREAM = b"[DONE]"
"""The last event of the APIs of language models, which some frameworks write at the end of every
stream. It is no message.
"""
_OVER_HTTP = ("streamable-http", "sse")


@attrs.define
class ConversationChecker:
    """One session: `check` takes each of its frames once, in order."""

    state: State = attrs.field(factory=State)
    _judge: Judge = attrs.field(init=False)
    _checker: MessageChecker = attrs.field(init=False)
    _exchanges: OpenExchanges = attrs.field(factory=OpenExchanges)
    _heads: http_heads.HeadChecker = attrs.field(factory=http_heads.HeadChecker)
    _sse: http_sse.SseChecker = attrs.field(factory=http_sse.SseChecker)
    _incomplete: IncompleteMessages = attrs.field(factory=IncompleteMessages)

    def __attrs_post_init__(self) -> None:
        self._judge = Judge(self.state)
        self._checker = MessageChecker(self.state, self._judge)

    @classmethod
    def over(
        cls, transport: str, *, sessionless: bool = False, server: ServerState | None = None
    ) -> ConversationChecker:
        """`sessionless`: the exchanges outside any session, each from a caller of its own."""
        return cls(
            State(transport, sessionless and transport in _OVER_HTTP, server or ServerState())
        )

    def mark_incomplete(self) -> None:
        """Note that part of the session was not seen."""
        self.state.incomplete = True

    def check(
        self, frame: m.Frame, number: int, time: int | None = None
    ) -> list[Violation | Unjudged]:
        """Return the violations in this frame, each with its `number`, and what could not be
        looked at. `time` is that of the frame in microseconds, if it is known.
        """
        self._judge.number = number
        self._exchanges.time = time
        self._judge.sender = "client" if frame.direction is m.C2S else "server"
        if isinstance(frame.fact, m.Fragment):
            whole = self._incomplete.add_piece(frame)
            self.state.incomplete |= self._incomplete.lost
            return [] if whole is None else self.check(whole, number, time)
        exchange = None if frame.exchange is None else self._exchanges.take(frame)
        if exchange is not None:
            return list(self._check_fact(frame, exchange))
        return [] if frame.fact is not None else self._check_messages(frame, None)

    def _check_fact(
        self, frame: m.Frame, exchange: CheckedExchange
    ) -> Iterator[Violation | Unjudged]:
        match frame.fact:
            case m.HttpRequest() | m.HttpResponse():
                yield from self._check_head(frame, exchange)
            case m.SseMeta():
                if self._streamable:
                    yield from self._violations(http_streams.check_event_id(exchange), exchange)
            case m.HttpBody() if frame.direction is not m.C2S and self._is_mcp(exchange):
                if self._streamable:
                    yield from self._violations(
                        http_heads.check_body(exchange, frame.raw), exchange
                    )
            case m.ExchangeEnd(how) if frame.direction is not m.C2S:
                if self._streamable:
                    yield from self._violations(
                        http_streams.check_stream_end(exchange, how), exchange
                    )
                self._end_exchange(exchange)
            case m.ExchangeEnd():
                self._end_exchange(exchange)
            case None if frame.direction is m.C2S:
                yield from self._check_request_body(frame, exchange)
            case None:
                yield from self._check_response_message(frame, exchange)
                self._exchanges.end_data(exchange)
            case _:
                pass

    def _violations(
        self, breaches: Iterable[Breach], exchange: CheckedExchange, revision: str | None = None
    ) -> Iterator[Violation | Unjudged]:
        return self._judge.violations(breaches, exchange, revision)

    @property
    def _streamable(self) -> bool:
        return self.state.transport == "streamable-http"

    def _is_mcp(self, exchange: CheckedExchange) -> bool:
        """Tell MCP from other paths of the server, which may serve anything."""
        if exchange.posted is not None:
            return any(not isinstance(one, m.Opaque) for one in exchange.posted)
        path = "" if exchange.head is None else exchange.head.path
        return exchange.method != "POST" and path in self.state.server.paths

    def _note_path(self, exchange: CheckedExchange) -> None:
        """Note that what is at this path belongs to MCP."""
        if exchange.head is not None and len(self.state.server.paths) < MAX_REMEMBERED:
            self.state.server.paths.add(exchange.head.path)

    def _check_head(
        self, frame: m.Frame, exchange: CheckedExchange
    ) -> Iterator[Violation | Unjudged]:
        """Check a head; the head of a POST waits for its body, which names the revision."""
        head = frame.fact
        if isinstance(head, m.HttpResponse) and (
            head.repeats_request or head.status in RESENT_STATUSES
        ):
            self._checker.take_back(exchange)
        if isinstance(frame.fact, m.HttpRequest):
            if exchange.method != "POST":
                exchange.revision = revision_named(self.state, exchange)
                yield from self._check_request_head(exchange)
        elif exchange.method != "POST" or exchange.posted is not None:
            if exchange.method == "GET" and exchange.streams:
                self.state.note_stream(exchange.number, is_open=True)
            yield from self._check_response_head(exchange)

    def _check_request_head(self, exchange: CheckedExchange) -> Iterator[Violation | Unjudged]:
        if not self._is_mcp(exchange):
            return
        if self._streamable:
            yield from self._violations(self._heads.check_request(exchange, self.state), exchange)
            yield from self._violations(http_heads.check_mirrored_headers(exchange), exchange)
            yield from self._violations(http_streams.check_resume(exchange), exchange)
        elif exchange.method == "POST":
            yield from self._violations(self._sse.check_post(exchange), exchange, FIRST)

    def _check_response_head(self, exchange: CheckedExchange) -> Iterator[Violation | Unjudged]:
        if self._streamable and self._is_mcp(exchange):
            yield from self._violations(self._heads.check_response(exchange, self.state), exchange)

    def _check_request_body(
        self, frame: m.Frame, exchange: CheckedExchange
    ) -> Iterator[Violation | Unjudged]:
        """Check the messages in the body of a POST, and its heads."""
        posted = m.parse_items(frame.raw)
        exchange.posted = posted
        if self._is_mcp(exchange) and exchange.head is not None:
            self._note_path(exchange)
            exchange.revision = revision_of(self.state, m.C2S, posted[0], exchange)
            exchange.open = [request.id for request in exchange.requests]
            yield from self._check_request_head(exchange)
            yield from self._check_messages(frame, exchange)
            if exchange.response is not None:
                yield from self._check_response_head(exchange)
        elif exchange.head is not None and exchange.head.path in self.state.server.paths:
            yield from self._check_messages(frame, exchange)  # broken, where messages are posted
        exchange.posted = [slim_request(item) for item in posted]

    def _check_response_message(
        self, frame: m.Frame, exchange: CheckedExchange
    ) -> Iterator[Violation | Unjudged]:
        if not self._streamable:
            yield from self._violations(
                self._sse.check_event_data(exchange, frame), exchange, FIRST
            )
        elif self._is_mcp(exchange):
            yield from self._violations(http_heads.check_body(exchange, frame.raw), exchange)
        if frame.raw.strip() == _END_OF_STREAM and exchange.streams:
            return
        event = None if exchange.event is None else exchange.event.event
        if event == "endpoint" and not self._streamable:
            self._note_path(exchange)
        if event not in (None, "", "message") or exchange.repeated or not frame.raw.strip():
            return
        message = (
            m.parse(frame.raw) if exchange.status >= 400 or not self._is_mcp(exchange) else None
        )
        if isinstance(message, m.Opaque) or (message and m.member(frame.raw, "jsonrpc") is None):
            return
        yield from self._check_messages(frame, exchange)

    def _end_exchange(self, exchange: CheckedExchange) -> None:
        self.state.note_stream(exchange.number, is_open=False)
        self._heads.forget_exchange(exchange)
        self._checker.forget_exchange(exchange.number)
        self._incomplete.forget(exchange.number)

    def _check_messages(
        self, frame: m.Frame, exchange: CheckedExchange | None
    ) -> list[Violation | Unjudged]:
        batch = (items(frame.raw) or []) if frame.raw[:1] != b"{" else []
        found: list[Violation | Unjudged] = []
        for raw in batch or [frame.raw]:
            checked, violations = self._checker.check(
                frame.direction, raw, m.parse(raw), exchange, len(batch)
            )
            found += violations
            self._note_on_exchange(checked)
        return found

    def _note_on_exchange(self, checked: CheckedMessage) -> None:
        """Note on the exchanges which requests were answered or cancelled."""
        message, call = checked.message, checked.attribution.call
        if isinstance(message, m.Response) and checked.exchange is not None:
            if message.id is not None:
                checked.exchange.mark_answered(message.id)
            elif message.error is not None:
                # An error without an id answers a request that could not be read, so which of them
                # it answers is not known.
                checked.exchange.open = []
        elif checked.method == CANCELLED and call is not None:
            origin = self._checker.origin_of(call)
            cancelled = origin and self._exchanges.running(origin.exchange)
            if cancelled:
                cancelled.cancelled = True
