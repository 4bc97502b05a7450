"""`CheckedMessage`: one message with all that is known of it, decoded at the first look; `State`:
what a
conversation has agreed on so far; `ServerState`: what holds for every conversation with one server.

Watchers look at these; `conversation` makes and changes them.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum
from functools import cached_property
from typing import Any

import attrs

from mcpmock.protocol.correlation import Attribution, PendingCall
from mcpmock.protocol.messages import (
    C2S,
    Direction,
    Message,
    Notification,
    Request,
    Response,
    decode,
)
from mcpmock.protocol.methods import LATEST

from .exchange import MOST, CheckedExchange

PREFIX = "io.modelcontextprotocol/"
Object = dict[str, Any]


@attrs.define
class CheckedMessage:
    """One message. Of a batch each is one."""

    direction: Direction
    message: Message
    raw: bytes
    note: Attribution
    revision: str | None
    """The one that it is held against; None where it is of none that we know."""
    exchange: CheckedExchange | None = None
    home: int | None = None
    """The exchange that its call came on, where that is known; of a request, that of the open one
    with the same id.
    """
    before: PendingCall | None = None
    """The open call, this way, of the id in it (of a cancel: of the id it names), as it was before
    this message.
    """
    batch: int = 0
    """How many messages came in one array with it; 0 for one that came alone."""

    @property
    def method(self) -> str | None:
        """Its own, of a response the one it answers."""
        return self.note.method

    @property
    def modern(self) -> bool:
        return self.revision == LATEST

    @cached_property
    def params(self) -> Object:
        """Of a request or a notification; empty where they are no object."""
        match self.message:
            case Request(params=raw) | Notification(params=raw) if raw is not None:
                return as_object(decode(raw))
            case _:
                return {}

    @cached_property
    def meta(self) -> Object:
        return as_object(self.params.get("_meta"))

    @cached_property
    def result(self) -> Object | None:
        """Of a response that has one; empty where it is no object."""
        raw = self.message.result if isinstance(self.message, Response) else None
        return None if raw is None else as_object(decode(raw))

    @cached_property
    def error(self) -> Object | None:
        """Of a response that is one."""
        raw = self.message.error if isinstance(self.message, Response) else None
        return None if raw is None else as_object(decode(raw))

    @cached_property
    def asked(self) -> Object:
        """The params of the request that this answers, reports on or cancels."""
        call = self.note.call
        raw = None if call is None else call.request.params
        return {} if raw is None else as_object(decode(raw))

    @property
    def code(self) -> object:
        """The code of an error."""
        return None if self.error is None else self.error.get("code")

    @property
    def on_own_stream(self) -> bool:
        """Whether it came where its call did. Without streams of their own all calls share one."""
        return self.exchange is None or self.home is None or self.exchange.owner == self.home

    @property
    def from_client(self) -> bool:
        return self.direction is C2S


class Phase(Enum):
    """How far the handshake of the legacy era has come."""

    NEW = 0
    ASKED = 1
    ANSWERED = 2
    READY = 3


@attrs.define
class ServerState:
    """What is known of a server from all conversations with it."""

    modern: bool = False
    """It has answered as servers of the modern era do."""
    capabilities: Object | None = None
    """What it told of itself in `server/discover`."""
    only_modern: bool = False
    """It told that it speaks no revision of the legacy era."""
    sessions: bool = False
    """It has given out session ids."""
    paths: set[str] = attrs.field(factory=set)
    """Where messages were posted to."""
    request_states: OrderedDict[bytes, bytes] = attrs.field(factory=OrderedDict)
    """Digests of the `requestState`s it gave out, with the ids of the requests it gave them to."""


@attrs.define
class State:
    """What one conversation has come to."""

    transport: str = "stdio"
    alone: bool = False
    """Each exchange is another caller's: over HTTP what belongs to no session."""
    server: ServerState = attrs.field(factory=ServerState)
    phase: Phase = Phase.NEW
    revision: str | None = None
    """The one that the handshake settled."""
    requested: str | None = None
    """The one that the client asked for in it."""
    client_capabilities: Object | None = None
    server_capabilities: Object | None = None
    blind: bool = False
    """Something was not seen: what seems to belong to nothing may belong to that."""
    _said: set[str] = attrs.field(factory=set)

    def once(self, what: str) -> bool:
        """Whether this is the first time: for what would be found at each message from here on."""
        first = what not in self._said and len(self._said) < MOST
        self._said |= {what} if first else set()
        return first

    @property
    def modern(self) -> bool:
        return self.phase is Phase.NEW and self.server.modern


def as_object(value: Any) -> Object:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def declared(capabilities: Object | None, gate: str) -> bool:
    """Whether a capability such as `resources.subscribe` is among these; of what nobody has told
    nothing is known to be missing.
    """
    if capabilities is None:
        return True
    value: Any = capabilities
    for name in gate.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value is not None and value is not False


def short(value: object) -> str:
    """A value from the wire in a finding, not long."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
