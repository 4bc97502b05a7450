"""The lists, capabilities and handshake of a stub's server, alone or added to the answers of a
recorded server.

Recorded answers are changed by splicing; every other byte stays. `script` holds the entries,
`protocol.methods` knows which method needs which capability. Used by `stage`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from mcpmock.protocol.edit import with_member
from mcpmock.protocol.messages import decode, encode, member
from mcpmock.protocol.methods import LAST_LEGACY, LATEST, REVISIONS, Sender, methods
from mcpmock.protocol.raw_json import Span, elements, locate, splice
from mcpmock.protocol.revisions import is_modern

from .script import Arguments, RouteKind, StubScript

HANDSHAKES = {"initialize", "server/discover"}
_BOOLEAN_CAPABILITIES = {"listChanged", "subscribe"}
"""The capabilities that are booleans; the others are objects."""


@attrs.frozen
class Listing:
    """A list method: the member of its result, and the key that identifies an entry."""

    kind: RouteKind
    member: str
    key: str


LISTS = {
    "tools/list": Listing(RouteKind.TOOL, "tools", "name"),
    "prompts/list": Listing(RouteKind.PROMPT, "prompts", "name"),
    "resources/list": Listing(RouteKind.RESOURCE, "resources", "uri"),
    "resources/templates/list": Listing(RouteKind.TEMPLATE, "resourceTemplates", "uriTemplate"),
}


def with_listed(raw: bytes, method: str, script: StubScript, *, first: bool) -> bytes:
    """Return the answer to a list method with the entries of the script: they replace entries with
    the same key; new ones are appended, on the `first` page only.
    """
    listing = LISTS[method]
    listed = list(script.listed.items())
    ours = {name: entry for (kind, name), entry in listed if kind is listing.kind}
    span = locate(raw, ("result", listing.member))
    spans = None if span is None else elements(raw[slice(*span)])
    if span is None or spans is None:
        return raw
    text = raw[slice(*span)]
    changes: list[tuple[Span, bytes]] = []
    for place in spans:
        name = decode(member(text[slice(*place)], listing.key) or b"null")
        entry = ours.pop(name, None) if isinstance(name, str) else None
        if entry is not None and not _has_only_key(entry, listing):
            changes.append((place, encode(entry)))
    added = b",".join(encode(_with_required_members(entry, listing)) for entry in ours.values())
    if first and added:
        end = Span(len(text) - 1, len(text) - 1)
        changes.append((end, b"," + added if spans else added))
    return splice(raw, [(span, splice(text, changes))])


def with_capabilities(raw: bytes, script: StubScript, revision: str) -> bytes:
    """Return the answer to a handshake, with the capabilities that the script needs."""
    for path in needed(script, revision):
        for depth in range(1, len(path) + 1):
            at = ["result", "capabilities", *path[:depth]]
            if member(raw, *at) is None:
                raw = with_member(
                    raw, at, b"true" if path[depth - 1] in _BOOLEAN_CAPABILITIES else b"{}"
                )
    return raw


def needed(script: StubScript, revision: str) -> list[list[str]]:
    """Return the capabilities that the methods of the script need in a revision, as paths."""
    sent = methods(revision, Sender.CLIENT) | methods(revision, Sender.SERVER)
    gates = [row.gate for name in script.methods_used if (row := sent.get(name)) is not None]
    return sorted({gate: gate.split(".") for gate in gates if gate is not None}.values())


def handshake(script: StubScript, method: str, params: Mapping[str, Any]) -> Arguments | None:
    """Return the result of a handshake, with the capabilities that the script declares; None if its
    server does not support the era.
    """
    only, declared = script.revision, script.capabilities
    extra: Arguments = {} if script.instructions is None else {"instructions": script.instructions}
    if method == "server/discover":
        if only is not None and not is_modern(only):
            return None
        return {"supportedVersions": [only or LATEST], "capabilities": declared, **extra}
    if is_modern(only):
        return None
    wanted = params.get("protocolVersion")
    spoken = wanted if wanted in REVISIONS and not is_modern(wanted) else LAST_LEGACY
    hello = {"protocolVersion": only or spoken, "capabilities": declared, "serverInfo": script.info}
    return {**hello, **extra}


def _has_only_key(entry: Arguments, listing: Listing) -> bool:
    """Return whether the entry is empty but for its key: a recorded entry has more."""
    return entry.keys() <= {listing.key}


def _with_required_members(entry: Arguments, listing: Listing) -> Arguments:
    usual: Arguments = {"inputSchema": {"type": "object"}} if listing.kind is RouteKind.TOOL else {}
    if listing.kind in (RouteKind.RESOURCE, RouteKind.TEMPLATE):
        usual = {"name": entry[listing.key]}
    return {**entry, **usual, **entry}
