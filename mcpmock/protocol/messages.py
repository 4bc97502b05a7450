"""What crosses the wire: a `Frame`, its raw bytes, and the message in them.

Raw comes first. To forward a frame, write its `raw`; to look into it, read its `content`, which is
decoded at the first look. Decoding never fails: bytes that are not JSON-RPC are `Opaque`, and are
forwarded, recorded and replayed like any other. This module knows nothing of revisions (`methods`),
of which response belongs to which request (`correlation`) or of framing (`transports/`).
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from .raw_json import PADDING, UNREADABLE, begins_with, elements, members, value_at
from .transport_facts import (
    ExchangeEnd,
    Fact,
    Fragment,
    HttpBody,
    HttpRequest,
    HttpResponse,
    ProcessExit,
    RestartStep,
    SseMeta,
    Stderr,
    StopSignal,
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
    "RestartStep",
    "SseMeta",
    "Stderr",
    "StopSignal",
    "StreamEnd",
    "answers_id",
    "decode",
    "encode",
    "member",
    "number_meant",
    "object_in",
    "parse",
    "parse_items",
    "same_id",
    "version_of",
]  # fmt: skip


class Direction(Enum):
    """Which way a frame travels: `C2S` from the client to the server, `S2C` back. The values are
    those of the cassette's `d`.

    >>> mcpmock.C2S.value, mcpmock.S2C.back is mcpmock.C2S
    ('c2s', True)
    """

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

    @property
    def tool(self) -> str | None:
        """The tool that a `tools/call` names."""
        name = member(self.params, "name") if self.method == "tools/call" else None
        tool = None if name is None else decode(name)
        return tool if isinstance(tool, str) else None


class Notification(msgspec.Struct, frozen=True, gc=False):
    """A message with a method and without an id: it gets no response."""

    method: str
    params: bytes | None = None


class Response(msgspec.Struct, frozen=True, gc=False):
    """A result or an error."""

    # Servers answer a request that they cannot read without `id` (server-everything) or with null
    # (the Python SDK). Since 2025-11-25 the schema makes `id` optional in errors; no schema has
    # null. Both are None here.

    id: bytes | None
    result: bytes | None = None
    error: bytes | None = None

    @property
    def failed(self) -> bool:
        """Whether it is an error, or the result of a tool with `isError`."""
        if self.error is not None or self.result is None:
            return self.error is not None
        return b"isError" in self.result and member(self.result, "isError") == b"true"


class Opaque(msgspec.Struct, frozen=True, gc=False):
    """Bytes that are not JSON-RPC: banners, torn lines, bad UTF-8, JSON of another kind."""


class Batch(msgspec.Struct, frozen=True, gc=False):
    """A JSON-RPC batch (2025-03-26; the TypeScript SDK takes them at any revision). `parse_items`
    gives its members.
    """


# Where every message passes, `isinstance` gets a tuple: `A | B` is made anew each time, which was
# 7 % of a diff and of a replay.
Message = Request | Notification | Response | Batch | Opaque
Content = Message | Fact


class Frame(msgspec.Struct, gc=False):
    """One thing that crossed the wire.

    `raw` holds the bytes without their framing. `eol` is the framing: the bytes that ended the
    line, `b""` if none did; on HTTP only a CR LF has a meaning: the lines of a server-sent event
    end with it. `fact` is set where the frame is an event of the transport and no message.
    `exchange` is the number of the HTTP exchange, None on stdio. `wire` holds the bytes with their
    framing where that is more than `raw` and `eol`: a whole server-sent event. `decoded` names the
    content codings that `raw` was decoded from; `wire` has its bytes then, those of several frames
    the last of them. To change a message, make a new frame without `wire`.

    >>> frame = mcpmock.Frame(mcpmock.C2S, b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    >>> frame.content.method, frame.size
    ('ping', 41)
    """

    direction: Direction
    raw: bytes = b""
    eol: bytes = b"\n"
    fact: Fact | None = None
    exchange: int | None = None
    wire: bytes | None = None
    decoded: str | None = None
    _message: Message | None = None

    @property
    def content(self) -> Content:
        """The fact or the message in the frame."""
        if self.fact is not None:
            return self.fact
        if self._message is None:
            self._message = parse(self.raw)
        return self._message

    @property
    def carried(self) -> bytes:
        """The bytes that it has in a body that is not an event stream."""
        return self.raw if self.wire is None else self.wire

    @property
    def size(self) -> int:
        """The number of bytes on the wire."""
        return len(self.raw) + len(self.eol) if self.wire is None else len(self.wire)


class Envelope(msgspec.Struct, gc=False):
    """The top level of a JSON-RPC message. UNSET distinguishes an absent id from `id: null`."""

    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_envelope = msgspec.json.Decoder(Envelope)
OPAQUE, BATCH = Opaque(), Batch()
_MAX_PLAIN_DIGITS = 5000


def parse(raw: bytes) -> Message:
    """Return the message in these bytes. Never raises: what is not JSON-RPC is Opaque."""
    try:
        found = _envelope.decode(raw)
    except UNREADABLE:
        return _parse_by_scan(raw)
    return classify(found)


def read_envelopes(lines: bytes) -> list[Envelope] | None:
    """Return the top levels of the messages in these lines, in a third of the time of `parse`; None
    if one of them has to be looked at alone.
    """
    try:
        return _envelope.decode_lines(lines)
    except UNREADABLE:
        return None


def classify(envelope: Envelope) -> Message:
    """Return the message with this top level."""
    unset, id_ = msgspec.UNSET, envelope.id
    if envelope.method is not unset:
        params = None if envelope.params is unset else bytes(envelope.params)
        if id_ is unset:
            return Notification(envelope.method, params)
        return Request(bytes(id_), envelope.method, params)
    result, error = envelope.result, envelope.error
    if result is unset and error is unset:
        return OPAQUE
    if error is not unset and result is not unset and bytes(error) == b"null":
        error = unset  # the Python SDK reads such a response as its result
    return Response(
        None if id_ is unset or bytes(id_) == b"null" else bytes(id_),
        None if result is unset else bytes(result),
        None if error is unset else bytes(error),
    )


def parse_items(raw: bytes) -> list[Message]:
    """Return the messages in a batch; for anything else, the one message."""
    if raw[:1] == b"{":
        return [parse(raw)]
    spans = elements(raw)
    if spans is None:
        return [OPAQUE] if begins_with(raw, b"[") else [parse(raw)]
    inside = [raw[span.start : span.end] for span in spans]
    return [OPAQUE if item[:1] == b"[" else parse(item) for item in inside]


def _parse_by_scan(raw: bytes) -> Message:
    # Node and Python send what msgspec refuses: lone surrogates, NaN, thousands of nested brackets;
    # others a byte order mark.
    if begins_with(raw, b"["):
        return BATCH if any(item is not OPAQUE for item in parse_items(raw)) else OPAQUE
    spans = members(raw) or {}
    names = Envelope.__struct_fields__
    values: dict[str, Any] = {name: raw[slice(*spans[name])] for name in names if name in spans}
    if "method" in values:
        values["method"] = decode(values["method"])
        if not isinstance(values["method"], str):
            return OPAQUE
    return classify(Envelope(**values))


def decode(raw: bytes) -> Any:
    """Return the value of a JSON text, None if it is not JSON. For looking, never for
    forwarding.
    """
    try:
        return msgspec.json.decode(raw)
    except UNREADABLE:
        # msgspec refuses what real peers send: lone surrogates, NaN, integers of 5,000 digits, a
        # byte order mark. Bytes that are not UTF-8 are U+FFFD to Node and browsers.
        import json

        for errors in ("surrogatepass", "replace"):
            try:
                return json.loads(raw.decode("utf-8", errors).strip(PADDING))
            except UNREADABLE:
                continue
        return None


def json_error(raw: bytes) -> str | None:
    """Return the text from where a message stops being JSON, or the first of its numbers that JSON
    has not; None if it is JSON, or too deep or with too long numbers for Python to tell.
    """
    try:
        _envelope.decode(raw)
    except UNREADABLE:
        import json

        text = raw.decode("utf-8", "replace").strip(PADDING)
        found: list[str] = []
        try:
            json.loads(text, parse_constant=found.append)
        except json.JSONDecodeError as error:
            return text[error.pos :]
        except UNREADABLE:
            pass
        return found[0] if found else None
    return None


def object_in(raw: bytes) -> dict[str, Any]:
    """Return the object in a JSON text, else an empty one. A member that cannot be decoded is None:
    the others are still there.
    """
    value = decode(raw)
    if value is None and (found := members(raw)):
        return {name: decode(raw[span.start : span.end]) for name, span in found.items()}
    return value if isinstance(value, dict) else {}


def encode(value: Any) -> bytes:
    """Compact JSON. Lone surrogates, which msgspec does not write, become escapes."""
    try:
        return msgspec.json.encode(value)
    except (ValueError, RecursionError):
        import json

        return json.dumps(value, separators=(",", ":"), default=_as_json).encode()


def canonical(value: Any) -> bytes:
    """Return bytes that are equal for equal decoded values, in any order of members. Do not store
    it: the form may change.
    """
    try:
        return msgspec.json.encode(value, order="sorted")
    except (ValueError, RecursionError):
        return b"\0" + repr(value).encode("utf-8", "surrogatepass")


def _as_json(value: Any) -> Any:
    """Return what only msgspec writes, as an event, as values of JSON."""
    return decode(msgspec.json.encode(value))


def member(raw: bytes | None, *path: str) -> bytes | None:
    """Return the raw value at a path of names, None if there is none."""
    return None if raw is None else value_at(raw, path)


def version_of(raw: bytes) -> Any:
    """Return what a message says in `jsonrpc`, decoded: "2.0" in all that clients and servers take;
    None if it says nothing, or null.
    """
    usual = raw.startswith(b'{"jsonrpc":"2.0",') and b"\\u" not in raw
    if usual and raw.find(b'"jsonrpc"', 2) < 0:  # no other member can replace it
        return "2.0"
    return decode(member(raw, "jsonrpc") or b"null")


def same_id(one: bytes, other: bytes) -> bool:
    """Return whether two ids have the same value: the TypeScript SDK answers `100` to `1e2`."""
    return one == other or plain_id(one) == plain_id(other)


def answers_id(asked: bytes, answered: bytes) -> bool:
    """Return whether clients take an answer with this id for that to the request."""
    return same_id(asked, answered) or number_meant(answered) == plain_id(asked)


def number_meant(id_: bytes) -> bytes | None:
    """Return the number that clients take the id of an answer for, if that is a text of digits."""
    # The TypeScript SDK reads `Number(id)`, the Python SDK `int(id)`.
    return id_[1:-1] if id_[:1] == b'"' and id_[1:-1].isdigit() else None


def plain_id(id_: bytes) -> bytes:
    """Return the plainest spelling of an id, the same for all ids with its value: `100` for `1e2`.
    Numbers never become floats; `1e5001` stays as it is.
    """
    if id_.isdigit():
        return id_
    if id_[:1] == b'"':
        value = decode(id_) if b"\\" in id_ else None
        return encode(value) if isinstance(value, str) else id_

    from decimal import Decimal, InvalidOperation

    try:
        sign, digits, exponent = Decimal(id_.decode()).as_tuple()
    except (InvalidOperation, UnicodeDecodeError):
        return id_
    if not isinstance(exponent, int):  # NaN, Infinity
        return id_
    number = "".join(map(str, digits)).lstrip("0")
    short = number.rstrip("0")
    exponent += len(number) - len(short)
    if not short:
        return b"0"
    if 0 <= exponent <= _MAX_PLAIN_DIGITS - len(short):
        short, exponent = short + "0" * exponent, 0
    return f"{'-' * sign}{short}{f'e{exponent}' if exponent else ''}".encode()
