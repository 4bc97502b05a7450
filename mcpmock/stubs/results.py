"""Turns a hand-written answer into an MCP result of the revision: content blocks and structured
content for a tool, contents for a resource, messages for a prompt.

A value that looks like a complete result stays as it is. Used by `stage`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import attrs

from mcpmock.protocol import edit
from mcpmock.protocol.messages import encode
from mcpmock.protocol.methods import CACHEABLE, LATEST
from mcpmock.protocol.revisions import is_modern

from .script import Arguments, RouteKind, StubEntry

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
STRUCTURED = "2025-06-18"
"""The first revision with structured content."""
_COMPLETE_MEMBERS = {
    RouteKind.TOOL: "content",
    RouteKind.PROMPT: "messages",
    RouteKind.RESOURCE: "contents",
    RouteKind.TEMPLATE: "contents",
}
"""The member that identifies a complete result."""


@attrs.frozen
class Speaker:
    """The revision of a result and the server's `info`: None where the recording has it already."""

    revision: str
    info: Mapping[str, str] | None = None


def result_of(
    entry: StubEntry, listed: Mapping[str, Any], value: Any, uri: str, speaker: Speaker
) -> Any:
    """Return the result of a call. `listed` is the entry of the list method, `uri` the URI of a
    read.
    """
    if entry.kind is RouteKind.METHOD or _is_complete(entry.kind, value):
        result = value
    elif entry.kind is RouteKind.TOOL:
        result = _tool_result(value, speaker.revision)
    elif entry.kind is RouteKind.PROMPT:
        result = _prompt_result(value, listed)
    else:
        result = {"contents": [_contents(value, uri, listed.get("mimeType"))]}
    return with_revision_members(entry.method, result, speaker)


def with_revision_members(method: str, result: Any, speaker: Speaker) -> Any:
    """Add the members that 2026-07-28 and later require: the type of the result, the server's
    info, and for cacheable methods the cache lifetime.
    """
    if not isinstance(result, dict) or not is_modern(speaker.revision):
        return result
    fresh = {"ttlMs": 0, "cacheScope": "public"} if method in CACHEABLE else {}
    whose = {} if speaker.info is None else {"_meta": {SERVER_INFO: speaker.info}}
    # The written members come first, and keep their values.
    return {**edit.result(result, speaker.revision), **fresh, **whose, **result}


def failed(text: str) -> Arguments:
    """Return the complete result of a tool that failed."""
    return {"content": [_text_block(text)], "isError": True}


def _is_complete(kind: RouteKind, value: Any) -> bool:
    """Return whether a result is complete. Data may have a member of that name too, but hardly of
    that form. A 2026-07-28 result has a `resultType`.
    """
    if isinstance(value, dict) and "resultType" in value:
        return True
    inside = value.get(_COMPLETE_MEMBERS[kind]) if isinstance(value, dict) else None
    if not isinstance(inside, list):
        return False
    return all(map(_is_block, inside)) if kind is RouteKind.TOOL else True


def _tool_result(value: Any, revision: str) -> Arguments:
    if value is None:
        return {"content": []}
    if isinstance(value, list) and value and all(map(_is_block, value)):
        return {"content": value}
    result: Arguments = {"content": [_text_block(value)]}
    structured = isinstance(value, dict) and revision >= STRUCTURED
    if structured or (revision >= LATEST and not isinstance(value, str)):
        result["structuredContent"] = value
    return result


def _is_block(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("type"), str)


def _prompt_result(value: Any, listed: Mapping[str, Any]) -> Arguments:
    described = {"description": listed["description"]} if "description" in listed else {}
    messages = value if isinstance(value, list) else [value]
    return {**described, "messages": [_message(message) for message in messages]}


def _message(value: Any) -> Any:
    if isinstance(value, dict) and "role" in value:
        content = value.get("content")
        return {**value, "content": content if _is_block(content) else _text_block(content)}
    return {"role": "user", "content": value if _is_block(value) else _text_block(value)}


def _contents(value: Any, uri: str, mime_type: str | None) -> Arguments:
    if isinstance(value, bytes):
        described = {"mimeType": mime_type} if mime_type else {}
        return {"uri": uri, **described, "blob": b64encode(value).decode()}
    usual = "text/plain" if isinstance(value, str) else "application/json"
    return {"uri": uri, "mimeType": mime_type or usual, "text": _text_block(value)["text"]}


def _text_block(value: Any) -> Arguments:
    return {"type": "text", "text": value if isinstance(value, str) else encode(value).decode()}
