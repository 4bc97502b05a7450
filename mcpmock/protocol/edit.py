"""Messages that are changed in one place, with every other byte left as it was; and messages that
mcpmock makes itself: the one place where JSON-RPC is written.

Pure bytes, no state. `raw_json` below finds the places.
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
    """With this JSON as the value at a path, the last name of which may be new. As it is where the
    path leads nowhere.
    """
    span = locate(raw, path)
    if span is not None:
        return splice(raw, [(span, value)])
    return _with_new(raw, path[:-1], path[-1], value)


def without_member(raw: bytes, path: Sequence[str]) -> bytes:
    """Without the member at a path."""
    outer = locate(raw, path[:-1]) if path[:-1] else Span(0, len(raw))
    inside = None if outer is None else members(raw[outer.start : outer.end])
    if outer is None or inside is None or path[-1] not in inside:
        return raw
    text = raw[outer.start : outer.end]
    kept = [(n, text[s.start : s.end]) for n, s in inside.items() if n != path[-1]]
    new = b",".join(b"%b:%b" % (encode(name), value) for name, value in kept)
    return splice(raw, [(outer, b"{%b}" % new)])


def with_id(raw: bytes, id_: bytes) -> bytes:
    """The same message with this id in the place of its own, or added where it has none."""
    return with_member(raw, ["id"], id_)


def response(id_: bytes, result: Any) -> bytes:
    """The answer to the request of this id."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id_, encode(result))


def error(id_: bytes, code: int, message: str, data: Any = None) -> bytes:
    """The error for the request of this id."""
    value: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        value["data"] = data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (id_, encode(value))


def result(value: dict[str, Any], revision: str | None) -> dict[str, Any]:
    """A result as its revision has it. 2026-07-28, basic/index: "The result MUST include a
    resultType field".
    """
    return {"resultType": "complete", **value} if is_modern(revision) else value


def request(id_: bytes, method: str, params: Any = None) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,%b}' % (id_, _call(method, params))


def notification(method: str, params: Any = None) -> bytes:
    return b'{"jsonrpc":"2.0",%b}' % _call(method, params)


def progress(token: bytes, amount: float) -> bytes:
    """Progress of the call that gave this token."""
    params = b'{"progressToken":%b,"progress":%b}' % (token, encode(amount))
    return b'{"jsonrpc":"2.0","method":"notifications/progress","params":%b}' % params


def cancelled(id_: bytes) -> bytes:
    """The cancel of the request of this id."""
    params = b'{"requestId":%b}' % id_
    return b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":%b}' % params


def enlarged(raw: bytes, value: bytes) -> bytes:
    """With one more member in the result or in the params, which both may have any; else at the
    top.
    """
    for path in (["result"], ["params"]):
        span = locate(raw, path)
        if span is not None and raw[span.start : span.start + 1] == b"{":
            return _with_new(raw, path, PADDING_MEMBER, value)
    return _with_new(raw, [], PADDING_MEMBER, value)


def _call(method: str, params: Any) -> bytes:
    tail = b"" if params is None else b',"params":%b' % encode(params)
    return b'"method":%b%b' % (encode(method), tail)


def _with_new(raw: bytes, path: Sequence[str], name: str, value: bytes) -> bytes:
    """With one more member in the object at a path."""
    span = locate(raw, path) if path else Span(0, len(raw.rstrip()))
    if span is None or raw[span.end - 1 : span.end] != b"}":
        return raw
    text = raw[span.start : span.end - 1]
    comma = b"" if text.rstrip().endswith(b"{") else b","
    added = b"%b%b%b:%b}" % (text, comma, encode(name), value)
    return raw[: span.start] + added + raw[span.end :]
