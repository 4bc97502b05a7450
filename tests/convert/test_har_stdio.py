"""Calls over stdio as HAR entries."""

from __future__ import annotations

from mcpmock.convert.har import HarEntry, stdio_entries
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.view.timeline import timeline
from tests.support import (
    LOG,
    Line,
    batch,
    call,
    cancelled,
    cassette,
    error,
    notification,
    progress,
    request,
    response,
)


def entries(*events: Line, before: int = 0) -> list[HarEntry]:
    """The entries of the last take of a cassette, which has `before` takes of a row ahead of it."""
    ahead = [("c2s", request(0, "ping")), ("take", None)] * before
    found = cassette(*ahead, *events)
    rows = [row for row in timeline(found) if row.take == 1 + before]
    return list(stdio_entries(found.takes[before].header, rows, before))


def shown(found: list[HarEntry]) -> list[tuple[str, int]]:
    return [
        (entry["request"]["url"].removeprefix("http://"), entry["response"]["status"])
        for entry in found
    ]


def test_a_call_and_its_answer_are_an_exchange() -> None:
    """With the latency as the time that was waited."""
    ask, answer = call(1, "add", a=1), response(1)
    (entry,) = entries((1.0, "c2s", ask), (1.5, "s2c", answer), before=1)

    assert [("server.invalid/tools/call/add", 200)] == shown([entry])
    assert ("POST", "stdio") == (entry["request"]["method"], entry["request"]["httpVersion"])
    assert ask.decode() == entry["request"]["postData"]["text"]
    assert (answer.decode(), "application/json") == (
        entry["response"]["content"]["text"],
        entry["response"]["content"]["mimeType"],
    )
    assert (500, 500) == (entry["time"], entry["timings"]["wait"])
    assert {"take": 2, "session": 1, "stdio": True} == {
        name: entry["_mcpmock"][name] for name in ("take", "session", "stdio")
    }


def test_what_the_server_said_meanwhile_is_a_stream() -> None:
    """Progress, log lines and questions ahead of the answer; a question is an exchange of its own
    too, in which the client is asked.
    """
    asked, report = request("q", "roots/list"), progress(1)
    call_, question = entries(
        (1.0, "c2s", request(1, "tools/call", {"name": "add"}, token=1)),
        (1.5, "s2c", report),
        (1.6, "s2c", LOG),
        (1.7, "s2c", asked),
        (1.8, "c2s", response("q", {"roots": []})),
        (2.0, "s2c", response(1)),
    )

    assert [("server.invalid/tools/call/add", 200), ("client.invalid/roots/list", 200)] == shown(
        [call_, question]
    )
    said = [report, LOG, asked, response(1)]
    assert (
        "".join(f"data: {raw.decode()}\n\n" for raw in said) == call_["response"]["content"]["text"]
    )
    assert EVENT_STREAM == call_["response"]["content"]["mimeType"]
    assert (500, 500) == (call_["timings"]["wait"], call_["timings"]["receive"])


def test_what_became_of_a_call_is_its_status() -> None:
    """Errors are red in every viewer; a late answer is no answer, and told all the same."""
    found = entries(
        ("c2s", call(1, "a")),
        ("s2c", error(1)),
        ("c2s", call(2, "b")),
        ("c2s", cancelled(2)),
        ("s2c", response(2)),
        ("c2s", request(3, "resources/read", {"uri": "file:///a b?c"})),
    )

    assert [
        ("server.invalid/tools/call/a", 500),
        ("server.invalid/tools/call/b", 0),
        ("server.invalid/notifications/cancelled", 202),
        ("server.invalid/resources/read/file%3A%2F%2F%2Fa%20b%3Fc", 0),
    ] == shown(found)
    assert ["error", "cancelled", "Accepted", "unanswered"] == [
        entry["response"]["statusText"] for entry in found
    ]
    assert response(2).decode() in str(found[1]["response"]["content"]["text"])


def test_what_the_server_said_of_itself_is_the_stream_of_a_get() -> None:
    """As over Streamable HTTP."""
    (entry,) = entries((1.0, "s2c", LOG), (3.0, "s2c", notification("notifications/x")))

    assert ("GET", False, 2000) == (
        entry["request"]["method"],
        "postData" in entry["request"],
        entry["time"],
    )
    assert [("server.invalid/", 200)] == shown([entry])
    assert 2 == str(entry["response"]["content"]["text"]).count("data: ")


def test_members_of_a_batch_are_calls_of_their_own() -> None:
    """Each with its own bytes."""
    found = entries(
        ("c2s", batch(call(1, "a"), call(2, "b"))), ("s2c", batch(response(1), response(2)))
    )

    assert [call(1, "a").decode(), call(2, "b").decode()] == [
        entry["request"]["postData"]["text"] for entry in found
    ]
    assert [response(1).decode(), response(2).decode()] == [
        entry["response"]["content"]["text"] for entry in found
    ]


def test_names_cannot_leave_their_place_in_the_url() -> None:
    """However long and whatever is in them."""
    (entry,) = entries(("c2s", call(1, "../../x?y#z" + "☃" * 1000)))

    assert entry["request"]["url"].startswith(
        "http://server.invalid/tools/call/..%2F..%2Fx%3Fy%23z%E2"
    )
    assert len(entry["request"]["url"]) < 2000
    assert entry["request"]["url"].isascii()
