"""The table of the methods of all five MCP revisions: which side may send them, in which revisions,
and which capability they need.

A new revision adds rows and changes bounds, nothing else. The rows follow the official schemas, one
for each revision.
"""

from __future__ import annotations

from enum import Enum, Flag, auto

import msgspec

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
FIRST, LAST_LEGACY, LATEST = REVISIONS[0], REVISIONS[3], REVISIONS[4]
TASKS = "io.modelcontextprotocol/tasks"
SKILLS = "io.modelcontextprotocol/skills"
"""SEP-2640."""


class Sender(Flag):
    """Which side may send a method."""

    CLIENT = auto()
    SERVER = auto()
    BOTH = CLIENT | SERVER


class MessageKind(Enum):
    """Whether a method gets a response."""

    REQUEST = "request"
    NOTIFICATION = "notification"


class Method(msgspec.Struct, frozen=True):
    """One row: `since` and `until` are the first and the last revision that has it.

    `gate` names the capability that its receiver (for a notification: its sender, but for
    `notifications/elicitation/complete` the client) must have declared, where the specification
    asks for one; `extension` the extension that defines it where
    the core does not. A method whose senders or gate changed has several rows.
    """

    name: str
    kind: MessageKind
    sender: Sender
    since: str = FIRST
    until: str = LATEST
    gate: str | None = None
    extension: str | None = None
    lists: str | None = None
    """The member of the result that is a list, and comes in pages."""
    names: str | None = None
    """The member of the params that names a tool, a resource, a prompt or a task."""
    cacheable: bool = False
    """Whether its result has `ttlMs` and `cacheScope` (since 2026-07-28, server/utilities/caching)."""


_REQUEST, _NOTIFICATION = MessageKind.REQUEST, MessageKind.NOTIFICATION
_CLIENT, _SERVER, _BOTH = Sender.CLIENT, Sender.SERVER, Sender.BOTH

ROWS = (
    Method("initialize", _REQUEST, _CLIENT, until=LAST_LEGACY),
    Method("notifications/initialized", _NOTIFICATION, _CLIENT, until=LAST_LEGACY),
    Method("server/discover", _REQUEST, _CLIENT, since=LATEST, cacheable=True),
    Method("ping", _REQUEST, _BOTH, until=LAST_LEGACY),
    Method("tools/list", _REQUEST, _CLIENT, gate="tools", lists="tools", cacheable=True),
    Method("tools/call", _REQUEST, _CLIENT, gate="tools", names="name"),
    Method("resources/list", _REQUEST, _CLIENT, gate="resources", lists="resources", cacheable=True),
    Method("resources/templates/list", _REQUEST, _CLIENT, gate="resources", lists="resourceTemplates", cacheable=True),
    Method("resources/read", _REQUEST, _CLIENT, gate="resources", names="uri", cacheable=True),
    Method("resources/subscribe", _REQUEST, _CLIENT, until=LAST_LEGACY, gate="resources.subscribe", names="uri"),
    Method("resources/unsubscribe", _REQUEST, _CLIENT, until=LAST_LEGACY, gate="resources.subscribe", names="uri"),
    Method("subscriptions/listen", _REQUEST, _CLIENT, since=LATEST),
    Method("notifications/subscriptions/acknowledged", _NOTIFICATION, _SERVER, since=LATEST),
    Method("prompts/list", _REQUEST, _CLIENT, gate="prompts", lists="prompts", cacheable=True),
    Method("prompts/get", _REQUEST, _CLIENT, gate="prompts", names="name"),
    Method("completion/complete", _REQUEST, _CLIENT, until=FIRST),
    Method("completion/complete", _REQUEST, _CLIENT, since=REVISIONS[1], gate="completions"),
    Method("logging/setLevel", _REQUEST, _CLIENT, until=LAST_LEGACY, gate="logging"),
    Method("sampling/createMessage", _REQUEST, _SERVER, until=LAST_LEGACY, gate="sampling"),
    Method("roots/list", _REQUEST, _SERVER, until=LAST_LEGACY, gate="roots"),
    Method("elicitation/create", _REQUEST, _SERVER, "2025-06-18", LAST_LEGACY, "elicitation"),
    Method("tasks/get", _REQUEST, _BOTH, "2025-11-25", LAST_LEGACY, "tasks"),
    Method("tasks/result", _REQUEST, _BOTH, "2025-11-25", LAST_LEGACY, "tasks"),
    Method("tasks/list", _REQUEST, _BOTH, "2025-11-25", LAST_LEGACY, "tasks.list"),
    Method("tasks/cancel", _REQUEST, _BOTH, "2025-11-25", LAST_LEGACY, "tasks.cancel"),
    Method("notifications/tasks/status", _NOTIFICATION, _BOTH, "2025-11-25", LAST_LEGACY, "tasks"),
    Method("tasks/get", _REQUEST, _CLIENT, since=LATEST, extension=TASKS, names="taskId"),
    Method("tasks/update", _REQUEST, _CLIENT, since=LATEST, extension=TASKS, names="taskId"),
    Method("tasks/cancel", _REQUEST, _CLIENT, since=LATEST, extension=TASKS, names="taskId"),
    Method("notifications/tasks", _NOTIFICATION, _SERVER, since=LATEST, extension=TASKS),
    Method("skills/list", _REQUEST, _CLIENT, extension=SKILLS, lists="skills", cacheable=True),
    Method("skills/get", _REQUEST, _CLIENT, extension=SKILLS, names="uri", cacheable=True),
    Method("resources/directory/read", _REQUEST, _CLIENT, extension=SKILLS, lists="resources", names="uri"),
    Method("notifications/cancelled", _NOTIFICATION, _BOTH),
    Method("notifications/progress", _NOTIFICATION, _CLIENT, until=LAST_LEGACY),
    Method("notifications/progress", _NOTIFICATION, _SERVER),
    Method("notifications/roots/list_changed", _NOTIFICATION, _CLIENT, until=LAST_LEGACY, gate="roots.listChanged"),
    Method("notifications/message", _NOTIFICATION, _SERVER, gate="logging"),
    Method("notifications/tools/list_changed", _NOTIFICATION, _SERVER, gate="tools.listChanged"),
    Method("notifications/prompts/list_changed", _NOTIFICATION, _SERVER, gate="prompts.listChanged"),
    Method("notifications/resources/list_changed", _NOTIFICATION, _SERVER, gate="resources.listChanged"),
    Method("notifications/resources/updated", _NOTIFICATION, _SERVER, gate="resources.subscribe"),
    Method("notifications/elicitation/complete", _NOTIFICATION, _SERVER, "2025-11-25", LAST_LEGACY, "elicitation.url"),
)  # fmt: skip


def methods(revision: str, sender: Sender) -> dict[str, Method]:
    """Return the methods that this side may send in this revision, by name."""
    return {
        row.name: row for row in ROWS if sender in row.sender and row.since <= revision <= row.until
    }


CACHEABLE = frozenset(row.name for row in ROWS if row.cacheable)
METHODS = frozenset(row.name for row in ROWS)
LISTS = {row.name: row.lists for row in ROWS if row.lists is not None}
"""By method, the member of the result that is the list."""
NAMES = {row.name: row.names for row in ROWS if row.names is not None and row.extension is None}
"""By method of the core, the member of the params that names a tool, a resource or a prompt."""
