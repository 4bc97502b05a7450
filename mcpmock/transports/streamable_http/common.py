"""Streamable HTTP: the words that its two sides share. What a header says about the message it
goes with, and whether that is true; what a server refuses by looking at one exchange alone.

The rules themselves are in `server` and `client`; nothing here has
a state.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Sequence

import attrs

from mcpmock.protocol.error_codes import PARSE_ERROR, SERVER_ERROR, SESSION_NOT_FOUND
from mcpmock.protocol.messages import Message, Notification, Opaque, Request, decode, member
from mcpmock.protocol.revisions import version_of
from mcpmock.protocol.transport_facts import (
    METHOD_HEADER,
    NAME_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_HEADER,
    Headers,
    HttpRequest,
)

JSON = "application/json"
BATCH_REVISION = "2025-03-26"
"""The only revision with JSON-RPC batches."""
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_NAMED_BY_EXTENSION = dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId")
_BASE64 = re.compile(r"=\?base64\?(.*)\?=", re.S)
_PLAIN = re.compile(r"[!-~](?:[ -~]*[!-~])?")


@attrs.frozen
class RequestRefusal:
    """A response that is an error: its status, and what its JSON-RPC body says."""

    status: int
    reason: str
    code: int
    text: str
    id: bytes = b"null"
    headers: tuple[tuple[str, str], ...] = ()


SESSION_ENDED = RequestRefusal(404, "Not Found", SESSION_NOT_FOUND, "Session not found")
SESSION_MISSING = RequestRefusal(
    400, "Bad Request", SERVER_ERROR, f"Bad Request: {SESSION_HEADER} header is required"
)


def bad_request(code: int, text: str, id_: bytes = b"null") -> RequestRefusal:
    return RequestRefusal(400, "Bad Request", code, f"Bad Request: {text}", id_)


def unacceptable(head: HttpRequest, *wanted: str) -> RequestRefusal | None:
    """Return why not, where the client does not take all of these media types."""
    fields = [value for name, value in head.headers if name.lower() == "accept"]
    ranges = {part.partition(";")[0].strip().lower() for part in ",".join(fields).split(",")}
    kinds = [{media_type, media_type.partition("/")[0] + "/*", "*/*"} for media_type in wanted]
    if not fields or all(kind & ranges for kind in kinds):
        return None
    text = f"Not Acceptable: Client must accept {' and '.join(wanted)}"
    return RequestRefusal(406, "Not Acceptable", SERVER_ERROR, text)


def unreadable(head: HttpRequest, items: Sequence[Message]) -> RequestRefusal | None:
    """Return why not, where the body is no JSON-RPC or does not say that it is JSON."""
    media_type = (head.header("content-type") or "").partition(";")[0].strip().lower()
    if media_type != JSON:
        text = f"Unsupported Media Type: Content-Type must be {JSON}"
        return RequestRefusal(415, "Unsupported Media Type", SERVER_ERROR, text)
    if any(isinstance(item, Opaque) for item in items) or not items:
        return RequestRefusal(
            400, "Bad Request", PARSE_ERROR, "Parse error: Invalid JSON-RPC message"
        )
    return None


def name_of(message: Request) -> str | None:
    """Return what `Mcp-Name` repeats: the tool, prompt, resource or task that the request names."""
    where = (_NAMED_BY | _NAMED_BY_EXTENSION).get(message.method)
    raw = None if where is None else member(message.params, where)
    name = None if raw is None else decode(raw)
    return name if isinstance(name, str) else None


def standard_headers(message: Message, version: str | None) -> Headers:
    """Return the header fields that a modern message goes with."""
    fields = [] if version is None else [(PROTOCOL_VERSION_HEADER, version)]
    if isinstance(message, (Request, Notification)):
        fields.append((METHOD_HEADER, to_field(message.method)))
    if isinstance(message, Request) and (name := name_of(message)) is not None:
        fields.append((NAME_HEADER, to_field(name)))
    return fields


def mismatch(head: HttpRequest, request: Request) -> str | None:
    """Return how the header fields contradict the request; None where they repeat it. A field that
    is missing is as bad as a wrong one: who stands between decides by the fields alone.
    """
    said = {
        PROTOCOL_VERSION_HEADER: version_of(request),
        METHOD_HEADER: request.method,
        NAME_HEADER: name_of(request),
    }
    for field, expected in said.items():
        value = head.header(field)
        optional = field == NAME_HEADER and request.method not in _NAMED_BY
        if expected is None or (value is None and optional):
            continue
        if value is None:
            return f"{field} header is required"
        if (value if field == PROTOCOL_VERSION_HEADER else from_field(value)) != expected:
            return f"{field} header {value!r} does not match the body's {expected!r}"
    return None


def to_field(text: str) -> str:
    """Return the text as a field's value: what is not plain ASCII, or looks encoded, in Base64."""
    if _PLAIN.fullmatch(text) and not text.startswith("=?base64?"):
        return text
    coded = b64encode(text.encode("utf-8", "surrogatepass")).decode()
    return f"=?base64?{coded}?="


def from_field(value: str) -> str | None:
    """Return the text of a field's value; None for Base64 that is none."""
    coded = _BASE64.fullmatch(value)
    if coded is None:
        return value
    try:
        return b64decode(coded[1], validate=True).decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError):
        return None
