"""Who asks, who answers, who cancels: ids used twice, answers to nothing, answers that come twice
or too late.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import attrs

from mcpmock.protocol.correlation import CANCELLED, PendingCall
from mcpmock.protocol.messages import Direction, Notification, Request, Response, member
from mcpmock.protocol.methods import LAST_LEGACY, LATEST

from .context import CheckedMessage, State, short
from .lifecycle import INITIALIZE
from .rule import Breach, must, should

MOST = 20_000
"""How many ids are remembered."""
_CANCELLATION, _MODERN = "basic/utilities/cancellation", "basic/patterns/cancellation"
_SAME_ID = "responses MUST include the same ID as the request they correspond to"
_NO_ANSWER = "{} cancellation notifications SHOULD: Not send a response for the cancelled request"

RULES = (
    must(
        "id-reused",
        "basic/index",
        "The request ID MUST NOT have been previously used by the requestor within the same "
        "session.",
        until=LAST_LEGACY,
    ),
    must(
        "id-reused",
        "basic/index",
        "The request ID MUST NOT match the ID of any other request the sender has issued and not "
        "yet received a response for.",
        since=LATEST,
    ),
    must("answers-nothing", "basic/index", _SAME_ID),
    must("answered-twice", "basic/index", _SAME_ID),
    # A warning in any revision: the answer and the cancel may have crossed on the wire.
    should(
        "answer-after-cancel", _CANCELLATION, _NO_ANSWER.format("Receivers of"), until=LAST_LEGACY
    ),
    should("answer-after-cancel", _MODERN, _NO_ANSWER.format("Servers receiving"), since=LATEST),
    must(
        "cancels-nothing",
        _CANCELLATION,
        "Cancellation notifications MUST only reference requests that: Were previously issued in "
        "the same direction",
        until=LAST_LEGACY,
    ),
    must(
        "cancels-nothing",
        _MODERN,
        "Cancellation notifications MUST only reference requests that: Were previously issued by "
        "the client",
        since=LATEST,
    ),
    must(
        "cancels-initialize",
        _CANCELLATION,
        "The initialize request MUST NOT be cancelled by clients",
        until=LAST_LEGACY,
    ),
    must(
        "cancels-task",
        _CANCELLATION,
        "For task-augmented requests, the tasks/cancel request MUST be used instead of the "
        "notifications/cancelled notification.",
        since=LAST_LEGACY,
        until=LAST_LEGACY,
    ),
    must(
        "server-cancels",
        _MODERN,
        "Server-sent cancellation notifications MUST reference a subscriptions/listen request",
        since=LATEST,
    ),
    should(
        "cancels-over-http",
        _MODERN,
        "Streamable HTTP: Closing the SSE response stream is the cancellation signal. "
        "No notifications/cancelled message is required or expected.",
        since=LATEST,
    ),
)


@attrs.define
class CallTracker:
    """What became of calls: the watcher of ids, answers and cancels, and what others ask it."""

    _cancelled: OrderedDict[int, bool] = attrs.field(factory=OrderedDict)
    """The calls that were cancelled while nobody had answered, and whether somebody has since."""
    _crossed: OrderedDict[int, None] = attrs.field(factory=OrderedDict)
    _used: OrderedDict[tuple[Direction, bytes], None] = attrs.field(factory=OrderedDict)
    _forgotten: bool = False

    def cancelled(self, call: PendingCall) -> bool:
        """Whether it was cancelled before anybody answered."""
        return call.index in self._cancelled

    def crosses(self, call: PendingCall) -> bool:
        """Whether this may have been on its way when the cancel was: the first word is given the
        benefit of the doubt.
        """
        first = call.index not in self._crossed
        self._crossed[call.index] = None
        if len(self._crossed) > MOST:
            self._crossed.popitem(last=False)
        return first

    def watch(self, heard: CheckedMessage, state: State) -> Iterator[Breach]:
        """What is wrong with who is asked, answered or cancelled."""
        match heard.message:
            case Request():
                yield from self._ask(heard, heard.message)
            case Response(id=id_) if id_ is not None:
                yield from self._answer(heard, id_)
            case Notification(method=method) if method == CANCELLED:
                yield from self._cancel(heard, state)
            case _:
                pass

    def _ask(self, heard: CheckedMessage, request: Request) -> Iterator[Breach]:
        if request.id == b"null":
            return  # `forms` says so
        key = (heard.direction, request.id)
        known = key in self._used
        self._used[key] = None
        if len(self._used) > MOST:
            self._used.popitem(last=False)
            self._forgotten = True
        if heard.before is not None if heard.modern else known:
            yield Breach("id-reused", f"the id {short(request.id)}, used before")

    def _answer(self, heard: CheckedMessage, id_: bytes) -> Iterator[Breach]:
        call = heard.note.call
        if call is None:
            if not self._forgotten and (heard.direction.back, id_) not in self._used:
                yield Breach("answers-nothing", f"nobody asked with the id {short(id_)}")
        elif heard.note.late and self._cancelled.get(call.index) is False:
            self._cancelled[call.index] = True
            yield Breach("answer-after-cancel", f"{_name(call)} was cancelled before")
        elif heard.note.late:
            yield Breach("answered-twice", f"{_name(call)} was answered before")

    def _cancel(self, heard: CheckedMessage, state: State) -> Iterator[Breach]:
        call = heard.note.call
        if heard.modern:
            yield from _modern_cancel(heard, state)
        if call is None or call.direction is not heard.direction:
            named = member(getattr(heard.message, "params", None), "requestId")
            if call is None and not self._forgotten:
                text = "without a requestId" if named is None else f"{short(named)}, an unknown id"
                yield Breach("cancels-nothing", text)
            return
        if heard.before is call:
            self._cancelled[call.index] = False
            if len(self._cancelled) > MOST:
                self._cancelled.popitem(last=False)
        if call.request.method == INITIALIZE:
            yield Breach("cancels-initialize", "initialize was cancelled")
        elif "task" in heard.asked:
            yield Breach("cancels-task", f"{_name(call)} runs as a task")


def _modern_cancel(heard: CheckedMessage, state: State) -> Iterator[Breach]:
    call = heard.note.call
    if not heard.from_client:
        if call is not None and call.request.method != "subscriptions/listen":
            yield Breach("server-cancels", f"the server cancels {_name(call)}")
    elif state.transport == "streamable-http":
        yield Breach("cancels-over-http", "notifications/cancelled over Streamable HTTP")


def _name(call: PendingCall) -> str:
    return f"{short(call.request.method)} #{short(call.request.id)}"
