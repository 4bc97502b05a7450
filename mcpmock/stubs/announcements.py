"""What a stub's server sends unasked: up to 2025-11-25 to every client once its session is open;
from 2026-07-28 on to the clients that listen. Used by `stage`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcpmock.protocol import edit
from mcpmock.protocol.correlation import SUBSCRIPTION_PATH
from mcpmock.protocol.messages import member

from .script import Arguments, StubMessage

LISTEN = "subscriptions/listen"
Timed = tuple[float, bytes]
"""After how many seconds what is said."""
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_UPDATED = "notifications/resources/updated"
_FILTERS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    _UPDATED: "resourceSubscriptions",
}
"""By what name a client asks for a notification."""


def to_everybody(announcements: Iterable[StubMessage]) -> list[Timed]:
    """What is said once the session is open."""
    return _timed(announcements)


def to_listener(announcements: Iterable[StubMessage], id_: bytes, params: Arguments) -> list[Timed]:
    """What is said to the listener of this request: what it will hear, and then that. `id_` is the
    request's, as it is spelled.
    """
    asked = params.get("notifications")
    wanted = asked if isinstance(asked, dict) else {}
    heard = [saying for saying in announcements if _is_wanted(saying, wanted)]
    names = {_FILTERS[saying.method] for saying in heard if saying.method is not None}
    honoured = {name: value for name, value in wanted.items() if name in names}
    acknowledged = StubMessage(_ACKNOWLEDGED, {"notifications": honoured})
    return [(after, _tagged(raw, id_)) for after, raw in _timed([acknowledged, *heard])]


def _timed(sayings: Iterable[StubMessage]) -> list[Timed]:
    after, found = 0.0, []
    for saying in sayings:
        after += saying.after
        found.append((after, edit.notification(saying.method or "", saying.params)))
    return found


def _is_wanted(saying: StubMessage, wanted: Arguments) -> bool:
    asked = wanted.get(_FILTERS.get(saying.method or "", ""))
    if saying.method != _UPDATED:
        return asked is True
    uri: Any = (saying.params or {}).get("uri")
    return isinstance(asked, list) and uri in asked


def _tagged(raw: bytes, id_: bytes) -> bytes:
    path = ["params", *SUBSCRIPTION_PATH]
    for depth in (1, 2):
        if member(raw, *path[:depth]) is None:
            raw = edit.with_member(raw, path[:depth], b"{}")
    return edit.with_member(raw, path, id_)
