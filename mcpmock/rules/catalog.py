"""`Catalog`: what a server has listed, as its client knows it when it sends a request: the last
definition of each name over all pages, until the list has changed.

Bounded: MAX_DEFINITIONS of each kind, those of more than MAX_DEFINITION_BYTES without content.
`contents` judges by it, `conversation` keeps one for each session or, since 2026-07-28, server.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any, NamedTuple

import attrs

from mcpmock.protocol.messages import encode
from mcpmock.protocol.methods import LISTS

from .memory import drop_oldest

MAX_DEFINITIONS = 1000
MAX_DEFINITION_BYTES = 64 << 10
Object = dict[str, Any]
TOOLS, PROMPTS, RESOURCES = "tools/list", "prompts/list", "resources/list"
TEMPLATES = "resources/templates/list"
_KEYS = {TOOLS: "name", PROMPTS: "name", RESOURCES: "uri", TEMPLATES: "uriTemplate"}
_CHANGES = {
    "notifications/tools/list_changed": (TOOLS,),
    "notifications/prompts/list_changed": (PROMPTS,),
    "notifications/resources/list_changed": (RESOURCES, TEMPLATES),
}
PAGED = {*LISTS, "tasks/list"}
"""The methods whose results come in pages."""


class ListedSchema(NamedTuple):
    """A schema in a list, as JSON; None if there is none, or it is `too_long` to be remembered."""

    raw: bytes | None = None
    too_long: bool = False


class ListedTool(NamedTuple):
    """What a list says of a tool."""

    name: str
    input: ListedSchema = ListedSchema()
    output: ListedSchema = ListedSchema()


@attrs.frozen
class ListedPrompt:
    """The arguments of a prompt that must be given, and all that may be."""

    required: frozenset[str]
    known: frozenset[str]


@attrs.define
class Catalog:
    """What one client knows of a server."""

    tools: OrderedDict[str, ListedTool] = attrs.field(factory=OrderedDict)
    prompts: OrderedDict[str, ListedPrompt] = attrs.field(factory=OrderedDict)
    resources: OrderedDict[str, None] = attrs.field(factory=OrderedDict)
    templates: OrderedDict[str, None] = attrs.field(factory=OrderedDict)
    _cursors: dict[str, OrderedDict[bytes, None]] = attrs.field(factory=dict)
    """By method, digests of the cursors that its pages gave."""
    _whole: dict[str, bool] = attrs.field(factory=dict)
    """By method, whether all pages since the first were seen, of a list at its end."""

    def is_complete(self, method: str) -> bool:
        """Return whether the whole list is known."""
        return self._whole.get(method, False)

    def has_given(self, method: str, cursor: str) -> bool:
        """Return whether a page gave this cursor, or may have: old ones are forgotten."""
        given = self._cursors.get(method, OrderedDict())
        return _digest(cursor) in given or len(given) >= MAX_DEFINITIONS

    def note_change(self, notification: str) -> None:
        """Forget a list that has changed, if a notification of this method says so."""
        for changed in _CHANGES.get(notification, ()):
            self._entries(changed).clear()
            self._whole[changed] = False

    def note_page(self, method: str, cursor: object, page: Object) -> None:
        """Take a page of a list, which was asked for with this cursor."""
        chained = cursor is None or (
            isinstance(cursor, str) and self._whole.pop(f"{method} goes on", False)
        )
        following = page.get("nextCursor")
        if isinstance(following, str):
            given = self._cursors.setdefault(method, OrderedDict())
            given[_digest(following)] = None
            drop_oldest(given, MAX_DEFINITIONS)
        self._whole[method] = chained and following is None
        self._whole[f"{method} goes on"] = chained and following is not None
        listed = page.get(LISTS.get(method, ""))
        for entry in _objects(listed):
            name = entry.get(_KEYS.get(method, ""))
            if isinstance(name, str):
                self._remember(method, name, entry)

    def _remember(self, method: str, name: str, entry: Object) -> None:
        entries = self._entries(method)
        entries[name] = _listed(method, name, entry)
        entries.move_to_end(name)
        if drop_oldest(entries, MAX_DEFINITIONS):
            self._whole[method] = False

    def _entries(self, method: str) -> OrderedDict[str, Any]:
        lists: dict[str, OrderedDict[str, Any]] = {
            TOOLS: self.tools,
            PROMPTS: self.prompts,
            RESOURCES: self.resources,
            TEMPLATES: self.templates,
        }
        return lists[method]


def _listed(method: str, name: str, entry: Object) -> Any:
    if method == TOOLS:
        return ListedTool(
            name, listed_schema(entry.get("inputSchema")), listed_schema(entry.get("outputSchema"))
        )
    if method == PROMPTS:
        found = _objects(entry.get("arguments"))
        named = {one["name"]: one for one in found if isinstance(one.get("name"), str)}
        required = (name for name, one in named.items() if one.get("required") is True)
        return ListedPrompt(frozenset(required), frozenset(named))
    return None


def listed_schema(value: Any) -> ListedSchema:
    """Return a schema as it is remembered."""
    if value is None:
        return ListedSchema()
    raw = encode(value)
    long = len(raw) > MAX_DEFINITION_BYTES
    return ListedSchema(None if long else raw, long)


def _objects(value: Any) -> list[Object]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _digest(cursor: str) -> bytes:
    return hashlib.sha256(cursor.encode("utf-8", "surrogatepass")).digest()
