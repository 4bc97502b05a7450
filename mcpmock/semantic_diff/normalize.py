"""What of a message counts when two recordings are compared: its document, with all that is
different every time left out or renamed.

Ids stand in no document. Progress tokens, trace context, the ids in cancels and subscriptions, the
times of tasks are left out; so is the server's name in the `_meta` of every result, which
`server/discover` tells once. What a server mints and a client sends back (cursors, task ids,
`requestState`) becomes a placeholder such as `redact` leaves for a secret: which is which may
differ between two recordings, but not who is who. `Namings` knows who is who.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import attrs
import msgspec

from mcpmock.playback.request_key import canonical, significant
from mcpmock.protocol.correlation import CANCELLED, PROGRESS, SUBSCRIPTION_PATH
from mcpmock.protocol.messages import Notification, Opaque, Request, Response
from mcpmock.redaction.redactor import HOLE, PLACEHOLDER

Document = dict[str, Any]
"""`{"params": ...}`, `{"result": ...}` or `{"error": ...}`; `{"text": ...}` of what is no
message.
"""
_MINTED = {
    "cursor": "cursor", "nextCursor": "cursor", "taskId": "task", "requestState": "state",
    "elicitationId": "elicitation",
}  # fmt: skip
_TIMES = {"createdAt", "lastUpdatedAt"}
_SERVER = "io.modelcontextprotocol/serverInfo"
_TASK = "io.modelcontextprotocol/related-task"
_SUBSCRIPTION = SUBSCRIPTION_PATH[1]
_VOLATILE = {
    PROGRESS: ("progressToken",),
    CANCELLED: ("requestId",),
    "initialize": ("clientInfo",),
}
"""Parameters that only say which call is meant, or who asks."""
_HOLE = re.compile(HOLE.pattern.decode())
_PLACEHOLDER = PLACEHOLDER.decode()
_NUMBERS = re.compile(rb"(" + PLACEHOLDER + rb"[a-z-]+):\d+")
_REMEMBERED = 4096
_LONGEST = 1 << 14
"""Bytes of what is remembered: long payloads seldom come twice."""
_Read = Callable[[str, bytes | None], Document]


def document_of(message: Request | Notification | Response | Opaque, method: str) -> Document:
    """What counts of a message; `method` is its own or the one it answers."""
    match message:
        case Request(params=params) | Notification(params=params):
            return _document(_asked, method, params)
        case Response(error=bytes() as error):
            return _document(_failed, method, error)
        case Response():
            return _document(_answered, method, message.result)
        case _:
            return {}


def key_of(document: Any) -> bytes:
    """Equal for documents that are the same but for who is who. Not for storing."""
    key = canonical(document)
    return _NUMBERS.sub(rb"\1", key) if PLACEHOLDER in key else key


@attrs.define
class Namings:
    """Which placeholder in one recording stands for which in the other: one to one."""

    _new_by_old: dict[str, str] = attrs.field(factory=dict)
    _old_by_new: dict[str, str] = attrs.field(factory=dict)

    def same(self, old: str, new: str) -> bool:
        """Whether two texts are the same under the names known so far; if so, those in them are
        known too.
        """
        if _PLACEHOLDER not in old or _PLACEHOLDER not in new:
            return old == new
        if _HOLE.split(old) != _HOLE.split(new):
            return False
        pairs = set(zip(_HOLE.findall(old), _HOLE.findall(new), strict=True))
        forth, back = dict(pairs), {other: one for one, other in pairs}
        if not len(forth) == len(back) == len(pairs):
            return False
        for one, other in pairs:
            alike = one.rpartition(":")[0] == other.rpartition(":")[0]
            known = self._new_by_old.get(one, other), self._old_by_new.get(other, one)
            if not alike or known != (other, one):
                return False
        self._new_by_old |= forth
        self._old_by_new |= back
        return True


def _document(read: _Read, method: str, raw: bytes | None) -> Document:
    """Short ones are remembered: they come again and again."""
    return (read if raw is not None and len(raw) > _LONGEST else _short(read))(method, raw)


@cache
def _short(read: _Read) -> _Read:
    return lru_cache(maxsize=_REMEMBERED)(read)


def _asked(method: str, params: bytes | None) -> Document:
    value = _readable(significant(params))
    if isinstance(value, dict):
        value = _masked(value)
        for name in _VOLATILE.get(method, ()):
            value.pop(name, None)
    return {"params": value}


def _answered(method: str, result: bytes | None) -> Document:
    value = _readable(significant(result))
    if isinstance(value, dict):
        value = _masked(value)
        if method != "server/discover" and isinstance(value.get("_meta"), dict):
            _without(value, _SERVER)
    return {"result": value}


def _failed(_method: str, error: bytes | None) -> Document:
    value = _readable(significant(error))
    data = value.get("data") if isinstance(value, dict) else None
    if isinstance(data, dict) and isinstance(data.get("elicitations"), list):
        asked = [_masked(one) if isinstance(one, dict) else one for one in data["elicitations"]]
        value = {**value, "data": {**data, "elicitations": asked}}
    return {"error": value}


def _masked(value: dict[str, Any]) -> dict[str, Any]:
    """With what is minted renamed, in the places where the protocol has such things."""
    found = {name: _renamed(name, inner) for name, inner in value.items()}
    if "taskId" in found:
        found = {name: inner for name, inner in found.items() if name not in _TIMES}
    if isinstance(found.get("task"), dict):
        found["task"] = _masked(found["task"])
    if isinstance(found.get("tasks"), list):
        found["tasks"] = [_masked(one) if isinstance(one, dict) else one for one in found["tasks"]]
    meta = found.get("_meta")
    if isinstance(meta, dict):
        found["_meta"] = dict(meta)
        if isinstance(meta.get(_TASK), dict):
            found["_meta"][_TASK] = _masked(meta[_TASK])
        _without(found, _SUBSCRIPTION)
    return found


def _without(value: dict[str, Any], name: str) -> None:
    """Takes this out of its `_meta`, and that too if nothing is left."""
    value["_meta"].pop(name, None)
    if not value["_meta"]:
        del value["_meta"]


def _renamed(name: str, value: Any) -> Any:
    """A minted value as a placeholder; its number is made of the value, so that the same value has
    the same one wherever it stands.
    """
    kind = _MINTED.get(name)
    if kind is None or not isinstance(value, str) or _HOLE.fullmatch(value):
        return value
    number = zlib.crc32(value.encode("utf-8", "surrogatepass"))
    return f"{_PLACEHOLDER}minted-{kind}:{number}"


def _readable(value: Any) -> Any:
    """What no decoder takes, as text."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def text_of(value: Any) -> str:
    """A value as JSON text, for people."""
    try:
        return msgspec.json.encode(value).decode()
    except (ValueError, RecursionError):
        import json

        return json.dumps(value, separators=(",", ":"))
