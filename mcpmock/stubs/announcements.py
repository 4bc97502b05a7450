"""Notifications that a stub's server sends of its own accord: up to 2025-11-25 to every client
whose session is open, from 2026-07-28 on to clients that subscribe. Used by `stage`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcpmock.protocol import edit
from mcpmock.protocol.correlation import SUBSCRIPTION_PATH
from mcpmock.protocol.messages import member

from .script import Arguments, StubMessage

LISTEN = "subscriptions/listen"
TimedMessage = tuple[float, bytes]
"""The delay in seconds, and the message."""
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_UPDATED = "notifications/resources/updated"
_FILTERS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    _UPDATED: "resourceSubscriptions",
}
"""The filter by which a client subscribes to a notification."""


def timed_messages(messages: Iterable[StubMessage]) -> list[TimedMessage]:
    """The notifications, each with the sum of the delays up to it."""
    after, found = 0.0, []
    for message in messages:
        after += message.after
        found.append((after, edit.notification(message.method or "", message.params)))
    return found


def messages_for_listener(
    announcements: Iterable[StubMessage], id_: bytes, params: Arguments
) -> list[TimedMessage]:
    """The acknowledgement of a `subscriptions/listen` request, then the notifications that it
    selects. `id_` is the id of the request as the client wrote it.
    """
    filters = params.get("notifications")
    wanted = filters if isinstance(filters, dict) else {}
    messages = [message for message in announcements if _is_wanted(message, wanted)]
    names = {_FILTERS[message.method] for message in messages if message.method is not None}
    accepted = {name: value for name, value in wanted.items() if name in names}
    acknowledged = StubMessage(_ACKNOWLEDGED, {"notifications": accepted})
    return [
        (after, _with_subscription_id(raw, id_))
        for after, raw in timed_messages([acknowledged, *messages])
    ]


def _is_wanted(message: StubMessage, wanted: Arguments) -> bool:
    filters = wanted.get(_FILTERS.get(message.method or "", ""))
    if message.method != _UPDATED:
        return filters is True
    uri: Any = (message.params or {}).get("uri")
    return isinstance(filters, list) and uri in filters


def _with_subscription_id(raw: bytes, id_: bytes) -> bytes:
    path = ["params", *SUBSCRIPTION_PATH]
    for depth in (1, 2):
        if member(raw, *path[:depth]) is None:
            raw = edit.with_member(raw, path[:depth], b"{}")
    return edit.with_member(raw, path, id_)
