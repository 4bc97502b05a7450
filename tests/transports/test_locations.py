"""What names the server in a `Location`, and which redirects of our own requests are followed."""

from __future__ import annotations

import pytest

from mcpmock.pipeline.stage import PASS, Send
from mcpmock.protocol.messages import C2S, S2C, ExchangeEnd, Frame, HttpRequest, HttpResponse
from mcpmock.transports.headers import Upstream
from mcpmock.transports.locations import (
    OwnLocations,
    leads_here,
    redirect_target,
    upstream_origin,
)

LOCAL, REMOTE = "http://127.0.0.1:3000/mcp", "https://mcp.example/mcp"
OURS = "127.0.0.1:9000"


def mapped(url: str, value: str, name: str = "Location", host: str = OURS) -> tuple[str, list[str]]:
    """What a client that calls us `host` gets, and what the user is told."""
    said: list[str] = []
    stage = OwnLocations([upstream_origin(Upstream.parse(url))], said.append)
    asked = HttpRequest("POST", "/mcp", [("host", host)])
    assert list(stage.feed([Frame(C2S, fact=asked, exchange=7)], 0.0)) == list(PASS)
    head = HttpResponse(307, "Temporary Redirect", [("X", "http://127.0.0.1:3000/"), (name, value)])
    [action] = stage.feed([Frame(S2C, fact=head, exchange=7)], 0.0)
    assert isinstance(action, Send)
    [answer] = [frame.fact for frame in action.frames] or [head]
    assert isinstance(answer, HttpResponse)
    assert answer.headers[0] == head.headers[0]
    return answer.headers[1][1], said


@pytest.mark.parametrize(
    ("url", "value", "own"),
    [
        (LOCAL, "http://127.0.0.1:3000/mcp/", f"http://{OURS}/mcp/"),
        (LOCAL, "http://localhost:3000/mcp/?a=b#c", f"http://{OURS}/mcp/?a=b#c"),
        (LOCAL, "http://[::1]:3000/mcp/", f"http://{OURS}/mcp/"),
        (LOCAL, "http://0.0.0.0:3000/mcp/", f"http://{OURS}/mcp/"),
        (LOCAL, "HTTP://LocalHost:3000/mcp/", f"http://{OURS}/mcp/"),
        (LOCAL, "//127.0.0.1:3000/mcp/", f"//{OURS}/mcp/"),
        (LOCAL, "  http://127.0.0.1:3000 ", f"http://{OURS}"),
        (LOCAL, "http://127.0.0.1:3000?a", f"http://{OURS}?a"),
        ("http://127.0.0.1/mcp", "http://localhost:80/mcp/", f"http://{OURS}/mcp/"),
        (REMOTE, "https://mcp.example/mcp/", f"http://{OURS}/mcp/"),
        (REMOTE, "https://MCP.Example.:443/mcp/", f"http://{OURS}/mcp/"),
        (REMOTE, "//mcp.example/mcp/", f"//{OURS}/mcp/"),
    ],
)
@pytest.mark.parametrize("name", ["Location", "content-location"])
def test_what_names_the_server_names_us(url: str, value: str, own: str, name: str) -> None:
    """It becomes what the client calls us, in the form that it had; nothing is said."""
    assert (own, []) == mapped(url, value, name)


@pytest.mark.parametrize("value", ["/mcp/", "mcp/", "?a=http://127.0.0.1:3000/", "", "../x"])
def test_relative_references(value: str) -> None:
    """They lead to us as they are."""
    assert (value, []) == mapped(LOCAL, value)


def test_what_names_us_already() -> None:
    """A server that got a foreign Host makes its URLs of it."""
    value = "http://mocks.example:9000/mcp/"
    assert (value, []) == mapped(LOCAL, value, host="mocks.example:9000")
    assert ("http://mocks.example/", []) == mapped(LOCAL, LOCAL[:21] + "/", host="mocks.example")


@pytest.mark.parametrize(
    ("url", "value", "shown"),
    [
        (LOCAL, "http://127.0.0.1:3001/mcp", "http://127.0.0.1:3001"),
        (LOCAL, "https://127.0.0.1:3000/mcp", "https://127.0.0.1:3000"),
        (LOCAL, "http://other.example/mcp?code=secret", "http://other.example"),
        (LOCAL, "http://me:secret@127.0.0.1:3000/", "http://127.0.0.1:3000"),
        (LOCAL, "//other.example/", "//other.example"),
        (LOCAL, "app:callback?code=secret", "app://"),
        (LOCAL, "http://127.0.0.1:99999/", "http://127.0.0.1:99999"),
        (REMOTE, "http://mcp.example/mcp/", "http://mcp.example"),
        (REMOTE, "https://mcp.example.evil/mcp/", "https://mcp.example.evil"),
    ],
)
def test_other_places(url: str, value: str, shown: str) -> None:
    """They stay, and one line says so without what may be secret."""
    line = f"Location: {shown}: another server; clients that go there leave mcpmock"
    assert (value, [line]) == mapped(url, value)


def test_nothing_is_kept() -> None:
    """An exchange that is over, however it ended, leaves nothing."""
    stage = OwnLocations([], lambda _: None)
    for x, way in enumerate((C2S, S2C)):
        asked = HttpRequest("GET", "/mcp", [("Host", OURS)])
        stage.feed([Frame(C2S, fact=asked, exchange=x)], 0.0)
        stage.feed([Frame(way, fact=ExchangeEnd(), exchange=x)], 0.0)
    assert not stage._asked


def redirect(status: int, location: str | None) -> HttpResponse:
    return HttpResponse(status, "Moved", [] if location is None else [("Location", location)])


@pytest.mark.parametrize(
    ("status", "location", "target"),
    [
        (307, "http://127.0.0.1:3000/mcp/", "/mcp/"),
        (308, "http://localhost:3000/v2/mcp?a=b#c", "/v2/mcp?a=b"),
        (307, "//127.0.0.1:3000/x", "/x"),
        (307, "/x", "/x"),
        (307, "x", "/a/x"),
        (308, "?x", "/a/b?x"),
        (301, "/x", None),
        (302, "/x", None),
        (303, "/x", None),
        (200, "/x", None),
        (307, None, None),
        (307, "", None),
        (307, "http://127.0.0.1:3001/x", None),
        (307, "https://127.0.0.1:3000/x", None),
        (307, "http://me@127.0.0.1:3000/x", None),
        (307, "http://other.example:3000/x", None),
        (307, "app:x", None),
    ],
)
def test_what_is_followed(status: int, location: str | None, target: str | None) -> None:
    """A redirect that repeats the request, to the same server."""
    assert target == redirect_target(redirect(status, location), Upstream.parse(LOCAL), "/a/b?c")


@pytest.mark.parametrize(
    ("location", "path"),
    [
        (f"http://{OURS}/v2?a", "/v2"),
        ("/v2", "/v2"),
        ("http://localhost:9000/v2", "/v2"),
        (LOCAL, None),
        ("https://127.0.0.1:9000/v2", None),
    ],
)
def test_what_leads_to_us(location: str, path: str | None) -> None:
    """By the name that the client has for us."""
    asked = HttpRequest("POST", "/mcp", [("Host", OURS)])
    assert path == leads_here(redirect(307, location), asked)
