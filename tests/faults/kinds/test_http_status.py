"""`http_status`: refusals."""

from __future__ import annotations

from mcpmock.faults.kinds.http import HttpStatus
from mcpmock.faults.match import Match
from mcpmock.protocol.messages import HttpResponse
from tests.faults.faulty import ANSWER, CALL, faulty, on_http, on_stdio
from tests.support import get, post


def test_it_refuses() -> None:
    """With a status, and what goes with it."""
    asked, said = on_http(HttpStatus(status=429, retry_after=3, body="later"), CALL, [])

    assert ([], ["1 429 text/plain", "1 body later", "1 eof"]) == (asked, said)
    wire = faulty(HttpStatus(status=429, retry_after=3), transport="streamable-http")
    [frames] = wire.pipeline.enter(post(1, CALL), 0)
    assert HttpResponse(429, "Too Many Requests", [("Retry-After", "3")]) == frames[0].fact


def test_a_get() -> None:
    """By its HTTP method; on stdio there is no such thing."""
    fault = HttpStatus(status=405, match=Match(method="GET"))

    assert ["1 405 ", "1 eof"] == [
        f"{line} " if "405" in line else line
        for line in faulty(fault, transport="sse").hears(0, get(1))
    ]
    assert ([CALL], [ANSWER]) == on_stdio(HttpStatus())
