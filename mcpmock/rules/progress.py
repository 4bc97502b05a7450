"""Progress: of which call, whether it goes up, and whether it ends with the call."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import attrs

from mcpmock.protocol.correlation import PROGRESS, Correlation, PendingCall
from mcpmock.protocol.messages import Direction, Request
from mcpmock.protocol.methods import LAST_LEGACY, LATEST

from .calls import CallTracker
from .context import CheckedMessage, short
from .jsonrpc import is_name
from .rule import Breach, Rule, must, should

_MOST = 10_000
_LEGACY, _MODERN = "basic/utilities/progress", "basic/patterns/progress"


def _both(name: str, sentence: str) -> tuple[Rule, Rule]:
    """The page moved, the words are the same."""
    return must(name, _LEGACY, sentence, until=LAST_LEGACY), must(
        name, _MODERN, sentence, since=LATEST
    )


RULES = (
    *_both("token-type", "Progress tokens MUST be a string or integer value"),
    *_both(
        "progress-increases",
        "The progress value MUST increase with each notification, even if the total is unknown.",
    ),
    *_both(
        "progress-token",
        "Progress notifications MUST only reference tokens that: Were provided in an active "
        "request",
    ),
    *_both("progress-after-answer", "Progress notifications MUST stop after completion"),
    must(
        "token-reused",
        _LEGACY,
        "Progress tokens can be chosen by the sender using any means, but MUST be unique across "
        "all active requests.",
        until=LAST_LEGACY,
    ),
    must(
        "token-reused",
        _MODERN,
        "Progress tokens can be chosen by the client using any means, but MUST be unique across "
        "all active requests.",
        since=LATEST,
    ),
    must("progress-members", "schema", "ProgressNotification requires progressToken and progress."),
    # Warnings in any revision: the progress and the cancel may have crossed on the wire.
    should(
        "progress-after-cancel",
        "basic/utilities/cancellation",
        "Receivers of cancellation notifications SHOULD: Stop processing the cancelled request",
        until=LAST_LEGACY,
    ),
    should(
        "progress-after-cancel",
        "basic/patterns/cancellation",
        "Servers receiving cancellation notifications SHOULD: Stop processing the cancelled "
        "request",
        since=LATEST,
    ),
)


@attrs.define
class ProgressTracker:
    """The watcher of tokens and of the progress reported under them."""

    _last: OrderedDict[int, float] = attrs.field(factory=OrderedDict)
    """By the index of the call, how far it had come."""
    _asked: OrderedDict[tuple[Direction, bytes], PendingCall] = attrs.field(factory=OrderedDict)
    """The latest call of each token."""

    def watch(
        self, heard: CheckedMessage, fates: CallTracker, calls: Correlation
    ) -> Iterator[Breach]:
        """What is wrong with the token of a request, or with progress."""
        if isinstance(heard.message, Request):
            yield from self._token(heard, calls)
        elif heard.method == PROGRESS:
            yield from self._progress(heard, fates)

    def _token(self, heard: CheckedMessage, calls: Correlation) -> Iterator[Breach]:
        call = heard.note.call
        if call is None or call.token is None:
            return
        if not is_name(call.token):
            yield Breach("token-type", f"the token {short(call.token)}")
        key = (call.direction, call.token)
        before = self._asked.get(key)
        self._asked[key] = call
        if len(self._asked) > _MOST:
            self._asked.popitem(last=False)
        if before and calls.open_call(before.direction, before.request.id) is before:
            yield Breach("token-reused", f"the token {short(call.token)}, of an active request")

    def _progress(self, heard: CheckedMessage, fates: CallTracker) -> Iterator[Breach]:
        told: Any = heard.params.get("progress")
        number = isinstance(told, int | float) and not isinstance(told, bool)
        call, named = heard.note.call, heard.params.get("progressToken")
        if not number or named is None:
            yield Breach("progress-members", "progress without a token or a number")
        if call is None:
            if named is not None:
                yield Breach("progress-token", f"nobody gave the token {short(named)}")
            return
        if number:
            yield from self._amount(call, told)
        if heard.note.late and "task" not in heard.asked:
            yield from _late(heard, call, fates)

    def _amount(self, call: PendingCall, amount: float) -> Iterator[Breach]:
        before = self._last.get(call.index)
        self._last[call.index] = amount
        if len(self._last) > _MOST:
            self._last.popitem(last=False)
        if before is not None and amount <= before:
            yield Breach("progress-increases", f"progress {short(amount)} after {short(before)}")


def _late(heard: CheckedMessage, call: PendingCall, fates: CallTracker) -> Iterator[Breach]:
    what = f"{short(call.request.method)} #{short(call.request.id)}"
    if fates.cancelled(call):
        if not fates.crosses(call):
            yield Breach("progress-after-cancel", f"{what} was cancelled before")
    elif heard.on_own_stream:
        # Between two streams of HTTP there is no order.
        yield Breach("progress-after-answer", f"{what} was answered before")
