"""Streamable HTTP: the words that its two sides share. What a header says about the message it
goes with, and whether that is true; what a server refuses by looking at one exchange alone.

The rules themselves are in `server` and `client`; nothing here has
a state.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mcpmock.protocol.error_codes import PARSE_ERROR, SERVER_ERROR, SESSION_NOT_FOUND
from mcpmock.protocol.messages import Message, Opaque, Request
from mcpmock.protocol.mirrored_headers import decode_field, mirrored_headers
from mcpmock.protocol.transport_facts import (
    SESSION_HEADER,
    HttpRequest,
)

JSON = "application/json"
BATCH_REVISION = "2025-03-26"
"""The only revision with JSON-RPC batches."""


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


def mismatch(head: HttpRequest, request: Request) -> str | None:
    """Return how the header fields contradict the request; None where they repeat it. A field that
    is missing is as bad as a wrong one: who stands between decides by the fields alone.
    """
    for mirrored in mirrored_headers(request):
        value = head.header(mirrored.name)
        if not isinstance(mirrored.value, str) or (value is None and not mirrored.required):
            continue
        if value is None:
            return f"{mirrored.name} header is required"
        if decode_field(value) != mirrored.value:
            text = f"does not match the body's {mirrored.value!r}"
            return f"{mirrored.name} header {value!r} {text}"
    return None
