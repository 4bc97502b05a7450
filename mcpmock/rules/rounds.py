"""`Rounds`: requests of the modern era that were answered by a request for input, until the client
sends them again (multi round-trip requests). It judges nothing.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any

import attrs

from mcpmock.protocol.messages import encode

from .exchange import MAX_REMEMBERED
from .memory import drop_oldest

METHODS_WITH_INPUT = ("tools/call", "prompts/get", "resources/read")
"""The requests that may be answered so."""
RESPONSES, STATE = "inputResponses", "requestState"
"""What a client adds when it sends them again."""
MAX_ROUNDS = 16
"""How many open rounds of one request are remembered."""
_MAX_REQUESTS_BYTES = 64 << 10
"""The size of input requests up to which they are remembered."""


@attrs.frozen
class Round:
    """A request for input that is open."""

    request: bytes
    """What tells the request that was answered so from others (`digest_of`)."""
    keys: tuple[str, ...]
    requests: dict[str, Any]
    """The input requests by key; empty if they are too long."""
    state: str | None
    """The `requestState` to bring back."""
    capabilities: dict[str, Any]
    """The capabilities that the client declared in the request."""


@attrs.define
class Rounds:
    """The open rounds of one server."""

    _open: OrderedDict[bytes, list[Round]] = attrs.field(factory=OrderedDict)
    """By request."""
    _by_state: OrderedDict[str, bytes] = attrs.field(factory=OrderedDict)

    def begin(
        self, request: bytes, inputs: dict[str, Any], state: object, client: dict[str, Any]
    ) -> None:
        """Note that a request was answered by a request for input."""
        short = len(encode(inputs)) <= _MAX_REQUESTS_BYTES
        kept = state if isinstance(state, str) else None
        one = Round(request, (*inputs,), inputs if short else {}, kept, client)
        self._open.setdefault(request, []).append(one)
        del self._open[request][:-MAX_ROUNDS]
        drop_oldest(self._open, MAX_REMEMBERED)
        if kept is not None:
            self._by_state[kept] = request
            drop_oldest(self._by_state, MAX_REMEMBERED)

    def take(self, request: bytes, params: dict[str, Any]) -> Round | None:
        """Return the round that a request goes on with, and close it: it has the same method and
        params, but for what the client adds, or it brings the state.
        """
        state = params.get(STATE)
        key = self._by_state.get(state, request) if isinstance(state, str) else request
        found = self._open.get(key, [])
        if RESPONSES not in params and STATE not in params:
            # The same request again may be another one, unless there was nothing to bring but the
            # state.
            found = [one for one in found if not one.keys]
        chosen = next((one for one in found if one.state == state), next(iter(found), None))
        if chosen is not None:
            left = [one for one in self._open.pop(key) if one is not chosen]
            if left:
                self._open[key] = left
            self._by_state.pop(chosen.state or "", None)
        return chosen


def digest_of(method: str, params: dict[str, Any]) -> bytes:
    """Return what tells a request from others, whichever round it is of."""
    names = sorted(params.keys() - {"_meta", RESPONSES, STATE})
    return hashlib.sha256(encode([method, {name: params[name] for name in names}])).digest()
