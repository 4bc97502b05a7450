"""A cassette over HTTP as rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mcpmock.cassette.parser import read
from mcpmock.view.timeline import Row, Timeline, exchange, timeline
from tests.support import HEADER

POST = {"method": "POST", "target": "/mcp", "headers": []}
JSON = {"status": 200, "reason": "OK", "headers": [["content-type", "application/json"]]}
STREAM = {"status": 200, "reason": "OK", "headers": [["Content-Type", "text/event-stream; a=b"]]}
ACCEPTED = {"status": 202, "reason": "Accepted", "headers": []}


def rows(*events: dict[str, Any], transport: str = "streamable-http") -> Timeline:
    """The rows of these events, 1 ms apart."""
    head = HEADER.replace(b'"stdio"', json.dumps(transport).encode())
    numbered = ({"n": n, "t": n * 1000, **event} for n, event in enumerate(events, 1))
    data = head + b"".join(json.dumps(event).encode() + b"\n" for event in numbered)
    found = read("x", data)
    assert [] == found.damage
    return timeline(found)


def up(x: int, s: int = 1, **payload: Any) -> dict[str, Any]:
    return {"x": x, "s": s, "d": "c2s", **payload}


def down(x: int, s: int = 1, **payload: Any) -> dict[str, Any]:
    return {"x": x, "s": s, "d": "s2c", **payload}


def asks(id_: Any, method: str = "tools/call") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method}


def answers(id_: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": {}}


def numbers(found: Sequence[Row]) -> list[int]:
    return [row.event.n for row in found]


def test_heads_say_what_they_are() -> None:
    """A request by method and target, a response by status and what it carries."""
    found = rows(
        up(1, http={"method": "GET", "target": "/sse?a=1", "headers": []}),
        down(1, http=STREAM),
        down(1, http=ACCEPTED),
        down(1, http={**JSON, "status": 404, "reason": "Not Found"}),
        down(1, http={**ACCEPTED, "status": 200, "reason": "OK"}),
        down(1, sse={"event": "message", "id": "3", "retry": 500}),
        down(1, sse={"comment": "still here"}),
        down(1, sse={}),
        down(1, end="reset"),
    )

    assert [
        "GET /sse?a=1",
        "200 text/event-stream",
        "202 Accepted",
        "404 Not Found application/json",
        "200 OK",
        "event message id=3 retry=500",
        "event comment=still here",
        "event",
        "reset",
    ] == [row.summary for row in found]


def test_an_exchange_has_a_status_and_a_time_to_its_answer() -> None:
    """All rows of an exchange have the status it ended with; its head has the time since the head
    of the request.
    """
    found = rows(
        up(1, 2, http=POST),
        up(2, 2, http=POST),
        up(1, 2, m=asks(1)),
        down(2, 2, http=ACCEPTED),
        down(1, 2, http=JSON),
        down(1, 2, m=answers(1)),
        up(3, 2, http=POST),
    )

    assert [200, 202, 200, 202, 200, 200, None] == [row.status for row in found]
    assert [None, None, None, 2000, 4000, 3000, None] == [row.latency for row in found]


def test_callers_without_a_session_do_not_meet() -> None:
    """In session 1 each exchange is a caller of its own, so two may use one id at once; in a
    session an id is one request.
    """
    both = [
        *(up(1, m=asks(1)), up(2, m=asks(1, "prompts/get"))),
        *(down(2, m=answers(1)), down(1, m=answers(1))),
    ]
    alone, together = rows(*both), rows(*({**event, "s": 2} for event in both))

    assert ["prompts/get", "tools/call"] == [row.method for row in alone[2:]]
    assert [(), ()] == [row.notes for row in alone[2:]]
    assert ("late: answered before",) == together[3].notes


def test_in_a_session_an_answer_may_come_in_any_exchange() -> None:
    """The client answers the server's question in a request of its own."""
    found = rows(
        up(1, 2, m=asks(1)),
        down(1, 2, m=asks("a", "roots/list")),
        up(2, 2, m=answers("a")),
        down(1, 2, m=answers(1)),
    )

    assert [None, 0, None, None] == [row.within for row in found]
    assert [0, 1, 1, 0] == [row.call for row in found]
    assert [()] * 4 == [row.notes for row in found]


def test_over_sse_all_come_on_one_stream() -> None:
    """With HTTP+SSE the server's question belongs to the one call that is open, though that came in
    another exchange.
    """
    found = rows(
        down(1, 2, sse={"event": "endpoint"}),
        down(1, 2, text="/message?sessionId=1"),
        up(2, 2, m=asks(1)),
        down(1, 2, m=asks(9, "roots/list")),
        down(1, 2, m=answers(1)),
    )

    assert (2, 2) == (found[3].within, found[4].call)


def test_the_answer_to_a_post_is_not_the_one_stream() -> None:
    """Whatever its events are called: the server's question came on no exchange of a call."""
    found = rows(
        up(1, 2, http=POST),
        up(1, 2, m=asks(1)),
        down(1, 2, sse={"event": "endpoint"}),
        down(1, 2, text="/m"),
        down(2, 2, m=asks(9, "roots/list")),
    )

    assert None is found[-1].within


def test_how_an_event_stream_breaks_lines_is_no_news() -> None:
    """Nor is that a head has something redacted; of a message it is."""
    found = rows(up(1, http=POST, redacted=True), down(1, m=answers(1), eol="\r\n", redacted=True))

    assert [(), ("answers no request", "redacted")] == [row.notes for row in found]


def test_an_exchange_of_messages_shows_what_http_said_around_them() -> None:
    """Heads, metadata and ends of the exchanges that carried the request and the client's answers,
    and of a stream only the event.
    """
    everything = rows(
        *(up(1, 2, http={**POST, "method": "GET"}), down(1, 2, http=STREAM)),
        *(up(2, 2, http=POST), up(2, 2, m=asks(1)), down(2, 2, http=STREAM)),
        *(down(2, 2, sse={"id": "1"}), down(2, 2, m=asks("a", "roots/list"))),
        *(up(3, 2, http=POST), up(3, 2, m=answers("a")), down(3, 2, http=ACCEPTED)),
        *(
            up(4, 2, http=POST),
            up(4, 2, m=asks(2)),
            down(4, 2, http=JSON),
            down(4, 2, m=answers(2)),
        ),
        *(down(2, 2, m=answers(1)), down(2, 2, end="eof"), down(1, 2, sse={"id": "9"})),
    )

    assert [3, 4, 5, 6, 7, 8, 9, 10, 15, 16] == numbers(exchange(everything, "1"))
    assert [11, 12, 13, 14] == numbers(exchange(everything, "2"))


def test_of_a_stream_only_the_event_that_carried_the_answer_is_shown() -> None:
    """Its metadata stand directly before it."""
    everything = rows(
        *(down(1, 2, sse={"event": "endpoint"}), down(1, 2, text="/m")),
        *(up(2, 2, m=asks(1)), down(2, 2, http=ACCEPTED)),
        *(down(1, 2, sse={"event": "message"}), down(1, 2, m=answers(1))),
        *(down(1, 2, sse={"event": "message"}), down(1, 2, m=asks(5, "ping"))),
    )

    assert [3, 4, 5, 6] == numbers(exchange(everything, "1"))
