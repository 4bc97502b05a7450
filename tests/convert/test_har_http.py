"""Exchanges of a take as HAR entries."""

from __future__ import annotations

from mcpmock.cassette.model import Header, event_line
from mcpmock.cassette.parser import read
from mcpmock.convert.har import HarEntry, http_entries
from mcpmock.protocol.messages import C2S, S2C, Frame, HttpBody, HttpRequest, HttpResponse
from mcpmock.view.timeline import timeline
from tests.support import (
    JSON_HEADER,
    STREAM,
    batch,
    bodiless,
    call,
    ends,
    post,
    progress,
    replies,
    response,
    says,
)

BEGAN = "2026-11-20T10:00:00.000Z"
JSON = "application/json"


def entries(
    *steps: tuple[float, Frame | list[Frame]], target: str | None = "https://x.example:8/mcp"
) -> list[HarEntry]:
    """The entries of a take in which these frames came, by the second."""
    flat = [
        (t, frame) for t, step in steps for frame in (step if isinstance(step, list) else [step])
    ]
    lines = [event_line(n, round(t * 1e6), frame) for n, (t, frame) in enumerate(flat, 1)]
    cassette = read("x", JSON_HEADER + b"".join(lines))
    header = Header(mcpmock=1, recorded_at=BEGAN, target=target)
    return list(http_entries(header, timeline(cassette)))


def test_an_exchange_has_its_heads_its_bodies_and_its_times() -> None:
    """As they were; the URL is that of the server, for the client was talking to us."""
    ask, answer = call(1, "add"), response(1)
    (entry,) = entries(
        (1.0, post(7, ask, to="/mcp?k=v", cookie="a=b")),
        (1.25, replies(7, 200, JSON)),
        (1.5, [*says(7, answer), ends(7)]),
    )

    assert ("POST", "https://x.example:8/mcp?k=v") == (
        entry["request"]["method"],
        entry["request"]["url"],
    )
    assert ["k"] == [pair["name"] for pair in entry["request"]["queryString"]]
    assert ["a"] == [pair["name"] for pair in entry["request"]["cookies"]]
    assert ("Host", "127.0.0.1:8000") == (
        entry["request"]["headers"][0]["name"],
        entry["request"]["headers"][0]["value"],
    )
    assert (ask.decode(), len(ask)) == (
        entry["request"]["postData"]["text"],
        entry["request"]["bodySize"],
    )
    assert (200, answer.decode()) == (
        entry["response"]["status"],
        entry["response"]["content"]["text"],
    )
    assert "2026-11-20T10:00:01.000Z" == entry["startedDateTime"]
    assert [500, 0, 250, 250] == [
        entry["time"],
        entry["timings"]["send"],
        entry["timings"]["wait"],
        entry["timings"]["receive"],
    ]
    assert (7, ["eof"]) == (entry["_mcpmock"]["exchange"], entry["_mcpmock"]["ends"])
    assert ["request", "response"] == [one["kind"] for one in entry["_mcpmock"]["messages"]]
    assert ["add", "add"] == [one["tool"] for one in entry["_mcpmock"]["messages"]]


def test_an_event_stream_is_its_text() -> None:
    """With ids, names, retries and comments where they stood."""
    (entry,) = entries(
        (1.0, post(1, call(1, "add"))),
        (1.1, replies(1, 200, STREAM)),
        (1.2, says(1, b"", id="1", retry=50)),
        (1.3, says(1, b"", comment="still here\nreally")),
        (1.4, says(1, progress(1), id="2", event="message")),
        (1.5, says(1, response(1))),
        (1.6, ends(1)),
    )

    assert (
        "id: 1\nretry: 50\n\n: still here\n: really\n\nevent: message\nid: 2\n"
        f"data: {progress(1).decode()}\n\ndata: {response(1).decode()}\n\n"
    ) == entry["response"]["content"]["text"]
    assert STREAM == entry["response"]["content"]["mimeType"]
    assert 3 == len(entry["_mcpmock"]["messages"])


def test_without_an_answer_there_is_no_status() -> None:
    """A client that left, and an exchange that was under way when the recording ended."""
    left, open_ = entries(
        (1.0, post(1, call(1, "add"))),
        (1.0, bodiless(2, "GET")),
        (3.0, ends(1, "reset", C2S)),
    )

    assert (0, "no response", 2000) == (
        left["response"]["status"],
        left["response"]["statusText"],
        left["timings"]["wait"],
    )
    assert ["client reset"] == left["_mcpmock"]["ends"]
    assert (0, 0.0, False) == (
        open_["response"]["status"],
        open_["time"],
        "postData" in open_["request"],
    )


def test_a_batch_is_one_body() -> None:
    """Its members are rows of their own, its bytes came once."""
    body = batch(call(1, "a"), call(2, "b"))
    (entry,) = entries((1.0, post(1, body)))

    assert len(body) == entry["request"]["bodySize"]
    assert ["a", "b"] == [one["tool"] for one in entry["_mcpmock"]["messages"]]


def test_pages_and_redirects_are_there_too() -> None:
    """What is not MCP, as far as it was recorded."""
    page = HttpResponse(302, "Found", [("Location", "/login"), ("set-cookie", "s=1")])
    (entry,) = entries(
        (1.0, bodiless(1, "GET", to="/icon")),
        (1.1, Frame(S2C, b"", b"", page, 1)),
        (1.2, Frame(S2C, b"<html>", b"", HttpBody(), 1)),
        (1.2, Frame(S2C, b"\xff", b"", HttpBody(), 1)),
        (1.2, ends(1)),
    )

    assert ("/login", 302) == (entry["response"]["redirectURL"], entry["response"]["status"])
    assert ["s"] == [pair["name"] for pair in entry["response"]["cookies"]]
    assert (7, "base64") == (
        entry["response"]["content"]["size"],
        entry["response"]["content"]["encoding"],
    )


def test_urls_are_whole_whatever_the_header_says() -> None:
    """Without a server in the header, that of the request's own; a whole URL stays."""
    asks = bodiless(1, "GET", to="/mcp")
    proxied = HttpRequest("GET", "http://else.example/a", [])
    nobody = HttpRequest("GET", "/a", [])

    assert ["http://127.0.0.1:8000/mcp"] == [
        e["request"]["url"] for e in entries((1.0, asks), target=None)
    ]
    assert ["http://else.example/a", "http://server.invalid/a"] == [
        e["request"]["url"]
        for e in entries(
            (1.0, Frame(C2S, b"", b"", proxied, 1)),
            (1.0, Frame(C2S, b"", b"", nobody, 2)),
            target="npx srv",
        )
    ]


def test_an_exchange_whose_beginning_is_not_there_is_none() -> None:
    """HAR cannot say that; a torn recording begins somewhere."""
    assert [] == entries((1.0, replies(1, 200, JSON)), (1.0, ends(1)))
