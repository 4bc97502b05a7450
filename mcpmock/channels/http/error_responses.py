"""What we answer ourselves to an HTTP request that goes no further, and those answers as frames.

Each says in one line what is wrong. Whether a request may come in, and what MCP has to say about
it, is decided elsewhere; `connection` and `server` stand above.
"""

from __future__ import annotations

from mcpmock.protocol.http_reply import whole_reply
from mcpmock.protocol.messages import S2C, Frame, HttpBody
from mcpmock.transports.access_policy import HttpRefusal
from mcpmock.transports.headers import MAX_FIELDS

from .http1 import MAX_HEAD_BYTES


def refusal(status: int, reason: str, why: str) -> HttpRefusal:
    return HttpRefusal(status, reason, f"mcpmock: {why}\n", [("Content-Type", "text/plain")])


NOT_HTTP = refusal(400, "Bad Request", "this is not HTTP, or it is https:// where http:// is meant")
LONG_HEAD = refusal(
    431,
    "Request Header Fields Too Large",
    f"a head has at most {MAX_HEAD_BYTES} bytes and {MAX_FIELDS} fields",
)
LATE = refusal(408, "Request Timeout", "the rest of the request did not come")
GIVEN_UP = refusal(503, "Service Unavailable", "the conversation ended without an answer")


def frames_of(refusal: HttpRefusal) -> list[Frame]:
    text = Frame(S2C, refusal.text.encode(), fact=HttpBody())
    return whole_reply(None, refusal.status, refusal.headers, text, refusal.reason)
