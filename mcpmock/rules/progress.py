"""Rules of progress: its token, its increase, and its end with the call."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import attrs

from mcpmock.protocol.correlation import PROGRESS, Correlation, PendingCall
from mcpmock.protocol.messages import Direction, Request
from mcpmock.protocol.shapes import hides

from .calls import CallTracker
from .context import CheckedMessage, describe_call, short
from .jsonrpc import is_string_or_integer
from .memory import drop_oldest
from .specification import Breach

MAX_CALLS = 10_000


@attrs.define
class ProgressTracker:
    """Checks progress tokens and the progress reported with them."""

    _amounts: OrderedDict[int, float] = attrs.field(factory=OrderedDict)
    """The last progress value by call index."""
    _calls_by_token: OrderedDict[tuple[Direction, bytes], PendingCall] = attrs.field(
        factory=OrderedDict
    )
    """The latest call of each token."""

    def check_message(
        self, checked: CheckedMessage, call_tracker: CallTracker, calls: Correlation
    ) -> Iterator[Breach]:
        """Yield the breaches in the token of a request, or in a progress notification."""
        if isinstance(checked.message, Request):
            yield from self._check_token(checked, calls)
        elif checked.method == PROGRESS:
            yield from self._check_progress(checked, call_tracker)

    def _check_token(self, checked: CheckedMessage, calls: Correlation) -> Iterator[Breach]:
        call = checked.attribution.call
        if call is None or call.token is None:
            return
        if not is_string_or_integer(call.token):
            yield Breach("token-type", f"the token {short(call.token)}")
        key = (call.direction, call.token)
        before = self._calls_by_token.get(key)
        self._calls_by_token[key] = call
        drop_oldest(self._calls_by_token, MAX_CALLS)
        if before and calls.open_call(before.direction, before.request.id) is before:
            yield Breach("token-reused", f"the token {short(call.token)}, of an active request")

    def _check_progress(
        self, checked: CheckedMessage, call_tracker: CallTracker
    ) -> Iterator[Breach]:
        amount: Any = checked.params.get("progress")
        number = isinstance(amount, int | float) and not isinstance(amount, bool)
        call, named = checked.attribution.call, checked.params.get("progressToken")
        if not (number or hides(amount)) or named is None:
            yield Breach("progress-members", "progress without a token or a number")
        if call is None:
            if named is not None:
                yield Breach("progress-token", f"no request has the token {short(named)}")
            return
        if number:
            yield from self._check_increase(call, amount)
        if checked.attribution.late and "task" not in checked.call_params:
            yield from _check_late_progress(checked, call, call_tracker)

    def _check_increase(self, call: PendingCall, amount: float) -> Iterator[Breach]:
        before = self._amounts.get(call.index)
        self._amounts[call.index] = amount
        drop_oldest(self._amounts, MAX_CALLS)
        if before is not None and amount <= before:
            yield Breach("progress-increases", f"progress {short(amount)} after {short(before)}")


def _check_late_progress(
    checked: CheckedMessage, call: PendingCall, call_tracker: CallTracker
) -> Iterator[Breach]:
    if call_tracker.cancelled(call):
        if not call_tracker.may_have_crossed(call):
            text = f"progress of {describe_call(call)}, which was cancelled before"
            yield Breach("progress-after-cancel", text)
    elif checked.on_own_stream:
        # Messages on different HTTP streams have no order.
        text = f"progress of {describe_call(call)}, which was answered before"
        yield Breach("progress-after-answer", text)
