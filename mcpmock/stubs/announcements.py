"""Notifications that a stub's server sends of its own accord: up to 2025-11-25 to every client
whose session is open, from 2026-07-28 on to clients that subscribe. Used by `stage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from mcpmock.protocol import edit

from .call import subscription_meta
from .script import UPDATED, Arguments, StubMessage, StubScript

TimedMessage = tuple[float, bytes]
"""The delay in seconds, and the message."""
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_FILTERS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    UPDATED: "resourceSubscriptions",
}
"""The filter by which a client subscribes to a notification."""


def timed_messages(messages: Iterable[StubMessage]) -> list[TimedMessage]:
    """Return the notifications, each with the sum of the delays up to it."""
    after, found = 0.0, []
    for message in messages:
        after += message.after
        found.append((after, edit.notification(message.method or "", message.params)))
    return found


def messages_for_listener(
    script: StubScript, id_: bytes, params: Arguments
) -> tuple[list[str], list[TimedMessage]]:
    """Return the URIs that a `subscriptions/listen` request subscribes to, and the messages for it:
    the acknowledgement, then the announcements that it selects. `id_` is the id of the request as
    the client wrote it.
    """
    filters = params.get("notifications")
    wanted = filters if isinstance(filters, dict) else {}
    listed = wanted.get("resourceSubscriptions") if script.takes_subscriptions else None
    uris = [uri for uri in listed if isinstance(uri, str)] if isinstance(listed, list) else []
    messages = [message for message in list(script.announcements) if _is_wanted(message, wanted)]
    names = {_FILTERS[message.method] for message in messages if message.method is not None}
    accepted = {name: value for name, value in wanted.items() if name in names}
    accepted |= {"resourceSubscriptions": uris} if uris else {}
    acknowledged = StubMessage(_ACKNOWLEDGED, {"notifications": accepted})
    return uris, timed_messages(
        attrs.evolve(message, params=_with_subscription_id(message.params or {}, id_))
        for message in (acknowledged, *messages)
    )


def _with_subscription_id(params: Mapping[str, Any], id_: bytes) -> Arguments:
    meta = {**params.get("_meta", {}), **subscription_meta(id_)}
    return {"_meta": meta} | {**params, "_meta": meta}  # it comes first


def _is_wanted(message: StubMessage, wanted: Arguments) -> bool:
    filters = wanted.get(_FILTERS.get(message.method or "", ""))
    if message.method != UPDATED:
        return filters is True
    uri: Any = (message.params or {}).get("uri")
    return isinstance(filters, list) and uri in filters
