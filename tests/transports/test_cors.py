"""What browsers read in answers for pages of other origins."""

from __future__ import annotations

import pytest

from mcpmock.protocol.messages import HttpRequest
from mcpmock.protocol.transport_facts import Headers, HttpResponse
from mcpmock.transports.cors import cors_fields, is_preflight, preflight_reply, with_cors

ORIGIN = ("Origin", "http://localhost:6274")
METHOD = ("Access-Control-Request-Method", "POST")


def preflight(*names: str) -> Headers:
    """The fields of the answer to a preflight for a request with these fields."""
    asked = [("Access-Control-Request-Headers", name) for name in names]
    head = preflight_reply(HttpRequest("OPTIONS", "/mcp", [ORIGIN, METHOD, *asked]))[0].fact
    assert isinstance(head, HttpResponse)
    assert head.status == 204
    return head.headers


@pytest.mark.parametrize(
    ("method", "fields", "expected"),
    [
        ("OPTIONS", [ORIGIN, METHOD], True),
        ("OPTIONS", [ORIGIN], False),
        ("OPTIONS", [ORIGIN, METHOD, ("Content-Length", "2")], False),
        ("POST", [ORIGIN, METHOD], False),
    ],
)
def test_preflights(method: str, fields: Headers, expected: bool) -> None:
    """Other requests with OPTIONS are for the server."""
    assert expected is is_preflight(HttpRequest(method, "/mcp", fields))


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ("authorization,content-type", "authorization,content-type"),
        ("mcp-param-x, Mcp-Session-Id", "mcp-param-x, Mcp-Session-Id"),
        ("", None),
        ("a,,b", None),
        ("a b", None),
        ("\xe9", None),
    ],
)
def test_allowed_fields(asked: str, allowed: str | None) -> None:
    """Those that are asked for, if they are names of fields."""
    assert allowed == dict(preflight(asked)).get("Access-Control-Allow-Headers")


def test_allowed_methods() -> None:
    """Those of MCP."""
    assert dict(preflight())["Access-Control-Allow-Methods"] == "GET, POST, DELETE, OPTIONS"


def test_a_recorded_origin() -> None:
    """The live one takes its place, as browsers refuse two; without one, all is as recorded."""
    recorded = [("access-control-allow-origin", "*"), ("Vary", "Accept"), ("X", "1")]
    live = cors_fields("http://localhost:6274")

    assert [*recorded[1:], *live] == with_cors(recorded, live)
    assert recorded == with_cors(recorded, ())
    assert [
        ("Access-Control-Allow-Origin", "http://localhost:6274"),
        ("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate"),
        ("Vary", "Origin"),
    ] == live
