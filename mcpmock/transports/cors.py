"""Cross-origin requests (CORS): what the browser must read in our answers, so that it shows them to
a page of another origin, and the preflight that it sends first.

Only for servers that we play. Between a client and a real server all of this is that server's.
Which origins may send requests, `access_policy` says; there is no path that any page may read, not
even metadata of OAuth: "Servers MUST validate the Origin header on all incoming connections" (MCP,
"Transports", security warning).
"""

from __future__ import annotations

from collections.abc import Sequence

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.http_reply import whole_reply
from mcpmock.protocol.messages import Frame, HttpRequest
from mcpmock.protocol.transport_facts import SESSION_HEADER, Headers

PREFLIGHT_LIFETIME_S = 600
_METHODS = "GET, POST, DELETE, OPTIONS"
_NAMES = lazy_pattern(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+(?: *, *[-!#$%&'*+.^_`|~0-9A-Za-z]+)*")
_ALLOW_ORIGIN = "Access-Control-Allow-Origin"
_REQUEST_METHOD = "Access-Control-Request-Method"
_REQUEST_HEADERS = "Access-Control-Request-Headers"


def cors_fields(origin: str) -> Headers:
    """Return the fields of an answer that a page of this origin may read."""
    return [
        (_ALLOW_ORIGIN, origin),
        ("Access-Control-Expose-Headers", f"{SESSION_HEADER}, WWW-Authenticate"),
        ("Vary", "Origin"),
    ]


def is_preflight(head: HttpRequest) -> bool:
    """Return whether a browser asks if a page may send a request (Fetch, "CORS-preflight
    request").
    """
    return (
        head.method == "OPTIONS" and not head.has_body and head.header(_REQUEST_METHOD) is not None
    )


def preflight_reply(head: HttpRequest) -> list[Frame]:
    """Return a yes, whatever the path: the request itself is refused where it must be."""
    fields = [
        ("Access-Control-Allow-Methods", _METHODS),
        ("Access-Control-Max-Age", str(PREFLIGHT_LIFETIME_S)),
        ("Vary", f"{_REQUEST_METHOD}, {_REQUEST_HEADERS}"),
    ]
    # No list of ours can name them all: since 2026-07-28 parameters of tools have fields of their
    # own (Mcp-Param-...), and `*` does not mean Authorization (Fetch, "CORS-preflight fetch").
    names = head.header(_REQUEST_HEADERS) or ""
    if _NAMES.fullmatch(names):
        fields.append(("Access-Control-Allow-Headers", names))
    return whole_reply(None, 204, fields)


def with_cors(headers: Headers, fields: Sequence[tuple[str, str]]) -> Headers:
    """Return the headers of an answer with these `cors_fields`, if any. A recorded origin goes: a
    browser refuses an answer that allows two.
    """
    if not fields:
        return headers
    return [*(field for field in headers if field[0].lower() != _ALLOW_ORIGIN.lower()), *fields]
