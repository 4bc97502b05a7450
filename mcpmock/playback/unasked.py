"""`UnaskedMethods`: what the capabilities of a recorded server say about requests that no recorded
client ever made, but another client of the same server may make.

What belongs to a capability that it does not declare, it refused as any server does: there is no
such method. What it declares may be asked: lists of prompts and resources, and a log level.

Some clients ask for each list that a capability stands for, others never do, and some give a server
up that answers with an error. An empty list says what the recording knows: nothing. Tools are not
answered so, nor is what names a prompt, a resource or an argument: there an answer of our own could
be taken for one of the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import attrs

from mcpmock.cassette.model import Take
from mcpmock.protocol import edit
from mcpmock.protocol.correlation import id_space
from mcpmock.protocol.error_codes import METHOD_NOT_FOUND
from mcpmock.protocol.messages import Request, Response, decode, member, parse_items
from mcpmock.protocol.methods import (
    CACHEABLE,
    LAST_LEGACY,
    LATEST,
    LISTS,
    REVISIONS,
    Method,
    Sender,
    methods,
)
from mcpmock.protocol.revisions import is_modern, version_of

_EMPTY: dict[str, dict[str, Any]] = {
    **{
        method: {LISTS[method]: []}
        for method in ("prompts/list", "resources/list", "resources/templates/list")
    },
    "logging/setLevel": {},  # 2025-11-25, server/utilities/logging: the answer is always empty
}
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"


@attrs.define(slots=False)
class UnaskedMethods:
    """What a recorded server declared, and which methods its clients asked: each is read when it is
    needed, for a cassette may be long.
    """

    takes: Sequence[Take]
    told: set[str] = attrs.field(factory=set)
    """The methods whose answer was reported."""

    @cached_property
    def declared(self) -> list[bytes]:
        """The capabilities in each handshake."""
        return [found for one in self._handshakes if (found := member(one, "capabilities"))]

    @cached_property
    def info(self) -> Any:
        """How the server names itself in results, since 2026-07-28; None before."""
        named = (member(one, "_meta", _SERVER_INFO) for one in self._handshakes)
        return next((decode(one) for one in named if one is not None), None)

    @cached_property
    def _handshakes(self) -> list[bytes]:
        raws = (event.payload for take in self.takes for event in take.events if event.d == "s2c")
        items = (
            one for raw in raws if raw and b'"capabilities"' in raw for one in parse_items(raw)
        )
        return [one.result for one in items if isinstance(one, Response) and one.result is not None]

    @cached_property
    def asked(self) -> dict[str, bool]:
        """The methods that clients asked, and whether the server refused each time as one that it
        does not have.
        """
        refused: dict[str, bool] = {}
        for take in self.takes:
            methods_by_id: dict[object, str] = {}
            missing: dict[object, bool] = {}
            for event in take.events:
                where = id_space(event.s, event.x)
                for one in parse_items(event.payload or b""):
                    if isinstance(one, Request) and event.d == "c2s":
                        methods_by_id[where, one.id] = one.method
                    elif isinstance(one, Response) and event.d == "s2c":
                        code = member(one.error, "code") or b"null"
                        missing[where, one.id] = decode(code) == METHOD_NOT_FOUND
            for key, method in methods_by_id.items():
                refused[method] = refused.get(method, True) and missing.get(key, False)
        return refused

    def refuses(self, request: Request, revisions: Iterable[str]) -> bool:
        """Return whether a live request belongs to a capability that the server, which spoke these
        revisions, did not declare, and of which it answered nothing all the same.
        """
        modern = is_modern(version_of(request))
        spoken = [one for one in revisions if is_modern(one) == modern]
        rows = _rows(request.method, spoken) or _rows(
            request.method, [LATEST if modern else LAST_LEGACY]
        )
        gates = {_gate(row) for row in rows}
        if not self.declared or not gates or any(map(self._declares, gates)):
            return False
        known = (method for method, refused in self.asked.items() if not refused)
        return gates.isdisjoint(_gate(row) for one in known for row in _rows(one, REVISIONS))

    def _declares(self, gate: tuple[str, ...] | None) -> bool:
        return gate is None or any(
            member(one, *gate) not in (None, b"null", b"false") for one in self.declared
        )

    def result_of(self, request: Request) -> dict[str, Any] | None:
        """Return the result for a live request; None for one that was asked before, or that the
        server does not declare.
        """
        method = request.method
        if method not in _EMPTY or method in self.asked or member(request.params, "cursor"):
            return None
        modern = is_modern(version_of(request))
        revision = LATEST if modern else LAST_LEGACY
        row = methods(revision, Sender.CLIENT).get(method)
        if row is None or not self._declares(_gate(row)):
            return None
        result = edit.result(_EMPTY[method], revision)
        if modern and method in CACHEABLE:
            # 2026-07-28, server/utilities/caching: both are required, and 0 is "do not cache".
            result = {**result, "ttlMs": 0, "cacheScope": "private"}
        return {**result, "_meta": {_SERVER_INFO: self.info}} if modern and self.info else result


def _rows(method: str, revisions: Iterable[str]) -> list[Method]:
    """Return the rows of a method of clients in these revisions."""
    found = (methods(revision, Sender.CLIENT).get(method) for revision in revisions)
    return [row for row in found if row is not None]


def _gate(row: Method) -> tuple[str, ...] | None:
    """Return where in its capabilities a server declares a method; None if it need not."""
    if row.extension is not None:
        return ("extensions", row.extension)
    return None if row.gate is None else tuple(row.gate.split("."))
