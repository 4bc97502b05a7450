"""The document of a message: what a diff compares of it, without the values that differ in every
recording.

A document has no message ids, progress tokens, trace context, ids in cancels and subscriptions, or
times of tasks, and no server name in the `_meta` of results but that of `server/discover`. Values
that a server issues and a client sends back (cursors, task ids, `requestState`) become placeholders
like those of redacted secrets: their numbers may differ between two recordings, but each must
correspond to one of the other. `Namings` records which corresponds to which.
"""

from __future__ import annotations

import hashlib
import re
import sys
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import attrs
import msgspec

from mcpmock.playback.request_key import is_own_meta, significant
from mcpmock.protocol.contents import SECRET_MARK
from mcpmock.protocol.correlation import CANCELLED, PROGRESS, SUBSCRIPTION_PATH
from mcpmock.protocol.messages import Notification, Opaque, Request, Response, canonical
from mcpmock.protocol.methods import NAMES
from mcpmock.redaction.placeholders import (
    HOLE,
    NUMBER_SUFFIX,
    PLACEHOLDER,
    decode_placeholders,
    holds_placeholder,
)

Document = dict[str, Any]
"""`{"params": ...}`, `{"result": ...}` or `{"error": ...}`; `{"text": ...}` for output that is not
a message.
"""
_ISSUED = {
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
"""Parameters that only identify a call or the client."""
_HOLE = re.compile(HOLE.pattern.decode())
_NUMBER_HOLE = re.compile(rf"{SECRET_MARK}[a-z-]+{NUMBER_SUFFIX}:\d+")
_NUMBERS = re.compile(rb"(" + PLACEHOLDER + rb"[a-z-]+):\d+")
_MAX_CACHED_CONTENTS = 1 << 10
_KEY_BYTES = 15
"""With those of a Python object these are 48; one more takes 64."""
_MAX_CACHED_BYTES = 1 << 14
"""Longer payloads seldom repeat."""
_Read = Callable[[str, bytes | None], Document]


class ComparedKeys(msgspec.Struct, frozen=True, gc=False):
    """What two messages are paired by, equal for equal methods and documents."""

    key: bytes
    bare_key: bytes
    name: str
    """Of the tool, prompt or resource."""

    @classmethod
    def of(cls, document: Document, method: str) -> ComparedKeys:
        key = _digest(method, document)
        bare = without_own_meta(document)
        params = document.get("params")
        name = params.get(NAMES.get(method, "")) if isinstance(params, dict) else None
        named = sys.intern(name) if type(name) is str else ""
        return cls(key, key if bare is document else _digest(method, bare), named)

    @classmethod
    def of_request(cls, request: Request) -> ComparedKeys:
        return cls.of(_params_document(request.method, request.params), request.method)


def _digest(method: str, document: Document) -> bytes:
    """Return a digest of a key. One with placeholders stays: they are looked for in it."""
    name, key = method.encode("utf-8", "surrogatepass"), canonical(document)
    if holds_placeholder(key):
        return name + _without_numbers(key)
    return hashlib.blake2b(name + key, digest_size=_KEY_BYTES).digest()


def content_of(message: Request | Notification | Response | Opaque, method: str) -> Document:
    """Return what is compared of a message; `method` is its own or that of the request it
    answers.
    """
    match message:
        case Request(params=params) | Notification(params=params):
            return _content(_params_document, method, params)
        case Response(error=bytes() as error):
            return _content(_error_document, method, error)
        case Response():
            return _content(_result_document, method, message.result)
        case _:
            return {}


def forget_contents() -> None:
    """Drop what is kept of messages that were read."""
    _cached_content.cache_clear()


def key_of(document: Any) -> bytes:
    """Return a key that is equal for documents that differ only in the numbers of placeholders.
    Do not store it.
    """
    key = canonical(document)
    return _without_numbers(key) if holds_placeholder(key) else key


def _without_numbers(key: bytes) -> bytes:
    decoded = decode_placeholders(key.decode("utf-8", "surrogatepass"))
    return _NUMBERS.sub(rb"\1", decoded.encode("utf-8", "surrogatepass"))


@attrs.define
class Namings:
    """Which placeholder of one recording corresponds to which of the other: one to one."""

    _new_by_old: dict[str, str] = attrs.field(factory=dict)
    _old_by_new: dict[str, str] = attrs.field(factory=dict)

    def same(self, old: str, new: str) -> bool:
        """Return whether two texts are equal under the correspondences known so far; if so, those
        in them become known.
        """
        old, new = decode_placeholders(old), decode_placeholders(new)
        if len(_NUMBER_HOLE.findall(old)) != len(_NUMBER_HOLE.findall(new)):
            # `drive` sends 0 in the place of a number, and a server repeats it in a text.
            old, new = _NUMBER_HOLE.sub("0", old), _NUMBER_HOLE.sub("0", new)
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


def _content(read: _Read, method: str, raw: bytes | None) -> Document:
    """Return what is compared, which is not to be changed; short payloads are kept for a time."""
    if raw is not None and len(raw) > _MAX_CACHED_BYTES:
        return read(method, raw)
    return _cached_content(read, method, raw)


@lru_cache(maxsize=_MAX_CACHED_CONTENTS)
def _cached_content(read: _Read, method: str, raw: bytes | None) -> Document:
    return read(method, raw)


def _params_document(method: str, params: bytes | None) -> Document:
    value = _readable(significant(params))
    if isinstance(value, dict):
        value = _with_placeholders(value)
        for name in _VOLATILE.get(method, ()):
            value.pop(name, None)
    return {"params": value}


def _result_document(method: str, result: bytes | None) -> Document:
    # Absent parameters may be null, a result is an object.
    value = None if result == b"null" else _readable(significant(result))
    if isinstance(value, dict):
        value = _with_placeholders(value)
        if method != "server/discover" and isinstance(value.get("_meta"), dict):
            _remove_meta(value, _SERVER)
    return {"result": value}


def _error_document(_method: str, error: bytes | None) -> Document:
    value = _readable(significant(error))
    data = value.get("data") if isinstance(value, dict) else None
    if isinstance(data, dict) and isinstance(data.get("elicitations"), list):
        asked = [
            _with_placeholders(one) if isinstance(one, dict) else one
            for one in data["elicitations"]
        ]
        value = {**value, "data": {**data, "elicitations": asked}}
    return {"error": value}


def _with_placeholders(value: dict[str, Any]) -> dict[str, Any]:
    """Return the value with its issued values (`_ISSUED`) replaced by placeholders."""
    found = {name: _placeholder_for(name, inner) for name, inner in value.items()}
    if "taskId" in found:
        found = {name: inner for name, inner in found.items() if name not in _TIMES}
    if isinstance(found.get("task"), dict):
        found["task"] = _with_placeholders(found["task"])
    if isinstance(found.get("tasks"), list):
        found["tasks"] = [
            _with_placeholders(one) if isinstance(one, dict) else one for one in found["tasks"]
        ]
    meta = found.get("_meta")
    if isinstance(meta, dict):
        found["_meta"] = dict(meta)
        if isinstance(meta.get(_TASK), dict):
            found["_meta"][_TASK] = _with_placeholders(meta[_TASK])
        _remove_meta(found, _SUBSCRIPTION)
    return found


def _remove_meta(value: dict[str, Any], name: str) -> None:
    """Remove a member of `_meta`, and `_meta` itself if it is empty then."""
    value["_meta"].pop(name, None)
    if not value["_meta"]:
        del value["_meta"]


def _placeholder_for(name: str, value: Any) -> Any:
    """Use a checksum of the value as its number: equal values have equal placeholders."""
    kind = _ISSUED.get(name)
    if kind is None or not isinstance(value, str) or _HOLE.fullmatch(value):
        return value
    number = zlib.crc32(value.encode("utf-8", "surrogatepass"))
    return f"{SECRET_MARK}minted-{kind}:{number}"


def _readable(value: Any) -> Any:
    """Return as text the bytes that no decoder accepts."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def with_meta(document: Document) -> Document:
    """Return the document of a message with an empty `_meta` in the place of none."""
    params = document.get("params")
    if not isinstance(params, dict) or "_meta" in params:
        return document
    return {**document, "params": {**params, "_meta": {}}}


def without_own_meta(document: Document) -> Document:
    """Return the document of a request without what is the client's own in its `_meta`."""
    params = document.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(params, dict) or not isinstance(meta, dict):
        return document
    rest = {name: value for name, value in meta.items() if not is_own_meta(name)}
    kept = {name: value for name, value in params.items() if name != "_meta"}
    return {**document, "params": {**kept, "_meta": rest} if rest else kept}
