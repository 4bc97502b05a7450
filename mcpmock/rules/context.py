"""`CheckedMessage`: one message with its context, decoded; `State`: what one
conversation has agreed on so far; `ServerState`: what holds for all conversations with one server.

The rule modules read these; `conversation` and `messages` create and update them.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from enum import Enum
from typing import Any

import attrs

from mcpmock.matching.match_rule import Label
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import Attribution, PendingCall
from mcpmock.protocol.methods import LATEST, NAMES

from .exchange import MAX_REMEMBERED, CheckedExchange
from .listings import Listings
from .rounds import Rounds
from .skill_entries import SkillEntries

_LONG_NUMBER = re.compile(rb"[0-9]{4301}")
"""What Python does not read as a number."""
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
PREFIX = "io.modelcontextprotocol/"
Object = dict[str, Any]
SENT = (m.Request, m.Notification)


@attrs.define
class CheckedMessage:
    """One message; each member of a batch is one."""

    direction: m.Direction
    message: m.Message
    raw: bytes
    attribution: Attribution
    revision: str | None
    """The revision that the message is checked against; None if it is unknown."""
    exchange: CheckedExchange | None = None
    call_exchange: int | None = None
    """The exchange that carried its call, if known; for a request, the exchange of the open request
    with the same id.
    """
    open_call: PendingCall | None = None
    """The call in this direction that was open under its id (for a cancellation: under the id it
    names) before this message.
    """
    batch: int = 0
    """The size of the batch that contained it; 0 outside a batch."""
    # Fields, because the rules read them some thirty times a message.
    method: str | None = attrs.field(init=False)
    """Its method; for a response, the method of the call that it answers."""
    modern: bool = attrs.field(init=False)
    from_client: bool = attrs.field(init=False)
    params: Object = attrs.field(init=False, factory=dict)
    """The params of a request or a notification; empty if they are not an object."""
    result: Object | None = attrs.field(init=False, default=None)
    """The result of a response, if it has one; empty if it is not an object."""
    error: Object | None = attrs.field(init=False, default=None)
    """The error of a response, if it has one."""
    _call_params: Object | None = attrs.field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.method = self.attribution.method
        self.modern = self.revision == LATEST
        self.from_client = self.direction is m.C2S
        message = self.message
        if isinstance(message, m.Response):
            if message.result is not None:
                self.result = m.object_in(message.result)
            if message.error is not None:
                self.error = m.object_in(message.error)
        elif isinstance(message, SENT) and message.params is not None:
            self.params = m.object_in(message.params)

    @property
    def meta(self) -> Object:
        return as_object(self.params.get("_meta"))

    @property
    def call_params(self) -> Object:
        """The params of the request that this message answers, reports progress on or cancels."""
        if self._call_params is None:
            call = self.attribution.call
            raw = None if call is None else call.request.params
            self._call_params = {} if raw is None else m.object_in(raw)
        return self._call_params

    @property
    def code(self) -> object:
        """The error code, if it is an error response."""
        return None if self.error is None else self.error.get("code")

    @property
    def on_own_stream(self) -> bool:
        """Whether it arrived on the stream of its call. Outside HTTP all calls share one stream."""
        return (
            self.exchange is None
            or self.call_exchange is None
            or self.exchange.owner == self.call_exchange
        )


class Phase(Enum):
    """The state of the legacy handshake."""

    NEW = 0
    ASKED = 1
    ANSWERED = 2
    READY = 3


@attrs.define
class ServerState:
    """What is known of a server from all conversations with it."""

    modern: bool = False
    """It has answered as a modern server does."""
    capabilities: Object | None = None
    """The capabilities in its answer to `server/discover`."""
    only_modern: bool = False
    """It supports no legacy revision, according to `server/discover`."""
    sessions: bool = False
    """It has assigned session ids."""
    paths: set[str] = attrs.field(factory=set)
    """The paths that messages were posted to."""
    unjudged: set[str] = attrs.field(factory=set)
    """What could not be judged, and why: it is said once."""
    request_states: OrderedDict[bytes, bytes] = attrs.field(factory=OrderedDict)
    """Digests of the `requestState`s it issued, with the ids of the requests they answered."""
    rounds: Rounds = attrs.field(factory=Rounds)
    listings: Listings = attrs.field(factory=Listings)
    """What it has listed in the modern era."""
    skills: SkillEntries = attrs.field(factory=SkillEntries)
    discover_refused: bool = False
    """It has answered `server/discover` with -32601, as a legacy server does."""


@attrs.define
class State:
    """The state of one conversation."""

    transport: str = "stdio"
    sessionless: bool = False
    """HTTP exchanges outside any session: each one belongs to a caller of its own."""
    server: ServerState = attrs.field(factory=ServerState)
    phase: Phase = Phase.NEW
    revision: str | None = None
    """The revision that the handshake agreed on."""
    requested: str | None = None
    """The revision that the client requested in the handshake."""
    client_capabilities: Object | None = None
    server_capabilities: Object | None = None
    unreadable_answer: bool = False
    """The answer to `initialize` came with a content type that clients need not read."""
    asked_early: set[bytes] = attrs.field(factory=set)
    """The ids of what the server asked before it answered `initialize`."""
    incomplete: bool = False
    """Part of the conversation was not seen, so an unmatched message may belong to that part."""
    listings: Listings = attrs.field(factory=Listings)
    """What the server has listed in the legacy era."""
    skills: SkillEntries = attrs.field(factory=SkillEntries)
    streams: set[int] = attrs.field(factory=set)
    """The exchanges of the streams on which a server may send what belongs to no request."""
    silences: int = 0
    """How often the last of them ended."""
    _once_keys: set[str] = attrs.field(factory=set)

    @property
    def hearing(self) -> int | None:
        """What tells the client of changes, None if nothing can; the same number as long as nothing
        was missed.
        """
        if self.transport != "streamable-http":
            return 0
        return self.silences if self.streams and not self.sessionless else None

    def note_stream(self, exchange: int, *, is_open: bool) -> None:
        """Note that a stream begins or ends that may carry what belongs to no request."""
        if is_open and len(self.streams) < MAX_REMEMBERED:
            self.streams.add(exchange)
        elif not is_open and exchange in self.streams:
            self.streams.discard(exchange)
            self.silences += not self.streams

    def once(self, what: str) -> bool:
        """Return True the first time: limits a violation that every following message would
        repeat.
        """
        first = what not in self._once_keys and len(self._once_keys) < MAX_REMEMBERED
        self._once_keys |= {what} if first else set()
        return first

    @property
    def modern(self) -> bool:
        return self.phase is Phase.NEW and self.server.modern

    @property
    def may_have_begun_before(self) -> bool:
        """Whether it may have begun before the recording: over Streamable HTTP a session has an id,
        and its handshake was not seen.
        """
        return self.phase is Phase.NEW and self.transport == "streamable-http"


def as_object(value: Any) -> Object:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def why_unreadable(raw: bytes) -> str:
    """Return why bytes that cannot be decoded cannot be."""
    if m.json_error(raw) is not None:
        return "it is not JSON"
    if _LONG_NUMBER.search(raw):
        return "it has a number of thousands of digits"
    return "it is nested too deep"


def declared(capabilities: Object | None, gate: str) -> bool:
    """Return whether a capability such as `resources.subscribe` is declared; True if the
    declaration itself was not seen.
    """
    if capabilities is None:
        return True
    value: Any = capabilities
    for name in gate.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value is not None and value is not False


def label_of(message: CheckedMessage | None, exchange: CheckedExchange | None) -> tuple[str, Label]:
    """Return the method of a message and the call that it belongs to. Outside any message it is the
    only request of the exchange.
    """
    call = None if message is None else message.attribution.call
    request = None if call is None else call.request
    if message is None and exchange is not None and len(exchange.requests) == 1:
        (request,) = exchange.requests
    named = "" if request is None else request.method
    raw = m.member(request.params, NAMES[named]) if request and named in NAMES else None
    name = None if raw is None else m.decode(raw)
    method = named if message is None else message.method or ""
    return method, (named, name if isinstance(name, str) else "")


def describe_call(call: PendingCall) -> str:
    """`tools/call #7`, for the text of a violation."""
    return f"{short(call.request.method)} #{short(call.request.id)}"


def place(*steps: str | int) -> str:
    """Return the JSONPath of a place in a message: `$.result.tools[1]['a/b']`."""
    return "$" + "".join(map(_step, steps))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if _IDENTIFIER.fullmatch(step):
        return f".{step}"
    quoted = step.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{quoted}']"


def short(value: object) -> str:
    """Return a value from the wire, shortened for the text of a violation."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
