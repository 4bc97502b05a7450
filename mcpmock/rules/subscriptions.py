"""Rules of notifications from modern servers: only on a `subscriptions/listen` stream, only of the
requested types, each tagged; log messages only for requests that set a level.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import attrs

from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import LISTEN, Correlation, PendingCall

from .context import PREFIX, CheckedMessage, Object, as_object, short
from .exchange import MAX_REMEMBERED
from .memory import drop_oldest
from .specification import Breach

_ACKNOWLEDGED, _LOG = "notifications/subscriptions/acknowledged", "notifications/message"
_ID, _LEVEL = f"{PREFIX}subscriptionId", f"{PREFIX}logLevel"
_KINDS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/resources/updated": "resourceSubscriptions",
}
_KINDS_OF_LISTS = {
    "tools/list": "toolsListChanged",
    "prompts/list": "promptsListChanged",
    "resources/list": "resourcesListChanged",
    "resources/templates/list": "resourcesListChanged",
}


@attrs.define
class Subscription:
    """One `subscriptions/listen` request: its filter, and whether it was acknowledged."""

    filter: Object
    acknowledged: bool = False


@attrs.define
class Subscriptions:
    """Checks listen requests and the notifications on their streams."""

    _listens: OrderedDict[int, Subscription] = attrs.field(factory=OrderedDict)
    """The open subscriptions by call index."""

    def check_message(self, checked: CheckedMessage, calls: Correlation) -> Iterator[Breach]:
        """Yield the breaches in a modern server's notification that needs a subscription or a log
        level.
        """
        call = checked.attribution.call
        match checked.message:
            case m.Request(method=method) if method == LISTEN and call is not None:
                self._listens[call.index] = Subscription(
                    as_object(checked.params.get("notifications"))
                )
                drop_oldest(self._listens, MAX_REMEMBERED)
            case m.Response() if call is not None:
                self._listens.pop(call.index, None)
            case m.Notification(method=method) if not checked.from_client:
                if method == _LOG:
                    yield from self._check_log(checked, calls)
                elif method in _KINDS or method == _ACKNOWLEDGED:
                    yield from self._check_change(checked, method)
            case _:
                pass

    def hearing(self, method: str) -> int | None:
        """Return the call index of an acknowledged subscription to changes of a list,
        None if there is none.
        """
        kind = _KINDS_OF_LISTS.get(method)
        return next(
            (
                index
                for index, listen in self._listens.items()
                if listen.acknowledged and listen.filter.get(kind or "")
            ),
            None,
        )

    def _check_change(self, checked: CheckedMessage, method: str) -> Iterator[Breach]:
        call, tag = checked.attribution.call, checked.meta.get(_ID)
        if tag is None:
            yield Breach("subscription-id", f"{method} without a subscriptionId")
            return
        listen = None if call is None else self._listens.get(call.index)
        if listen is None or not checked.on_own_stream:
            text = f"{method}: no open listen has the id {short(m.encode(tag))}"
            yield Breach("subscription-unknown", text)
        elif method == _ACKNOWLEDGED:
            listen.acknowledged = True
        else:
            if not listen.acknowledged:
                listen.acknowledged = True
                yield Breach("subscription-acknowledged", f"{method} before the acknowledgement")
            kind = _KINDS[method]
            if not listen.filter.get(kind):
                yield Breach("subscription-unasked", f"{method} without {kind} in the filter")

    def _check_log(self, checked: CheckedMessage, calls: Correlation) -> Iterator[Breach]:
        """Take any open request on stdio: a log does not name the one that set its level."""
        calls_in_question = calls.open_calls(m.C2S)
        if checked.exchange is not None and checked.exchange.posted is not None:
            calls_in_question = [
                call for call in calls_in_question if checked.exchange.has_request(call.request.id)
            ] or calls_in_question
        if checked.meta.get(_ID) is not None or (
            calls_in_question and all(call.request.method == LISTEN for call in calls_in_question)
        ):
            yield Breach("log-stream", f"{_LOG} on a listen")
        elif not any(_has_level(call) for call in calls_in_question):
            yield Breach("log-level", f"{_LOG}, but no open request has set a logLevel")


def _has_level(call: PendingCall) -> bool:
    return m.member(call.request.params, "_meta", _LEVEL) is not None
