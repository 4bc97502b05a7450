"""Rules of requests, responses and cancellations: reused ids, responses without a request, repeated
and late responses.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

import attrs

from mcpmock.protocol.correlation import CANCELLED, PendingCall
from mcpmock.protocol.messages import (
    Message,
    Notification,
    Request,
    Response,
    member,
    same_id,
)

from .context import CheckedMessage, State, describe_call, short
from .lifecycle import INITIALIZE
from .memory import drop_oldest
from .specification import Breach

MAX_CALLS = 20_000
"""How many calls and ids are remembered."""


@attrs.define
class CallTracker:
    """Checks ids, responses and cancellations, and remembers which calls were cancelled."""

    _cancelled: OrderedDict[int, bool] = attrs.field(factory=OrderedDict)
    """By call index, the calls cancelled before their response: True once it arrived."""
    _progress_seen: OrderedDict[int, None] = attrs.field(factory=OrderedDict)
    _used: OrderedDict[tuple[bool, bytes], None] = attrs.field(factory=OrderedDict)
    """The ids of requests, and whether the client sent them."""
    _forgotten: bool = False
    _redirected: set[bytes] = attrs.field(factory=set)
    """The ids of the client's answers that come again."""

    def take_back(self, posted: Sequence[Message]) -> None:
        """Forget messages of the client that come again, after a redirect or with a token."""
        for message in posted:
            if isinstance(message, Request):
                self._used.pop((True, message.id), None)
            elif isinstance(message, Response) and len(self._redirected) < MAX_CALLS:
                self._redirected.add(message.id or b"")

    def cancelled(self, call: PendingCall) -> bool:
        """Return whether the call was cancelled before its response."""
        return call.index in self._cancelled

    def may_have_crossed(self, call: PendingCall) -> bool:
        """Return whether this progress may have crossed the cancellation on the wire: true of the
        first after it.
        """
        first = call.index not in self._progress_seen
        self._progress_seen[call.index] = None
        drop_oldest(self._progress_seen, MAX_CALLS)
        return first

    def check_message(self, checked: CheckedMessage, state: State) -> Iterable[Breach]:
        """Return the breaches in ids, responses and cancellations."""
        message = checked.message
        if isinstance(message, Request):
            return self._check_request_id(checked, message)
        if isinstance(message, Response):
            return () if message.id is None else self._check_answer(checked, message.id)
        if isinstance(message, Notification) and message.method == CANCELLED:
            return self._check_cancel(checked, state)
        return ()

    def _check_request_id(self, checked: CheckedMessage, request: Request) -> Iterator[Breach]:
        if request.id == b"null":
            return  # `jsonrpc` reports it
        key = (checked.from_client, request.id)
        known = key in self._used
        self._used[key] = None
        self._forgotten |= drop_oldest(self._used, MAX_CALLS)
        if checked.open_call is not None if checked.modern else known:
            yield Breach("id-reused", f"the id {short(request.id)}, used before")

    def _check_answer(self, checked: CheckedMessage, id_: bytes) -> Iterator[Breach]:
        call = checked.attribution.call
        if call is None or not same_id(call.request.id, id_):
            if not self._forgotten and (not checked.from_client, id_) not in self._used:
                text = f"an answer with the id {short(id_)}, which no request has"
                yield Breach("answers-nothing", text)
        elif checked.attribution.late and self._cancelled.get(call.index) is False:
            self._cancelled[call.index] = True
            text = f"an answer to {describe_call(call)}, which was cancelled before"
            yield Breach("answer-after-cancel", text)
        elif checked.from_client and id_ in self._redirected:
            self._redirected.discard(id_)
        elif checked.attribution.late:
            yield Breach("answered-twice", f"a second answer to {describe_call(call)}")

    def _check_cancel(self, checked: CheckedMessage, state: State) -> Iterator[Breach]:
        call = checked.attribution.call
        if checked.modern:
            yield from _check_modern_cancel(checked, state)
        if call is None or call.direction is not checked.direction:
            named = member(getattr(checked.message, "params", None), "requestId")
            # A server without sessions gets cancels in other exchanges than the calls.
            if call is None and not self._forgotten and not (state.sessionless and named):
                which = f"of the id {short(named)}, which no request has" if named else None
                yield Breach("cancels-nothing", f"a cancel {which or 'without a requestId'}")
            return
        if checked.open_call is call:
            self._cancelled[call.index] = False
            drop_oldest(self._cancelled, MAX_CALLS)
        if call.request.method == INITIALIZE:
            yield Breach("cancels-initialize", "initialize was cancelled")
        elif "task" in checked.call_params:
            yield Breach("cancels-task", f"{describe_call(call)} runs as a task")


def _check_modern_cancel(checked: CheckedMessage, state: State) -> Iterator[Breach]:
    call = checked.attribution.call
    if not checked.from_client:
        if call is not None and call.request.method != "subscriptions/listen":
            yield Breach("server-cancels", f"the server cancels {describe_call(call)}")
    elif state.transport == "streamable-http":
        yield Breach("cancels-over-http", "notifications/cancelled over Streamable HTTP")
