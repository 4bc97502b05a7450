"""What crosses the wire: a `Frame`, its raw bytes, and what they say.

Raw comes first. Whoever forwards writes `raw`; whoever wants to know what it says asks for
`content`, which is decoded then, once. Decoding never fails: bytes that are not JSON-RPC are
`Opaque`, and pass, are recorded and are replayed like any other. Nothing here knows of revisions
(`methods`), of who awaits what (`session`) or of framing (`transports/`).
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from .raw_json import UNREADABLE, elements, locate, members
from .transport_facts import (
    ExchangeEnd,
    Fact,
    Fragment,
    HttpBody,
    HttpRequest,
    HttpResponse,
    ProcessExit,
    SseMeta,
    Stderr,
    StreamEnd,
)

__all__ = [
    "C2S",
    "S2C",
    "Batch",
    "Content",
    "Direction",
    "ExchangeEnd",
    "Fact",
    "Fragment",
    "Frame",
    "HttpBody",
    "HttpRequest",
    "HttpResponse",
    "Message",
    "Notification",
    "Opaque",
    "ProcessExit",
    "Request",
    "Response",
    "SseMeta",
    "Stderr",
    "StreamEnd",
    "decode",
    "encode",
    "member",
    "parse",
    "parse_items",
    "same_id",
]  # fmt: skip


class Direction(Enum):
    """Which way a frame travels. The values are those of the cassette's `d`."""

    C2S = "c2s"
    S2C = "s2c"

    @property
    def back(self) -> Direction:
        return S2C if self is C2S else C2S


C2S, S2C = Direction.C2S, Direction.S2C


class Request(msgspec.Struct, frozen=True, gc=False):
    """`id` is the id as it was spelled (`1`, `"1"`, `1.0`, `null`): its type and spelling are its
    identity.
    """

    id: bytes
    method: str
    params: bytes | None = None


class Notification(msgspec.Struct, frozen=True, gc=False):
    """A call that wants no answer."""

    method: str
    params: bytes | None = None


class Response(msgspec.Struct, frozen=True, gc=False):
    """Exactly as lenient as real peers: `id` is None where there is none or null (both are seen for
    unreadable requests).
    """

    id: bytes | None
    result: bytes | None = None
    error: bytes | None = None


class Opaque(msgspec.Struct, frozen=True, gc=False):
    """Bytes that are not JSON-RPC: banners, torn lines, bad UTF-8, JSON of another kind."""


class Batch(msgspec.Struct, frozen=True, gc=False):
    """A JSON-RPC batch (revision 2025-03-26; some servers take them at any). What stands in it:
    `parse_items`.
    """


Message = Request | Notification | Response | Batch | Opaque
Content = Message | Fact


class Frame(msgspec.Struct, gc=False):
    """One thing that crossed the wire.

    `raw` is exactly what was on the wire with its framing removed, and `eol` is the framing: the
    bytes that ended the line, `b""` for a line that ended without any; on HTTP nothing but a CR LF
    says something, namely how the lines of a server-sent event end. `fact` is set where a frame is
    no message but something that happened to the transport. `exchange` numbers the HTTP exchange
    that carried it, None on stdio. `wire` is set where the bytes with their framing are known and
    more than `raw` and `eol`: a whole server-sent event. Who changes a message makes a new frame,
    without it.
    """

    direction: Direction
    raw: bytes = b""
    eol: bytes = b"\n"
    fact: Fact | None = None
    exchange: int | None = None
    wire: bytes | None = None
    _message: Message | None = None

    @property
    def content(self) -> Content:
        """What the frame is; a message is decoded at the first look."""
        if self.fact is not None:
            return self.fact
        if self._message is None:
            self._message = parse(self.raw)
        return self._message

    @property
    def size(self) -> int:
        """Bytes on the wire."""
        return len(self.raw) + len(self.eol) if self.wire is None else len(self.wire)


class _Envelope(msgspec.Struct, gc=False):
    """The top level of a JSON-RPC message. UNSET tells `id: null` from no id."""

    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_envelope = msgspec.json.Decoder(_Envelope)
OPAQUE, BATCH = Opaque(), Batch()


def parse(raw: bytes) -> Message:
    """What these bytes are. Never raises: what is not JSON-RPC is Opaque."""
    if raw[:1] == b"[" or raw.lstrip()[:1] == b"[":
        return BATCH if any(item is not OPAQUE for item in parse_items(raw)) else OPAQUE
    try:
        if not raw.isascii():
            raw.decode()
        found = _envelope.decode(raw)
    except UNREADABLE:
        return _parse_by_scan(raw)
    return _message(found.id, found.method, found.params, found.result, found.error)


def parse_items(raw: bytes) -> list[Message]:
    """The members of a batch, each classified like a message of its own; of anything else, itself
    alone.
    """
    spans = elements(raw)
    if spans is None:
        return [OPAQUE] if raw.lstrip()[:1] == b"[" else [parse(raw)]
    inside = [raw[span.start : span.end] for span in spans]
    return [OPAQUE if item[:1] == b"[" else parse(item) for item in inside]


def _parse_by_scan(raw: bytes) -> Message:
    """For what node and Python send and msgspec refuses: lone surrogates, NaN, thousands of nested
    brackets.
    """
    try:
        raw.decode()
    except UnicodeDecodeError:
        return OPAQUE
    spans = members(raw) or {}
    values: dict[str, Any] = {name: raw[span.start : span.end] for name, span in spans.items()}
    method = decode(values["method"]) if "method" in values else msgspec.UNSET
    if method is not msgspec.UNSET and not isinstance(method, str):
        return OPAQUE
    unset = msgspec.UNSET
    rest = (values.get(name, unset) for name in ("params", "result", "error"))
    return _message(values.get("id", unset), method, *rest)


def _message(id_: Any, method: Any, params: Any, result: Any, error: Any) -> Message:
    unset = msgspec.UNSET
    if method is not unset:
        arguments = None if params is unset else bytes(params)
        if id_ is unset:
            return Notification(method, arguments)
        return Request(bytes(id_), method, arguments)
    if result is unset and error is unset:
        return OPAQUE
    known = None if id_ is unset or bytes(id_) == b"null" else bytes(id_)
    return Response(
        known,
        None if result is unset else bytes(result),
        None if error is unset else bytes(error),
    )


def decode(raw: bytes) -> Any:
    """The value of a JSON text, or None where no decoder takes it: for looking, never for
    forwarding.

    msgspec refuses what real peers send (lone surrogates, NaN, 5,000 digits), so the standard
    library has the last word.
    """
    try:
        return msgspec.json.decode(raw)
    except UNREADABLE:
        import json

        try:
            return json.loads(raw)
        except UNREADABLE:
            return None


def encode(value: Any) -> bytes:
    """Compact JSON, also of what msgspec does not write: lone surrogates become escapes."""
    try:
        return msgspec.json.encode(value)
    except (ValueError, RecursionError):
        import json

        return json.dumps(value, separators=(",", ":")).encode()


def member(raw: bytes | None, *path: str) -> bytes | None:
    """The raw value at a path of names, None where there is none."""
    span = None if raw is None else locate(raw, path)
    return None if span is None or raw is None else raw[span.start : span.end]


def same_id(one: bytes, other: bytes) -> bool:
    """Whether two spellings mean one id. Peers re-spell: TypeScript answers `1` to `1.0` and `100`
    to `1e2`.
    """
    if one == other:
        return True
    if one[:1] == b'"' or other[:1] == b'"':
        return one[:1] == other[:1] and decode(one) == decode(other)
    from decimal import Decimal, InvalidOperation

    try:
        return Decimal(one.decode()) == Decimal(other.decode())
    except (InvalidOperation, UnicodeDecodeError):
        return False
