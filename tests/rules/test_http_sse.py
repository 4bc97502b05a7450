"""The transport of 2024-11-05."""

from __future__ import annotations

from tests.rules.violations import (
    SSE,
    Planted,
    Step,
    ask,
    discovered,
    names,
    opening_sse,
    violations,
)
from tests.support import accepts, bodiless, get, post, replies, request, response, says

PING = request(1, "ping")
TO = "/messages?id=1"
CONNECTED: list[Step] = [get(1, to="/sse"), replies(1, 200, "text/event-stream")]
PLANTED = [
    Planted("sse-endpoint", [*CONNECTED, says(1, request(1, "ping"))], SSE, 2),
    Planted("sse-post", [*opening_sse(), post(4, PING, to="/mcp"), accepts(4)], SSE, 2),
    Planted(
        "sse-event",
        [*opening_sse(), post(4, PING, to=TO), accepts(4), says(1, response(1), event="reply")],
        SSE,
        2,
    ),
]


def test_a_session() -> None:
    """One stream carries all answers; they may come ahead of the 202."""
    asks = [post(4, PING, to=TO), says(1, response(1), event="message"), accepts(4)]
    asks += [says(1, b"", comment="still here"), bodiless(5, "GET", to=TO)]

    assert [] == names(*opening_sse(), *asks, transport=SSE)


def test_it_is_told_by_the_revision_that_has_it() -> None:
    """The rules of the transport are those of 2024-11-05, whatever is spoken over it."""
    [told] = violations(*PLANTED[1].steps, transport=SSE)

    assert "2024-11-05 basic/transports" == told.cited


def test_the_modern_era_over_it() -> None:
    """SDKs speak the modern era over this transport too; heads are not looked at then."""
    probe = [post(2, ask("opening", "server/discover"), to=TO), accepts(2)]
    endpoint = says(1, TO.encode(), event="endpoint")

    assert [] == names(
        *CONNECTED, endpoint, *probe, says(1, discovered(), event="message"), transport=SSE
    )


def test_an_endpoint_that_is_no_url() -> None:
    """An endpoint that is not a URL makes no POST a violation."""
    endpoint = says(1, b"http://[", event="endpoint")

    assert [] == names(*CONNECTED, endpoint, *opening_sse()[3:5], transport=SSE)
