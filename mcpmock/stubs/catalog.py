"""What a stub's server says of itself: its lists, its capabilities and its handshake, alone or put
into what a recorded server says.

Of a recorded answer only what changes is spliced; every other byte stays. `script` says what there
is, `protocol.methods` which method needs which capability. Used by `stage`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from mcpmock.protocol.edit import with_member
from mcpmock.protocol.messages import decode, encode, member
from mcpmock.protocol.methods import LAST_LEGACY, LATEST, REVISIONS, Sender, methods
from mcpmock.protocol.raw_json import Span, elements, locate, splice
from mcpmock.protocol.revisions import is_modern

from .results import Speaker, dressed
from .script import CALLED_BY, Arguments, RouteKind, StubScript

HANDSHAKES = {"initialize", "server/discover"}
_FLAGS = {"listChanged", "subscribe"}
"""The capabilities that are true or not; the others are objects."""


@attrs.frozen
class Listing:
    """One method that lists: the member its result has, and what names an entry of it."""

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
    """The answer to a list, with what the script lists: in the place of what has the same name, the
    rest behind, on the `first` page only.
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
        if entry is not None and not _says_nothing(entry, listing):
            changes.append((place, encode(entry)))
    added = b",".join(encode(_whole(entry, listing)) for entry in ours.values())
    if first and added:
        end = Span(len(text) - 1, len(text) - 1)
        changes.append((end, b"," + added if spans else added))
    return splice(raw, [(span, splice(text, changes))])


def with_capabilities(raw: bytes, script: StubScript, revision: str) -> bytes:
    """The answer to a handshake, with the capabilities that the script needs."""
    for path in needed(script, revision):
        for depth in range(1, len(path) + 1):
            at = ["result", "capabilities", *path[:depth]]
            if member(raw, *at) is None:
                raw = with_member(raw, at, b"true" if path[depth - 1] in _FLAGS else b"{}")
    return raw


def needed(script: StubScript, revision: str) -> list[list[str]]:
    """The capabilities that what the script offers needs in a revision, as paths."""
    sent = methods(revision, Sender.CLIENT) | methods(revision, Sender.SERVER)
    gates = [row.gate for name in _methods_of(script) if (row := sent.get(name)) is not None]
    return sorted({gate: gate.split(".") for gate in gates if gate is not None}.values())


def handshake(script: StubScript, method: str, params: Mapping[str, Any]) -> Arguments | None:
    """The result of a handshake, its capabilities still empty; None where the script's server does
    not speak the era.
    """
    only = script.revision
    extra: Arguments = {} if script.instructions is None else {"instructions": script.instructions}
    if method == "server/discover":
        if only is not None and not is_modern(only):
            return None
        extra |= {"supportedVersions": [only or LATEST], "capabilities": {}}
        result: Arguments = dressed(method, extra, Speaker(LATEST, script.info))
        return result
    if is_modern(only):
        return None
    asked = params.get("protocolVersion")
    spoken = asked if asked in REVISIONS and not is_modern(asked) else LAST_LEGACY
    hello = {"protocolVersion": only or spoken, "capabilities": {}, "serverInfo": script.info}
    return {**hello, **extra}


def empty_list(method: str, speaker: Speaker) -> Arguments:
    """The result of a list with nothing in it."""
    result: Arguments = dressed(method, {LISTS[method].member: []}, speaker)
    return result


def sends(script: StubScript, method: str) -> bool:
    """Whether the script's server ever says this."""
    return method in _methods_of(script)


def _methods_of(script: StubScript) -> Iterator[str]:
    """What is called at the script's server, and what it sends."""
    kinds = {kind for kind, _ in list(script.listed)}
    yield from (CALLED_BY[kind] for kind in kinds)
    for entry in list(script.entries):
        yield CALLED_BY.get(entry.kind, entry.name)
        for step in entry.steps:
            yield from (saying.method for saying in step.sayings if saying.method is not None)
    yield from (saying.method for saying in script.announcements if saying.method is not None)


def _says_nothing(entry: Arguments, listing: Listing) -> bool:
    """Whether it has only its name: a recorded one says more."""
    return entry.keys() <= {listing.key}


def _whole(entry: Arguments, listing: Listing) -> Arguments:
    """With what the protocol asks for."""
    usual: Arguments = {"inputSchema": {"type": "object"}} if listing.kind is RouteKind.TOOL else {}
    if listing.kind in (RouteKind.RESOURCE, RouteKind.TEMPLATE):
        usual = {"name": entry[listing.key]}
    return {**usual, **entry}
