"""`Listings`: what a server has listed, page by page: tools, prompts, resources, templates, skills.

`lists` fills it and checks lists; rules of calls ask it for the definition of what is called, and
whether a list is known to its end. In the legacy era each session has its own, in the modern era
all sessions with a server share one. It judges nothing.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Any

import attrs

from mcpmock.protocol.contents import SECRET_MARK
from mcpmock.protocol.correlation import PendingCall
from mcpmock.protocol.messages import decode
from mcpmock.protocol.methods import LISTS
from mcpmock.redaction.placeholders import PLACEHOLDER

from .exchange import MAX_REMEMBERED
from .memory import drop_oldest

MAX_ENTRIES = 1000
"""How many entries of a list are remembered."""
MAX_DEFINITION_BYTES = 64 << 10
"""The size up to which a definition is remembered."""
MAX_UNFINISHED = 16
"""How many lists are remembered whose next page was not requested yet."""
TOOLS, PROMPTS, RESOURCES = "tools/list", "prompts/list", "resources/list"
TEMPLATES, SKILLS_LIST = "resources/templates/list", "skills/list"
DIRECTORY = "resources/directory/read"
LISTED = {method: member for method, member in LISTS.items() if method != DIRECTORY}
LISTED["tasks/list"] = "tasks"
"""By method the member that is the list. What a directory has depends on the params; of tasks only
the cursors are remembered.
"""
KEYS = {RESOURCES: "uri", TEMPLATES: "uriTemplate", SKILLS_LIST: "uri"}
"""The member that tells the entries of a list apart, if it is not the name."""


@attrs.define
class PagedList:
    """A list over its pages, in its order. `whole` once its last page has come."""

    entries: dict[str, bytes] = attrs.field(factory=dict)
    """By name or URI the definition as JSON; empty if it is too long."""
    names: Counter[str] = attrs.field(factory=Counter)
    generation: int = 0
    """How often the list was said to have changed when the first page was requested."""
    hearing: int | None = None
    """What told the client of changes at that time; None if nothing could."""
    scope: object = None
    """The `cacheScope` of its first page."""
    too_long: bool = False
    begun: bool = True
    """Whether its first page was seen."""
    whole: bool = False

    def add(self, key: str, raw: bytes) -> None:
        """Remember a definition."""
        if len(self.entries) >= MAX_ENTRIES and key not in self.entries:
            self.too_long = True
        else:
            self.entries[key] = raw if len(raw) <= MAX_DEFINITION_BYTES else b""

    def definition(self, key: object) -> dict[str, Any]:
        """Return the definition of a name or URI; empty if it is not known."""
        raw = self.entries.get(key) if isinstance(key, str) else None
        found = decode(raw) if raw else None
        return found if isinstance(found, dict) else {}

    @property
    def comparable(self) -> bool:
        """Whether all definitions are known as they were on the wire."""
        return all(raw and PLACEHOLDER not in raw for raw in self.entries.values())


@attrs.frozen
class RequestedPage:
    """A page that was requested: of which list, and the list so far."""

    method: str
    listing: PagedList
    follows: bool
    """Whether it was requested by a cursor."""


@attrs.define
class Listings:
    """The lists of one server, as those that share this have seen them."""

    _requested: OrderedDict[PendingCall, RequestedPage] = attrs.field(factory=OrderedDict)
    _unfinished: OrderedDict[tuple[str, str], PagedList] = attrs.field(factory=OrderedDict)
    """By method and the cursor of the next page."""
    _given: OrderedDict[tuple[str, str], None] = attrs.field(factory=OrderedDict)
    """The cursors that pages gave."""
    _forgotten: bool = False
    """Cursors were dropped from memory."""
    _generations: Counter[str] = attrs.field(factory=Counter)
    _last: dict[str, PagedList] = attrs.field(factory=dict)
    """The last whole list by method."""
    _definitions: dict[str, PagedList] = attrs.field(factory=dict)
    """By method what pages have listed since the last whole list."""

    def whole(self, method: str) -> PagedList | None:
        """Return the list of this method if it is known to its end, and was not said to have
        changed since it was requested.
        """
        last = self._last.get(method)
        return last if last is not None and not self.changed_since(method, last) else None

    def definition(self, method: str, key: object) -> dict[str, Any]:
        """Return the definition that the last page with this name or URI gave; empty if there is
        none, or if the list was said to have changed since.
        """
        found = self._definitions.get(method)
        return {} if found is None else found.definition(key)

    def json_of(self, method: str, key: object) -> bytes | None:
        """Return that definition as JSON, empty if it is too long; None if there is none."""
        found = self._definitions.get(method)
        return found.entries.get(key) if found is not None and isinstance(key, str) else None

    def knows(self, method: str, key: object) -> bool:
        """Return whether a page has listed this name or URI, and nothing was said to have changed
        since.
        """
        found = self._definitions.get(method)
        return found is not None and isinstance(key, str) and key in found.entries

    def lacks(self, method: str, key: object) -> bool:
        """Return whether the whole list is known, and this name or URI is not in it."""
        found = self.whole(method)
        if found is None or not isinstance(key, str) or SECRET_MARK in key:
            return False
        return key not in found.entries and found.comparable

    def invented(self, method: str, cursor: object) -> bool:
        """Return whether no page of this list has given this cursor."""
        if not isinstance(cursor, str) or SECRET_MARK in cursor or self._forgotten:
            return False
        return (method, cursor) not in self._given

    def changed_since(self, method: str, listing: PagedList) -> bool:
        """Return whether the list was said to have changed since `listing` was requested."""
        return listing.generation != self._generations[method]

    def note_change(self, method: str) -> None:
        """Note that a list was said to have changed."""
        self._generations[method] += 1
        self._definitions.pop(method, None)

    def request(self, call: PendingCall, method: str, cursor: object, hearing: int | None) -> None:
        """Note that a call requests a page."""
        found = PagedList(
            generation=self._generations[method], hearing=hearing, begun=cursor is None
        )
        if cursor is not None:
            found = self._unfinished.pop((method, str(cursor)), found)
        self._requested[call] = RequestedPage(method, found, cursor is not None)
        drop_oldest(self._requested, MAX_REMEMBERED)

    def answer(self, call: PendingCall) -> RequestedPage | None:
        """Return the page that a call has requested, the first time."""
        return self._requested.pop(call, None)

    def add(self, method: str, listing: PagedList, key: str, raw: bytes) -> None:
        """Add an entry to a list, and to what is known."""
        listing.add(key, raw)
        self._definitions.setdefault(method, PagedList()).add(key, raw)

    def turn_page(self, method: str, listing: PagedList, cursor: str) -> None:
        """Note that a page has a next one."""
        self._unfinished[method, cursor] = listing
        drop_oldest(self._unfinished, MAX_UNFINISHED)
        self._given[method, cursor] = None
        self._forgotten |= drop_oldest(self._given, MAX_REMEMBERED)

    def finish(self, method: str, listing: PagedList) -> PagedList | None:
        """Note that a list is whole, and return the last whole one before it."""
        listing.whole = True
        before, self._last[method] = self._last.get(method), listing
        if not self.changed_since(method, listing):
            self._definitions[method] = PagedList(dict(listing.entries))
        return before
