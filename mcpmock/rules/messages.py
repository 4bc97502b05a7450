"""`MessageChecker`: takes the messages of one session in order and returns the violations. Three
lifetimes, three classes: `MessageChecker` lasts a session, `IdSpace` as long as its ids are unique,
`CheckedMessage` (`context`) one message.

Pure and bounded: it remembers open calls and a limited number of closed ones. `conversation` takes
the messages out of frames and HTTP exchanges.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Set
from typing import Literal

import attrs

from mcpmock.protocol.correlation import CANCELLED, PROGRESS, Correlation, PendingCall
from mcpmock.protocol.messages import Direction, Message, Notification, Request, member

from . import (
    client_requests,
    contents,
    http_heads,
    http_streams,
    jsonrpc,
    lifecycle,
    lists,
    modern,
    shapes,
    skills,
    tasks,
    values,
)
from .calls import MAX_CALLS, CallTracker
from .capabilities import MethodChecker
from .client_requests import ClientRequests
from .contents import ContentChecker
from .context import CheckedMessage, Phase, State, label_of
from .exchange import CheckedExchange
from .input_requests import InputChecker
from .known_deviations import find_deviation
from .memory import drop_oldest, slim_request, too_long
from .progress import ProgressTracker
from .revisions import revision_of, revision_of_call
from .server_answers import EXPECTING, AnswerChecker
from .skills import SkillChecker
from .specification import Breach, Unjudged, Violation, in_force
from .subscriptions import Subscriptions
from .tasks import TaskTracker

_NEED_WHOLE_SESSION = {
    "handshake-first", "handshake-twice", "request-before-answer", "request-before-initialized",
    "initialized-missing", "id-reused", "answers-nothing", "answered-twice", "cancels-nothing",
    "progress-token", "token-reused", "request-state", "subscription-unknown", "log-level",
    "log-stream", "stream-cut", "stream-goes-on", "subscription-acknowledged", "meta-accepted",
    "list-changed-silent", "roots-changed-silent", "elicitation-unknown", "error-code-differs",
    "not-found-code", "task-transition", "input-missing", "state-dropped", "retry-ignored",
    "cursor-unknown",
}  # fmt: skip
"""The rules that an incomplete session may seem to break."""
_NEED_BEGINNING = {
    *("answers-nothing", "cancels-nothing", "progress-token", "elicitation-unknown"),
    *("not-found-code", "error-code-differs"),
}
"""Those that one may seem to break which began before the recording."""


@attrs.define
class Judge:
    """Turns breaches of the rules of a revision into violations. `number` is that of the current
    frame, `sender` the side that sent it.
    """

    state: State
    number: int = 0
    sender: Literal["client", "server"] = "client"

    @property
    def _not_judged(self) -> Set[str]:
        if self.state.incomplete:
            return _NEED_WHOLE_SESSION
        unseen = self.state.may_have_begun_before and not self.state.sessionless
        return _NEED_BEGINNING if unseen else set()

    def violations(
        self,
        breaches: Iterable[Breach | Unjudged],
        exchange: CheckedExchange | None,
        revision: str | None = None,
        message: CheckedMessage | None = None,
    ) -> Iterator[Violation | Unjudged]:
        """Yield the violations; a breach outside any message takes the revision of its exchange."""
        if message is None and revision is None and exchange is not None:
            revision = exchange.revision
        rules = in_force(revision or "")
        for breach in breaches:
            if isinstance(breach, Unjudged):
                yield breach
                continue
            rule = rules.get(breach.rule)
            if rule is None or rule.name in self._not_judged:
                continue
            deviation = find_deviation(rule.name, message, exchange, self.state)
            by = self.sender if rule.by == "either" else rule.by
            yield Violation(
                *(self.number, rule, revision or "", breach.text, deviation, by),
                *(breach.path, breach.sentence, *label_of(message, exchange), breach.section),
            )


@attrs.define
class IdSpace:
    """The state of one space of ids: a session, or one exchange of a caller without a session."""

    calls: Correlation = attrs.field(factory=Correlation)
    call_tracker: CallTracker = attrs.field(factory=CallTracker)
    progress: ProgressTracker = attrs.field(factory=ProgressTracker)
    subscriptions: Subscriptions = attrs.field(factory=Subscriptions)

    def open_call(self, direction: Direction, message: Message) -> PendingCall | None:
        """Return the open call with the id of this request, or with the id that it cancels."""
        match message:
            case Request(id=id_):
                return self.calls.open_call(direction, id_)
            case Notification(method=method, params=params) if method == CANCELLED:
                return self.calls.open_call(direction, member(params, "requestId") or b"")
            case _:
                return None


@attrs.frozen
class CallOrigin:
    """The revision of a request, and the number of the exchange that carried it."""

    revision: str | None
    exchange: int | None


@attrs.define
class MessageChecker:
    """The messages of one session."""

    state: State
    judge: Judge
    session: IdSpace = attrs.field(factory=IdSpace)
    _contents: ContentChecker = attrs.field(factory=ContentChecker)
    _methods: MethodChecker = attrs.field(factory=MethodChecker)
    _inputs: InputChecker = attrs.field(factory=InputChecker)
    _client_requests: ClientRequests = attrs.field(factory=ClientRequests)
    _answers: AnswerChecker = attrs.field(factory=AnswerChecker)
    _tasks: TaskTracker = attrs.field(factory=TaskTracker)
    _skills: SkillChecker = attrs.field(factory=SkillChecker)
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
    ) -> tuple[CheckedMessage, list[Violation | Unjudged]]:
        """Return the message with its context, its violations, and what could not be looked at.
        `batch` is the size of its batch.
        """
        if too_long(message):
            self.state.incomplete = True
        is_request = isinstance(message, Request)
        ids = self._ids_of(exchange)
        before = ids.open_call(direction, message)
        self._index += 1
        attribution = ids.calls.note(direction, slim_request(message), self._index)
        revision = revision_of(self.state, direction, message, exchange)
        if attribution.call is not None and not is_request:
            origin = self._origins.get(attribution.call.index)
            named = None if origin is None else origin.revision
            revision = revision_of_call(self.state, message, attribution.call, named)
        checked = CheckedMessage(direction, message, raw, attribution, revision, exchange)
        checked.call_exchange = self._exchange_of(before if is_request else attribution.call)
        checked.open_call, checked.batch = before, batch
        if is_request:
            self._remember(checked)
        # A message that shows its server to be modern is itself checked as modern; the handshake
        # applies to later messages only.
        if checked.modern:
            modern.update_server(checked, self.state)
        found = self._breaches(checked, ids)
        violations = [*self.judge.violations(found, exchange, revision, checked)] if found else []
        wrong = shapes.check_message(checked, self.state, violations)
        if wrong:
            violations += self.judge.violations(wrong, exchange, revision, checked)
        if checked.method in lifecycle.HANDSHAKE:
            lifecycle.update_handshake(checked, self.state)
        else:
            lifecycle.note_early_question(checked, self.state)
        return checked, violations

    def origin_of(self, call: PendingCall) -> CallOrigin | None:
        return self._origins.get(call.index)

    def take_back(self, exchange: CheckedExchange) -> None:
        """Forget what was posted in an exchange after which the client sends it again."""
        self._ids_of(exchange).call_tracker.take_back(exchange.posted or ())

    def forget_exchange(self, number: int) -> None:
        """Drop the space of ids of a caller without a session, when its exchange has ended."""
        self._exchanges.pop(number, None)

    def _breaches(self, checked: CheckedMessage, ids: IdSpace) -> list[Breach | Unjudged]:
        state, method, is_modern = self.state, checked.method, checked.modern
        listings = state.server.listings if is_modern else state.listings
        found: list[Breach | Unjudged] = [*jsonrpc.check_message(checked, state.transport)]
        # What the conditions leave out would find nothing: each of these costs a microsecond, and
        # most messages are of a session whose handshake is over.
        if state.phase is not Phase.READY or method == lifecycle.INITIALIZE:
            found += lifecycle.check_message(checked, state)
        found += self._methods.check_message(checked, state)
        found += ids.call_tracker.check_message(checked, state)
        if method in contents.METHODS:
            found += self._contents.check_message(checked, state, listings)
        call = checked.attribution.call
        if method == PROGRESS or (call is not None and call.token is not None):
            found += ids.progress.check_message(checked, ids.call_tracker, ids.calls)
        if is_modern:
            found += modern.check_message(checked, state)
            found += self._inputs.check_message(checked, state)
            found += self._client_requests.check_inputs(checked)
            found += ids.subscriptions.check_message(checked, ids.calls)
        elif method in client_requests.METHODS or checked.error is not None:
            found += self._client_requests.check_message(checked, state)
        if values.HINT.search(checked.raw) is not None:
            found += values.check_message(checked)
        if method in skills.METHODS:
            found += self._skills.check_message(checked, state, listings, self._answers)
        if is_modern or method in EXPECTING or not isinstance(checked.message, Request):
            found += self._answers.check_message(checked, state, listings)
        if method in lists.METHODS:
            hearing = ids.subscriptions.hearing(method) if is_modern else state.hearing
            found += lists.check_message(checked, state, listings, hearing)
        if method in tasks.METHODS and tasks.concern(checked, state):
            found += self._tasks.check_message(checked, state, listings, self._answers)
        if state.transport == "streamable-http":
            found += http_streams.check_message(checked)
            if is_modern:
                found += http_heads.check_status(checked, state)
        return found

    def _exchange_of(self, call: PendingCall | None) -> int | None:
        """Return the exchange that carried a call, on a transport where each call has its own."""
        if call is None or self.state.transport != "streamable-http":
            return None
        origin = self._origins.get(call.index)
        return None if origin is None else origin.exchange

    def _ids_of(self, exchange: CheckedExchange | None) -> IdSpace:
        if exchange is None or not self.state.sessionless:
            return self.session
        ids = self._exchanges.setdefault(exchange.number, IdSpace())
        drop_oldest(self._exchanges, MAX_CALLS)
        return ids

    def _remember(self, request: CheckedMessage) -> None:
        number = None if request.exchange is None else request.exchange.owner
        self._origins[self._index] = CallOrigin(request.revision, number)
        drop_oldest(self._origins, MAX_CALLS)
