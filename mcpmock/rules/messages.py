"""`MessageChecker`: the messages of one session go in, in order, and out come the violations in
them. Three lifetimes, three classes: `MessageChecker` is the session's, `IdSpace` that of a space
of ids, `CheckedMessage` (`context`) that of one message.

Pure and bounded: it remembers what is open and a limited part of what is over. `conversation` above
takes the messages out of frames and HTTP exchanges.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

import attrs

from mcpmock.protocol.correlation import CANCELLED, Correlation, PendingCall
from mcpmock.protocol.messages import Direction, Message, Notification, Request, member

from . import capabilities, http_modern, http_streams, input_requests, jsonrpc, lifecycle, modern
from .calls import MOST, CallTracker
from .context import CheckedMessage, State
from .exchange import CheckedExchange
from .known_deviations import known
from .memory import slim, too_long
from .progress import ProgressTracker
from .registry import in_force
from .revisions import revision_of, revision_of_call
from .rule import Breach
from .subscriptions import Subscriptions
from .violation import Violation

_NEED_WHOLE_SESSION = {
    "handshake-first", "handshake-twice", "request-before-answer", "request-before-initialized",
    "initialized-missing", "id-reused", "answers-nothing", "answered-twice", "cancels-nothing",
    "progress-token", "token-reused", "request-state", "subscription-unknown", "log-level",
    "log-stream", "stream-cut", "stream-goes-on", "subscription-acknowledged",
}  # fmt: skip
"""The rules that cannot be judged where the beginning or a part of the session was not seen."""


@attrs.define
class Judge:
    """Turns breaches into violations: of the rules that hold in a revision, with what explains
    them. `number` is that of the frame in hand.
    """

    state: State
    number: int = 0

    def violations(
        self,
        breaches: Iterable[Breach],
        exchange: CheckedExchange | None,
        revision: str | None = None,
        message: CheckedMessage | None = None,
    ) -> Iterator[Violation]:
        """A breach outside any message is judged by the revision of its exchange."""
        if message is None and revision is None and exchange is not None:
            revision = exchange.revision
        rules = in_force(revision or "")
        for breach in breaches:
            rule = rules.get(breach.rule)
            if rule is None or (self.state.blind and rule.name in _NEED_WHOLE_SESSION):
                continue
            why = known(rule.name, message, exchange, self.state)
            yield Violation(self.number, rule, revision or "", breach.text, why)


@attrs.define
class IdSpace:
    """What the messages of one space of ids have come to: of a session, or of one exchange of a
    caller without a session.
    """

    calls: Correlation = attrs.field(factory=Correlation)
    fates: CallTracker = attrs.field(factory=CallTracker)
    progress: ProgressTracker = attrs.field(factory=ProgressTracker)
    subscriptions: Subscriptions = attrs.field(factory=Subscriptions)

    def open_call(self, direction: Direction, message: Message) -> PendingCall | None:
        """The open call of the id that this message has, or cancels."""
        match message:
            case Request(id=id_):
                return self.calls.open_call(direction, id_)
            case Notification(method=method, params=params) if method == CANCELLED:
                return self.calls.open_call(direction, member(params, "requestId") or b"")
            case _:
                return None


@attrs.frozen
class CallOrigin:
    """What is kept of a request: its revision, and the exchange it came on."""

    revision: str | None
    exchange: int | None


@attrs.define
class MessageChecker:
    """The messages of one session."""

    state: State
    judge: Judge
    session: IdSpace = attrs.field(factory=IdSpace)
    _exchanges: OrderedDict[int, IdSpace] = attrs.field(factory=OrderedDict)
    _origins: OrderedDict[int, CallOrigin] = attrs.field(factory=OrderedDict)
    _index: int = 0

    def check(
        self,
        direction: Direction,
        raw: bytes,
        message: Message,
        exchange: CheckedExchange | None,
        batch: int = 0,
    ) -> tuple[CheckedMessage, list[Violation]]:
        """The message with all that is known of it, and the violations in it. `batch` is the size
        of the batch that it came in.
        """
        if too_long(message):
            self.state.blind = True
        ids = self._ids_of(exchange)
        before = ids.open_call(direction, message)
        self._index += 1
        note = ids.calls.note(direction, slim(message), self._index)
        revision = revision_of(self.state, direction, message, exchange)
        if note.call is not None and not isinstance(message, Request):
            origin = self._origins.get(note.call.index)
            named = None if origin is None else origin.revision
            revision = revision_of_call(self.state, message, note.call, named)
        checked = CheckedMessage(direction, message, raw, note, revision, exchange)
        checked.home = self._home(before if isinstance(message, Request) else note.call)
        checked.before, checked.batch = before, batch
        if isinstance(message, Request):
            self._remember(checked)
        # Whether the server is a modern one is known before its message is judged; what the
        # handshake settles holds only for the messages behind it.
        modern.settle(checked, self.state)
        violations = [
            violation
            for breach in self._breaches(checked, ids)
            for violation in self.judge.violations([breach], exchange, revision, checked)
        ]
        lifecycle.settle(checked, self.state)
        return checked, violations

    def origin_of(self, call: PendingCall) -> CallOrigin | None:
        return self._origins.get(call.index)

    def forget_exchange(self, number: int) -> None:
        """It is over, and so is the space of ids of a caller without a session."""
        self._exchanges.pop(number, None)

    def _breaches(self, checked: CheckedMessage, ids: IdSpace) -> Iterator[Breach]:
        state = self.state
        yield from jsonrpc.watch(checked)
        yield from lifecycle.watch(checked, state)
        yield from capabilities.watch(checked, state)
        yield from ids.fates.watch(checked, state)
        yield from ids.progress.watch(checked, ids.fates, ids.calls)
        yield from modern.watch(checked, state)
        yield from input_requests.watch(checked, state)
        yield from ids.subscriptions.watch(checked, ids.calls)
        if state.transport == "streamable-http":
            yield from http_streams.watch(checked)
            yield from http_modern.answered(checked, state)

    def _home(self, call: PendingCall | None) -> int | None:
        """The exchange that a call came on, where calls have exchanges of their own."""
        if call is None or self.state.transport != "streamable-http":
            return None
        origin = self._origins.get(call.index)
        return None if origin is None else origin.exchange

    def _ids_of(self, exchange: CheckedExchange | None) -> IdSpace:
        if exchange is None or not self.state.alone:
            return self.session
        ids = self._exchanges.setdefault(exchange.number, IdSpace())
        if len(self._exchanges) > MOST:
            self._exchanges.popitem(last=False)
        return ids

    def _remember(self, request: CheckedMessage) -> None:
        number = None if request.exchange is None else request.exchange.owner
        self._origins[self._index] = CallOrigin(request.revision, number)
        if len(self._origins) > MOST:
            self._origins.popitem(last=False)
