"""`DemoCall`: one request that the demo server is answering; `Era`: what a revision does its own
way.

These are all that a tool or another handler sees. `eras` has the two eras, `server` stands above
and makes the calls, `peer` below puts what they say on the wire.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from mcpmock.protocol.messages import Request, decode

from .peer import INVALID_PARAMS, DemoRefusal, Peer

DemoAnswer = dict[str, Any]
Handler = Callable[["DemoCall"], "DemoAnswer | Awaitable[DemoAnswer] | None"]
"""Answers a call: at once, after a while, or (None) not now."""

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


def as_object(value: Any) -> DemoAnswer:
    """`value` if it is a JSON object, else an empty one: clients send all kinds of things."""
    return value if isinstance(value, dict) else {}


class Failure(Exception):
    """A tool that failed: its caller is told in a result, not by a JSON-RPC error."""


class InputRequired(Exception):
    """A call cannot go on before the client has answered `requests` and calls again."""

    def __init__(self, requests: dict[str, Any]) -> None:
        super().__init__()
        self.requests = requests


class DemoCall:
    """One request being answered, and what may be said meanwhile: nothing any more once it is
    cancelled.
    """

    def __init__(self, peer: Peer, era: Era, request: Request) -> None:
        self._peer, self.era = peer, era
        self.id, self.method = request.id, request.method
        self.params = as_object(decode(request.params or b"{}"))
        self.meta = as_object(self.params.get("_meta"))
        self.scope = trio.CancelScope()

    def text(self, name: str) -> str:
        """A parameter that must be a string."""
        value = self.params.get(name)
        if not isinstance(value, str):
            raise DemoRefusal(INVALID_PARAMS, f"params.{name} must be a string")
        return value

    def progress(self, done: int, total: int, message: str) -> None:
        """Reports progress, if the caller asked for it."""
        token = self.meta.get("progressToken")
        if token is not None:
            report = {"progressToken": token, "progress": done, "total": total, "message": message}
            self._notify("notifications/progress", report)

    def log(self, level: str, data: Any) -> None:
        """Sends a log message, if the client wants those of this level."""
        wanted = self.era.log_level(self)
        if wanted in LEVELS and LEVELS.index(level) >= LEVELS.index(wanted):
            self._notify("notifications/message", {"level": level, "logger": "demo", "data": data})

    async def ask(self, method: str, params: DemoAnswer) -> DemoAnswer:
        """Asks the client something. Raises Failure or Refusal if it cannot or will not answer."""
        return as_object(await self.era.ask(self, method, params))

    def _notify(self, method: str, params: DemoAnswer) -> None:
        if not self.scope.cancel_called:
            self._peer.notify(method, params)


class Era(ABC):
    """What a revision does its own way, and the state of the one conversation that is in it."""

    not_found: int
    """The code of the error for a resource that is not there."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.touched: Counter[str] = Counter()
        """How often each resource was changed."""

    @property
    @abstractmethod
    def methods(self) -> dict[str, Handler]:
        """The methods that only this era has."""

    @abstractmethod
    def admit(self, call: DemoCall) -> None:
        """Raises Refusal for a request that lacks what every request of the era must carry."""

    @abstractmethod
    def dressed(self, call: DemoCall, result: DemoAnswer) -> DemoAnswer:
        """A result as the era wants it."""

    @abstractmethod
    def forget(self, id_: bytes) -> None:
        """The client cancelled the request with this id."""

    @abstractmethod
    def log_level(self, call: DemoCall) -> str | None:
        """The least severe level that the client wants to hear of, None for none at all."""

    @abstractmethod
    async def ask(self, call: DemoCall, method: str, params: DemoAnswer) -> Any:
        """What the client answers. Raises Failure, Refusal, or InputRequired."""

    @abstractmethod
    def changed(self, uri: str) -> None:
        """Tells whoever subscribed to it that a resource changed."""
