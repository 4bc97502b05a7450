"""`ConversationChecker`: the frames of one session go in, in order, and out come the rules they
break.

Pure and bounded: it remembers what is open and a limited part of what is over. What it has not seen
(a gap, a message too long to look at) it holds against nobody. Both the live stage and the check of
a cassette feed one of these per session; what all sessions with a server share is its
`ServerState`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

import attrs

from mcpmock.protocol.correlation import CANCELLED, Correlation, PendingCall
from mcpmock.protocol.messages import (
    C2S,
    Direction,
    ExchangeEnd,
    Fragment,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    Message,
    Notification,
    Opaque,
    Request,
    Response,
    SseMeta,
    member,
    parse,
    parse_items,
)
from mcpmock.protocol.methods import FIRST
from mcpmock.protocol.raw_json import elements

from . import (
    capabilities,
    http_heads,
    http_modern,
    http_sse,
    http_streams,
    input_requests,
    jsonrpc,
    lifecycle,
    modern,
)
from .calls import MOST, CallTracker
from .context import CheckedMessage, ServerState, State
from .exchange import CheckedExchange, OpenExchanges
from .known_deviations import known
from .memory import IncompleteMessages, slim, too_long
from .progress import ProgressTracker
from .registry import in_force
from .revisions import revision_named, revision_of, revision_of_call
from .rule import Breach
from .subscriptions import Subscriptions
from .violation import Violation

_OVER_HTTP = ("streamable-http", "sse")
_NEEDS_ALL = {
    "handshake-first", "handshake-twice", "request-before-answer", "request-before-initialized",
    "initialized-missing", "id-reused", "answers-nothing", "answered-twice", "cancels-nothing",
    "progress-token", "token-reused", "request-state", "subscription-unknown", "log-level",
    "log-stream", "stream-cut", "stream-goes-on", "subscription-acknowledged",
}  # fmt: skip
"""The rules that nobody can be held to who was not heard from the beginning, and whole."""


@attrs.define
class _Talk:
    """Those who share a space of ids: a session, or of callers without one each exchange."""

    calls: Correlation = attrs.field(factory=Correlation)
    fates: CallTracker = attrs.field(factory=CallTracker)
    reports: ProgressTracker = attrs.field(factory=ProgressTracker)
    subscriptions: Subscriptions = attrs.field(factory=Subscriptions)


@attrs.define
class _Asked:
    """What is kept of a request: its revision and the exchange it came on."""

    revision: str | None
    exchange: int | None


@attrs.define
class ConversationChecker:
    """One session, of which every frame is heard once, in order."""

    state: State = attrs.field(factory=State)
    _talk: _Talk = attrs.field(factory=_Talk)
    _talks: OrderedDict[int, _Talk] = attrs.field(factory=OrderedDict)
    _exchanges: OpenExchanges = attrs.field(factory=OpenExchanges)
    _heads: http_heads.Heads = attrs.field(factory=http_heads.Heads)
    _sse: http_sse.Sse = attrs.field(factory=http_sse.Sse)
    _asked: OrderedDict[int, _Asked] = attrs.field(factory=OrderedDict)
    _torn: IncompleteMessages = attrs.field(factory=IncompleteMessages)
    _index: int = 0
    _number: int = 0

    @classmethod
    def over(
        cls, transport: str, *, alone: bool = False, server: ServerState | None = None
    ) -> ConversationChecker:
        """`alone`: what belongs to no session, where each exchange is another caller's."""
        return cls(State(transport, alone and transport in _OVER_HTTP, server or ServerState()))

    def miss(self) -> None:
        """Something was said that is not to be heard."""
        self.state.blind = True

    def hear(self, frame: Frame, number: int) -> list[Violation]:
        """The rules that this frame breaks. `number` is the caller's, for the violations."""
        self._number = number
        if isinstance(frame.fact, Fragment):
            whole = self._torn.whole(frame)
            self.state.blind |= self._torn.lost
            return [] if whole is None else self.hear(whole, number)
        exchange = None if frame.exchange is None else self._exchanges.take(frame)
        if exchange is not None:
            return list(self._exchange(frame, exchange))
        return [] if frame.fact is not None else list(self._messages(frame, None))

    def _exchange(self, frame: Frame, exchange: CheckedExchange) -> Iterator[Violation]:
        match frame.fact:
            case HttpRequest() | HttpResponse():
                yield from self._head(frame, exchange)
            case SseMeta():
                if self._streamable:
                    yield from self._judge(http_streams.event(exchange), exchange)
            case HttpBody() if frame.direction is not C2S and self._is_mcp(exchange):
                if self._streamable:
                    yield from self._judge(http_heads.body(exchange, frame.raw), exchange)
            case ExchangeEnd(how) if frame.direction is not C2S:
                if self._streamable:
                    yield from self._judge(http_streams.ended(exchange, how), exchange)
                self._forget(exchange)
            case ExchangeEnd():
                self._forget(exchange)
            case None if frame.direction is C2S:
                yield from self._posted(frame, exchange)
            case None:
                yield from self._said(frame, exchange)
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

    def _head(self, frame: Frame, exchange: CheckedExchange) -> Iterator[Violation]:
        """A head is judged when what it is about is known: of a POST the body."""
        if isinstance(frame.fact, HttpRequest):
            if exchange.method != "POST":
                exchange.revision = revision_named(self.state, exchange)
                yield from self._judge_asked(exchange)
        elif exchange.method != "POST" or exchange.posted is not None:
            yield from self._judge_answered(exchange)

    def _judge_asked(self, exchange: CheckedExchange) -> Iterator[Violation]:
        if not self._is_mcp(exchange):
            return
        if self._streamable:
            yield from self._judge(self._heads.asked(exchange, self.state), exchange)
            yield from self._judge(http_modern.asked(exchange), exchange)
        elif exchange.method == "POST":
            yield from self._judge(self._sse.asked(exchange), exchange, FIRST)

    def _judge_answered(self, exchange: CheckedExchange) -> Iterator[Violation]:
        if self._streamable and self._is_mcp(exchange):
            yield from self._judge(self._heads.answered(exchange, self.state), exchange)

    def _posted(self, frame: Frame, exchange: CheckedExchange) -> Iterator[Violation]:
        """The body of a request: what is in it, then the heads around it."""
        items = parse_items(frame.raw)
        exchange.posted = items
        if self._is_mcp(exchange) and exchange.head is not None:
            if len(self.state.server.paths) < MOST:
                self.state.server.paths.add(exchange.head.path)
            exchange.revision = revision_of(self.state, C2S, items[0], exchange)
            exchange.open = [request.id for request in exchange.requests]
            yield from self._judge_asked(exchange)
            yield from self._messages(frame, exchange)
            if exchange.response is not None:
                yield from self._judge_answered(exchange)
        exchange.posted = [slim(item) for item in items]

    def _said(self, frame: Frame, exchange: CheckedExchange) -> Iterator[Violation]:
        """A message in a response."""
        if not self._streamable:
            yield from self._judge(self._sse.data(exchange, frame), exchange, FIRST)
        elif self._is_mcp(exchange):
            yield from self._judge(http_heads.body(exchange, frame.raw), exchange)
        event = None if exchange.event is None else exchange.event.event
        if event not in (None, "", "message") or exchange.again or not frame.raw.strip():
            return
        ours = parse(frame.raw) if exchange.status >= 400 or not self._is_mcp(exchange) else None
        if isinstance(ours, Opaque) or (ours and member(frame.raw, "jsonrpc") is None):
            return
        yield from self._messages(frame, exchange)

    def _forget(self, exchange: CheckedExchange) -> None:
        self._heads.ended(exchange)
        self._talks.pop(exchange.number, None)
        self._torn.forget(exchange.number)

    def _messages(self, frame: Frame, exchange: CheckedExchange | None) -> Iterator[Violation]:
        spans = elements(frame.raw)
        if not spans:
            yield from self._message(frame.direction, frame.raw, parse(frame.raw), exchange, 0)
            return
        for span in spans:
            raw = frame.raw[slice(*span)]
            yield from self._message(frame.direction, raw, parse(raw), exchange, len(spans))

    def _message(
        self,
        direction: Direction,
        raw: bytes,
        message: Message,
        exchange: CheckedExchange | None,
        batch: int,
    ) -> Iterator[Violation]:
        if too_long(message):
            self.miss()
        talk = self._talk_of(exchange)
        before = _before(talk.calls, direction, message)
        self._index += 1
        note = talk.calls.note(direction, slim(message), self._index)
        asked = None if note.call is None else self._asked.get(note.call.index)
        revision = revision_of(self.state, direction, message, exchange)
        if note.call is not None and not isinstance(message, Request):
            known_as = None if asked is None else asked.revision
            revision = revision_of_call(self.state, message, note.call, known_as)
        heard = CheckedMessage(direction, message, raw, note, revision, exchange)
        heard.home = self._home(before if isinstance(message, Request) else note.call)
        heard.before, heard.batch = before, batch
        if isinstance(message, Request):
            self._remember(heard)
        modern.settle(heard, self.state)
        for breach in self._watch(heard, talk):
            yield from self._judge([breach], exchange, revision, heard)
        lifecycle.settle(heard, self.state)
        self._settle_exchange(heard)

    def _watch(self, heard: CheckedMessage, talk: _Talk) -> Iterator[Breach]:
        state = self.state
        yield from jsonrpc.watch(heard)
        yield from lifecycle.watch(heard, state)
        yield from capabilities.watch(heard, state)
        yield from talk.fates.watch(heard, state)
        yield from talk.reports.watch(heard, talk.fates, talk.calls)
        yield from modern.watch(heard, state)
        yield from input_requests.watch(heard, state)
        yield from talk.subscriptions.watch(heard, talk.calls)
        if self._streamable:
            yield from http_streams.watch(heard)
            yield from http_modern.answered(heard, state)

    def _home(self, call: PendingCall | None) -> int | None:
        """The exchange that a call came on, where calls have exchanges of their own."""
        asked = None if call is None or not self._streamable else self._asked.get(call.index)
        return None if asked is None else asked.exchange

    def _talk_of(self, exchange: CheckedExchange | None) -> _Talk:
        if exchange is None or not self.state.alone:
            return self._talk
        talk = self._talks.setdefault(exchange.number, _Talk())
        if len(self._talks) > MOST:
            self._talks.popitem(last=False)
        return talk

    def _remember(self, heard: CheckedMessage) -> None:
        number = None if heard.exchange is None else heard.exchange.owner
        self._asked[self._index] = _Asked(heard.revision, number)
        if len(self._asked) > MOST:
            self._asked.popitem(last=False)

    def _settle_exchange(self, heard: CheckedMessage) -> None:
        """What a message changes about the exchanges: what is open on them, what was cancelled."""
        message, call = heard.message, heard.note.call
        if isinstance(message, Response) and heard.exchange is not None:
            if message.id is not None:
                heard.exchange.answered(message.id)
            elif message.error is not None:
                heard.exchange.open = []
        elif heard.method == CANCELLED and call is not None:
            asked = self._asked.get(call.index)
            cancelled = asked and self._exchanges.running(asked.exchange)
            if cancelled:
                cancelled.cancelled = True

    def _judge(
        self,
        breaches: Iterable[Breach],
        exchange: CheckedExchange | None,
        revision: str | None = None,
        heard: CheckedMessage | None = None,
    ) -> Iterator[Violation]:
        """The breaches of rules that hold in the revision."""
        if heard is None and revision is None and exchange is not None:
            revision = exchange.revision
        rules = in_force(revision or "")
        for breach in breaches:
            rule = rules.get(breach.rule)
            if rule is None or (self.state.blind and rule.name in _NEEDS_ALL):
                continue
            why = known(rule.name, heard, exchange, self.state)
            yield Violation(self._number, rule, revision or "", breach.text, why)


def _before(calls: Correlation, direction: Direction, message: Message) -> PendingCall | None:
    """The open call of the id that this message has or cancels."""
    match message:
        case Request(id=id_):
            return calls.open_call(direction, id_)
        case Notification(method=method, params=params) if method == CANCELLED:
            id_ = member(params, "requestId") or b""
            return calls.open_call(direction, id_)
        case _:
            return None
