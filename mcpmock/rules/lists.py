"""Rules of lists: their names, their order, their pages, and changes without a notification."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcpmock.protocol.contents import SECRET_MARK
from mcpmock.protocol.error_codes import METHOD_NOT_FOUND
from mcpmock.protocol.messages import Notification, Request, decode, encode

from .context import CheckedMessage, Object, State, as_object, declared, place, short
from .exchange import MAX_REMEMBERED
from .listings import (
    KEYS,
    LISTED,
    PROMPTS,
    RESOURCES,
    SKILLS_LIST,
    TEMPLATES,
    TOOLS,
    Listings,
    PagedList,
    RequestedPage,
)
from .specification import SKILLS, Breach

CHANGES = {
    "notifications/tools/list_changed": (TOOLS,),
    "notifications/prompts/list_changed": (PROMPTS,),
    "notifications/resources/list_changed": (RESOURCES, TEMPLATES),
}
"""The lists that a notification is about."""
METHODS = {*LISTED, *CHANGES}
"""The methods of all messages that these rules look at."""
_FEATURES = {TOOLS: "tools", PROMPTS: "prompts", RESOURCES: "resources", TEMPLATES: "resources"}
"""The capability that a list belongs to, with its page of the specification."""
_VOLATILE = {"size", "annotations", "_meta"}
"""What may change in an entry without a change of the list."""
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_UNIQUE_SKILLS = ("Within a server's listing, names SHOULD be unique.", SKILLS)


def check_message(
    checked: CheckedMessage, state: State, listings: Listings, hearing: int | None
) -> Iterator[Breach]:
    """Yield the breaches in lists, and note what is in them. `hearing` tells what announces changes
    of this list to the client, None if nothing can.
    """
    call, method = checked.attribution.call, checked.method or ""
    if method in CHANGES:
        if isinstance(checked.message, Notification):
            for one in CHANGES[method]:
                listings.note_change(one)
    elif call is None or checked.attribution.late:
        return
    elif isinstance(checked.message, Request):
        listings.request(call, method, checked.params.get("cursor"), hearing)
    elif (page := listings.answer(call)) is None:
        return
    elif checked.result is not None:
        yield from _check_page(checked, state, listings, page)
    elif checked.code == METHOD_NOT_FOUND and method in _FEATURES and method != TEMPLATES:
        feature = _FEATURES[method]
        if state.server.modern and _declares(checked, state, feature):
            said = (
                f"Servers that declare the {feature} capability MUST respond to {method} requests"
                f" with the set of {feature} currently available to the requesting client."
            )
            text = f"{method} refused with {METHOD_NOT_FOUND}"
            yield Breach("list-refused", text, "", said, f"server/{feature}")


def _check_page(
    checked: CheckedMessage, state: State, listings: Listings, page: RequestedPage
) -> Iterator[Breach]:
    method, listing, result = page.method, page.listing, checked.result or {}
    entries = result.get(LISTED[method])
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        found = as_object(entry)
        key = found.get(KEYS.get(method, "name"))
        if isinstance(key, str):
            listings.add(method, listing, key, encode(found))
            yield from _check_name(method, listing, found, index, state)
    scope = result.get("cacheScope")
    if not page.follows:
        listing.scope = scope
    elif listing.begun and checked.modern and scope != listing.scope:
        text = f"cacheScope {short(scope)} behind a page with {short(listing.scope)}"
        yield Breach("cache-scope-pages", text, place("result", "cacheScope"))
    following = result.get("nextCursor")
    if isinstance(following, str):
        listings.turn_page(method, listing, following)
    elif following is None and listing.begun and not listing.too_long:
        before = listings.finish(method, listing)
        if before is not None and before.comparable and listing.comparable:
            yield from _compare(checked, state, listings, (before, listing))


def _check_name(
    method: str, listing: PagedList, entry: Object, index: int, state: State
) -> Iterator[Breach]:
    """Check the name of a tool or of a skill."""
    front = as_object(entry.get("frontmatter")) if method == SKILLS_LIST else entry
    name = front.get("name")
    if method not in (TOOLS, SKILLS_LIST) or not isinstance(name, str):
        return
    listing.names[name] += 1
    steps = ("result", LISTED[method], index)
    if listing.names[name] == 2:
        if method == TOOLS:
            text = f"two tools named {short(name)}"
            yield Breach("name-duplicate", text, place(*steps, "name"))
        else:
            text = f"two skills named {short(name)}"
            path = place(*steps, "frontmatter", "name")
            yield Breach("name-duplicate", text, path, *_UNIQUE_SKILLS)
    bad = method == TOOLS and not _TOOL_NAME.fullmatch(name) and SECRET_MARK not in name
    if bad and state.once(f"tool-name {name[:MAX_REMEMBERED]}"):
        text = f"a tool named {short(name)}" if name else "a tool with an empty name"
        yield Breach("tool-name", text, place(*steps, "name"))


def _compare(
    checked: CheckedMessage, state: State, listings: Listings, lists: tuple[PagedList, PagedList]
) -> Iterator[Breach]:
    """Compare a whole list with the one before."""
    (before, listing), method = lists, checked.method or ""
    if method == TOOLS and checked.modern:
        order, old_order = list(listing.entries), list(before.entries)
        if order != old_order and sorted(order) == sorted(old_order):
            text = f"the same {len(order)} tools in another order"
            yield Breach("tools-order", text, place("result", "tools"))
    if before.hearing is None or before.hearing != listing.hearing or method not in _FEATURES:
        return
    feature = _FEATURES[method]
    announces = _declares(checked, state, f"{feature}.listChanged")
    if announces and not listings.changed_since(method, before) and _differ(before, listing):
        said = (
            f"When the list of available {feature} changes, servers that declared the listChanged"
            " capability SHOULD send a notification"
        )
        text = f"{method} gives another list, and no notification said so"
        yield Breach("list-changed-silent", text, "", said, f"server/{feature}")


def _declares(checked: CheckedMessage, state: State, gate: str) -> bool:
    """Return whether the server was seen to declare a capability."""
    found = state.server.capabilities if checked.modern else state.server_capabilities
    return found is not None and declared(found, gate)


def _differ(one: PagedList, other: PagedList) -> bool:
    if one.entries.keys() != other.entries.keys():
        return True
    return any(
        raw != other.entries[key] and _lasting(raw) != _lasting(other.entries[key])
        for key, raw in one.entries.items()
    )


def _lasting(raw: bytes) -> Object:
    entry = as_object(decode(raw))
    return {name: value for name, value in entry.items() if name not in _VOLATILE}
