"""Changes one place of a message and leaves every other byte; and builds the messages that mcpmock
itself sends. No other module writes JSON-RPC.

Pure bytes, no state. `raw_json` finds the places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .messages import encode
from .raw_json import Span, locate, members, splice
from .revisions import is_modern

PADDING_MEMBER = "mcpmock"
"""The name of the member that `enlarged` adds."""


def with_member(raw: bytes, path: Sequence[str], value: bytes) -> bytes:
    """Return the message with this JSON as the value at a path, whose last name may be new;
    unchanged if there is no such object.
    """
    span = locate(raw, path)
    if span is not None:
        return splice(raw, [(span, value)])
    return _with_added(raw, path[:-1], path[-1], value)


def without_member(raw: bytes, path: Sequence[str]) -> bytes:
    """Return the message without the member at a path."""
    outer = locate(raw, path[:-1]) if path[:-1] else Span(0, len(raw))
    inside = None if outer is None else members(raw[outer.start : outer.end])
    if outer is None or inside is None or path[-1] not in inside:
        return raw
    text = raw[outer.start : outer.end]
    kept = [(n, text[s.start : s.end]) for n, s in inside.items() if n != path[-1]]
    new = b",".join(b"%b:%b" % (encode(name), value) for name, value in kept)
    return splice(raw, [(outer, b"{%b}" % new)])


def with_id(raw: bytes, id_: bytes) -> bytes:
    """Return the message with this id, which replaces its own or is added."""
    return with_member(raw, ["id"], id_)


def response(id_: bytes, result: Any) -> bytes:
    """Return a response with a result."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id_, encode(result))


def error(id_: bytes, code: int, message: str, data: Any = None) -> bytes:
    """Return a response with an error."""
    value: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        value["data"] = data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (id_, encode(value))


def result(value: dict[str, Any], revision: str | None) -> dict[str, Any]:
    """Return a result with the members that its revision requires."""
    # 2026-07-28, basic/index: "The result MUST include a resultType field".
    return {"resultType": "complete", **value} if is_modern(revision) else value


def request(id_: bytes, method: str, params: Any = None) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,%b}' % (id_, _method_and_params(method, params))


def notification(method: str, params: Any = None) -> bytes:
    return b'{"jsonrpc":"2.0",%b}' % _method_and_params(method, params)


def progress(token: bytes, amount: float) -> bytes:
    """Return a progress notification for the call with this token."""
    params = b'{"progressToken":%b,"progress":%b}' % (token, encode(amount))
    return b'{"jsonrpc":"2.0","method":"notifications/progress","params":%b}' % params


def cancelled(id_: bytes) -> bytes:
    """Return a notification that cancels a request."""
    params = b'{"requestId":%b}' % id_
    return b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":%b}' % params


def enlarged(raw: bytes, value: bytes) -> bytes:
    """Return the message with the member `PADDING_MEMBER` added."""
    # Results and params may have any members. The TypeScript SDK drops a message with an unknown
    # one at the top level without an error, so that is the last resort.
    for path in (["result"], ["params"]):
        span = locate(raw, path)
        if span is not None and raw[span.start : span.start + 1] == b"{":
            return _with_added(raw, path, PADDING_MEMBER, value)
    return _with_added(raw, [], PADDING_MEMBER, value)


def _method_and_params(method: str, params: Any) -> bytes:
    tail = b"" if params is None else b',"params":%b' % encode(params)
    return b'"method":%b%b' % (encode(method), tail)


def _with_added(raw: bytes, path: Sequence[str], name: str, value: bytes) -> bytes:
    span = locate(raw, path) if path else Span(0, len(raw.rstrip()))
    if span is None or raw[span.end - 1 : span.end] != b"}":
        return raw
    text = raw[span.start : span.end - 1]
    comma = b"" if text.rstrip().endswith(b"{") else b","
    added = b"%b%b%b:%b}" % (text, comma, encode(name), value)
    return raw[: span.start] + added + raw[span.end :]
