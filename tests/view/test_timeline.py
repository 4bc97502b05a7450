"""A cassette as rows."""

from __future__ import annotations

import json

import pytest

from mcpmock.cassette.parser import read
from mcpmock.view.timeline import Row, Timeline, exchange, raws, timeline
from tests.support import (
    HEADER,
    Line,
    batch,
    cancelled,
    cassette,
    error,
    notification,
    progress,
    request,
    response,
)

CALL = {"name": "add", "arguments": {}}


def rows(*events: Line) -> Timeline:
    return timeline(cassette(*events))


def lines(*events: object) -> Timeline:
    """The rows of events that are given as lines."""
    data = HEADER + b"".join(json.dumps(event).encode() + b"\n" for event in events)
    return timeline(read("x", data))


def test_a_response_has_the_method_tool_and_time_of_its_request() -> None:
    """A response is annotated with the method and the tool it answers and with its latency."""
    asked, answer = rows(
        ("c2s", request(7, "tools/call", CALL)), (1.5, "s2c", response(7, {"content": []}))
    )

    assert ("request", "tools/call", "7", "add", None, 0) == facts(asked)
    assert ("response", "tools/call", "7", "add", 500_000, 0) == facts(answer)
    assert () == asked.notes + answer.notes


def facts(row: Row) -> tuple[object, ...]:
    return (row.kind, row.method, row.id, row.tool, row.latency, row.call)


def test_both_kinds_of_error_are_errors_and_responses() -> None:
    """A JSON-RPC error and a tool's result that says it is one are both of the kind `error`."""
    found = rows(
        ("c2s", request(1, "a")),
        ("s2c", error(1)),
        ("c2s", request(2, "a")),
        ("s2c", response(2, {"isError": True})),
        ("c2s", request(3, "a")),
        ("s2c", response(3, {"isError": False})),
    )

    assert ["error", "error", "response"] == [row.kind for row in found[1::2]]
    assert ("response", "error") == found[1].kinds


def test_an_unanswered_request_is_noted() -> None:
    """A request without an answer is unanswered, one that was cancelled is cancelled."""
    found = rows(("c2s", request(1, "a")), ("c2s", request(2, "b")), ("c2s", cancelled(2)))

    assert [("unanswered",), ("cancelled",), ()] == [row.notes for row in found]
    assert 1 == found[2].call


def test_late_and_stray_messages_are_noted() -> None:
    """Answers that come twice, after a cancel or to nothing say so; so do such cancels and
    progress.
    """
    found = rows(
        ("c2s", request(1, "a", token=5)),
        ("s2c", response(1)),
        ("s2c", response(1)),
        ("s2c", progress(5)),
        ("c2s", cancelled(1)),
        ("c2s", request(2, "a")),
        ("c2s", cancelled(2)),
        ("s2c", response(2)),
        ("s2c", response(99)),
        ("s2c", progress(99)),
        ("c2s", cancelled(99)),
    )

    expected = {
        2: ("late: answered before",),
        3: ("late",),
        4: ("late: answered before",),
        5: ("cancelled",),
        7: ("late: cancelled before",),
        8: ("answers no request",),
        9: ("unknown token",),
        10: ("cancels no request",),
    }
    assert expected == {place: row.notes for place, row in enumerate(found) if row.notes}


def test_takes_and_sessions_know_nothing_of_each_other() -> None:
    """The same id in another take or another session is another request."""
    found = rows(("c2s", request(1, "a")), ("take", None), ("s2c", response(1)))

    assert [("unanswered",), ("answers no request",)] == [row.notes for row in found]
    assert [1, 2] == [row.take for row in found]

    asked = {"n": 1, "d": "c2s", "m": {"jsonrpc": "2.0", "id": 1, "method": "a"}}
    answer = {"n": 2, "s": 2, "d": "s2c", "m": {"jsonrpc": "2.0", "id": 1, "result": {}}}
    assert ("answers no request",) == lines(asked, answer)[1].notes


def test_each_member_of_a_batch_is_a_row() -> None:
    """The messages of a batch are annotated one by one."""
    found = rows(
        ("c2s", batch(request(1, "a"), notification("b"))), ("s2c", batch(response(1), b"7"))
    )

    expected = [("request", 0), ("notification", 1), ("response", 0), ("opaque", 1)]
    assert expected == [(row.kind, row.item) for row in found]
    assert ("batch 1",) == found[0].notes


def test_what_is_no_message_has_its_kind_and_words() -> None:
    """Standard error, ends, HTTP heads, gaps and noise are rows too."""
    found = lines(
        {"n": 1, "stderr": "up\n"},
        {"n": 2, "d": "c2s", "end": "eof"},
        {"n": 3, "end": {"exit": 3}},
        {"n": 4, "d": "s2c", "http": {"status": 200, "reason": "OK", "headers": []}},
        {"n": 5, "d": "s2c", "sse": {"id": "7", "retry": 5}},
        {"n": 6, "d": "s2c", "body": "<html>"},
        {"n": 7, "gap": {"bytes": 9, "events": 2, "reason": "disk full"}},
        {"n": 8, "fault": {"drop": 1}},
        {"n": 9, "d": "s2c", "text": "a banner"},
    )

    expected = [
        ("stderr", "up"),
        ("end", "eof"),
        ("end", "exit 3"),
        ("http", "200 OK"),
        ("sse", "event id=7 retry=5"),
        ("body", "<html>"),
        ("gap", "2 events, 9 bytes: disk full"),
        ("fault", "{'drop': 1}"),
        ("opaque", "a banner"),
    ]
    assert expected == [(row.kind, row.summary) for row in found]


def test_modifiers_are_noted() -> None:
    """Odd line breaks, redaction and frames of which only the head was kept are noted."""
    found = lines(
        {"n": 1, "d": "c2s", "text": "a", "eol": "\r\n"},
        {"n": 2, "d": "c2s", "text": "a", "eol": "", "redacted": True},
        {"n": 3, "d": "c2s", "text": "a", "oversize": {"bytes": 9, "sha256": ""}},
    )

    expected = [("CRLF",), ("no line break", "redacted"), ("only the head of 9 bytes",)]
    assert expected == [row.notes for row in found]


def test_without_times_there_are_no_latencies() -> None:
    """A cassette whose times were dropped has no latencies, rather than zeros."""
    asked = {"n": 1, "d": "c2s", "m": {"jsonrpc": "2.0", "id": 1, "method": "a"}}
    answer = {"n": 2, "d": "s2c", "m": {"jsonrpc": "2.0", "id": 1, "result": {}}}

    assert lines(asked, answer)[1].latency is None


@pytest.mark.parametrize("asked_at", [0, -(1 << 63) - 1, 1 << 63, 10**30, -(10**30)])
@pytest.mark.parametrize("answered_at", [0, -(1 << 63) - 1, 1 << 63, 10**30])
def test_a_time_that_nobody_recorded_is_no_end(asked_at: int, answered_at: int) -> None:
    """A file that was edited, or put together by a program, may have any."""
    asked = {"n": 1, "t": asked_at, "d": "c2s", "m": {"jsonrpc": "2.0", "id": 1, "method": "a"}}
    answer = {"n": 2, "t": answered_at, "d": "s2c", "m": {"jsonrpc": "2.0", "id": 1, "result": {}}}

    assert ["request", "response"] == [row.kind for row in lines(asked, answer)]


def test_an_exchange_is_a_request_and_all_that_belongs_to_it() -> None:
    """Progress, the server's questions, the client's answers, cancel and answer are in it; nothing
    else is.
    """
    events: list[Line] = [
        ("c2s", request(1, "tools/call", CALL, token="t")),
        ("s2c", progress("t")),
        ("s2c", request(1, "sampling/createMessage")),
        ("c2s", response(1, {"model": "m"})),
        ("c2s", request(2, "ping")),
        ("s2c", response(2)),
        ("c2s", cancelled(1)),
        ("s2c", response(1)),
    ]
    everything = rows(*events)

    assert [1, 2, 3, 4, 7, 8] == [row.event.n for row in exchange(everything, "1")]
    assert [5, 6] == [row.event.n for row in exchange(everything, "2")]
    assert 0 == len(exchange(everything, "3"))


def test_an_id_is_found_as_spelled_and_bare() -> None:
    """A string id is found with and without its quotes; a number is no other number."""
    everything = rows(("c2s", request("a b", "x")), ("c2s", request(b"1.0", "x")))

    assert 1 == len(exchange(everything, '"a b"')) == len(exchange(everything, "a b"))
    assert 1 == len(exchange(everything, "1.0"))
    assert 0 == len(exchange(everything, "1"))


def test_on_http_a_question_belongs_to_the_call_of_its_exchange() -> None:
    """Of several open calls, the one in the same HTTP exchange is meant."""
    found = lines(
        {"n": 1, "x": 1, "d": "c2s", "m": {"jsonrpc": "2.0", "id": 1, "method": "a"}},
        {"n": 2, "x": 2, "d": "c2s", "m": {"jsonrpc": "2.0", "id": 2, "method": "a"}},
        {"n": 3, "x": 2, "d": "s2c", "m": {"jsonrpc": "2.0", "id": 9, "method": "q"}},
        {"n": 4, "d": "s2c", "m": {"jsonrpc": "2.0", "id": 8, "method": "q"}},
    )

    assert [None, None, 1, None] == [row.within for row in found]


def test_members_of_a_batch_say_their_own() -> None:
    """The rows of a batch have one event, and each its own bytes; what is no message has none."""
    one, two = request(1, "a"), request(2, "b")
    found = rows(("c2s", batch(one, two)), ("stderr", "x"), ("c2s", one), ("c2s", batch(two)))

    assert [one, two, b"", one, two] == list(raws(found))
