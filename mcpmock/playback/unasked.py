"""`UnaskedMethods`: answers to what no recorded client ever asked, but another client of the same
server may ask because the server declares it: lists of prompts and resources, and a log level.

Some clients ask for each list that a capability stands for, others never do, and some give a server
up that answers with an error. An empty list says what the recording knows: nothing. Tools are not
answered so, nor is what names a prompt, a resource or an argument: there an answer of our own could
be taken for one of the server.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from mcpmock.cassette.model import Take
from mcpmock.protocol import edit
from mcpmock.protocol.messages import Request, Response, decode, member, parse_items
from mcpmock.protocol.methods import CACHEABLE, LAST_LEGACY, LATEST, LISTS, Sender, methods
from mcpmock.protocol.revisions import is_modern, version_of

EMPTY_RESULTS: dict[str, dict[str, Any]] = {
    **{
        method: {LISTS[method]: []}
        for method in ("prompts/list", "resources/list", "resources/templates/list")
    },
    "logging/setLevel": {},  # 2025-11-25, server/utilities/logging: the answer is always empty
}
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"


@attrs.frozen
class UnaskedMethods:
    """What a recorded server declared, and which methods its clients asked."""

    declared: list[bytes]
    """The capabilities in each handshake."""
    asked: frozenset[str]
    info: Any = None
    """How the server names itself in results, since 2026-07-28."""
    told: set[str] = attrs.field(factory=set)
    """The methods whose answer was reported."""

    @classmethod
    def of(cls, takes: Iterable[Take]) -> UnaskedMethods:
        """Read the recorded handshakes and requests."""
        declared, asked, info = [], set(), None
        for event in (event for take in takes for event in take.events):
            raw = event.payload
            if raw is None:
                continue
            if event.d == "c2s":
                items = parse_items(raw) if b"/" in raw else ()
                asked |= {item.method for item in items if isinstance(item, Request)}
            elif b'"capabilities"' in raw:
                results = [one.result for one in parse_items(raw) if isinstance(one, Response)]
                declared += [
                    found for one in results if (found := member(one, "capabilities")) is not None
                ]
                named = [member(one, "_meta", _SERVER_INFO) for one in results]
                info = next((decode(one) for one in named if one is not None), info)
        return cls(declared, frozenset(asked), info)

    def result_of(self, request: Request) -> dict[str, Any] | None:
        """Return the result for a live request; None for one that was asked before, or that the
        server does not declare.
        """
        method = request.method
        if method not in EMPTY_RESULTS or method in self.asked or member(request.params, "cursor"):
            return None
        modern = is_modern(version_of(request))
        revision = LATEST if modern else LAST_LEGACY
        row = methods(revision, Sender.CLIENT).get(method)
        if row is None or row.gate is None:
            return None
        if all(member(one, *row.gate.split(".")) in (None, b"null") for one in self.declared):
            return None
        result = edit.result(EMPTY_RESULTS[method], revision)
        if modern and method in CACHEABLE:
            # 2026-07-28, server/utilities/caching: both are required, and 0 is "do not cache".
            result = {**result, "ttlMs": 0, "cacheScope": "private"}
        return {**result, "_meta": {_SERVER_INFO: self.info}} if modern and self.info else result
