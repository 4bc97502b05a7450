"""What HTTP adds to the format: each kind of frame becomes a line and a frame again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import structs

from mcpmock.cassette.model import EventLines, Header, Take, event_line
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Direction,
    ExchangeEnd,
    Fact,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    SseMeta,
    Stderr,
    StreamEnd,
)
from tests.cassette.test_model import ODD, loaded
from tests.support import INITIALIZE, get, in_session, opens, over_http, post, says, seen

HEADERS = [("Content-Type", "application/json"), ("X-A", "1"), ("x-a", "\xe9 \u2028"), ("X-A", "")]


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
@pytest.mark.parametrize("direction", [C2S, S2C])
@pytest.mark.parametrize("raw", ODD.values(), ids=ODD.keys())
def test_a_message_of_an_exchange(raw: bytes, direction: Direction, eol: bytes) -> None:
    """The message and its exchange come back; so does how an event stream broke its lines."""
    frame = Frame(direction, raw, eol, exchange=7)
    found = loaded(event_line(1, 5, frame, session=2)).frame
    assert found is not None

    assert (seen(frame), 7) == (seen(found), found.exchange)


FACTS: list[tuple[Fact, bytes, str]] = [
    (
        HttpRequest("POST", "/mcp?a=1", HEADERS[:2]),
        b"",
        '"http":{"method":"POST","target":"/mcp?a=1",'
        '"headers":[["Content-Type","application/json"],["X-A","1"]]}',
    ),
    (
        HttpResponse(404, "Not Found", HEADERS[1:]),
        b"",
        '"http":{"status":404,"reason":"Not Found",'
        '"headers":[["X-A","1"],["x-a","\xe9 \u2028"],["X-A",""]]}',
    ),
    (HttpBody(), b"<html>\n", '"body":"<html>\\n"'),
    (HttpBody(), b"\xff", '"body":"\ufffd","raw":"/w=="'),
    (HttpBody(), b"", '"body":""'),
    (SseMeta(), b"", '"sse":{}'),
    (
        SseMeta("1", "message", 500, "x"),
        b"",
        '"sse":{"id":"1","event":"message","retry":500,"comment":"x"}',
    ),
    (SseMeta(id=""), b"", '"sse":{"id":""}'),
    (ExchangeEnd(), b"", '"end":"eof"'),
    (ExchangeEnd("reset"), b"", '"end":"reset"'),
]


@pytest.mark.parametrize(("fact", "raw", "payload"), FACTS)
@pytest.mark.parametrize("direction", [C2S, S2C])
def test_a_fact_of_an_exchange(direction: Direction, fact: Fact, raw: bytes, payload: str) -> None:
    """Heads, metadata of events, other bodies and ends have lines of their own."""
    frame = Frame(direction, raw, fact=fact, exchange=7)
    line = event_line(1, 5, frame, session=3)
    found = loaded(line).frame
    assert found is not None

    way = direction.value
    assert f'{{"n":1,"t":5,"s":3,"x":7,"d":"{way}",{payload}}}\n' == line.decode()
    assert (seen(frame), 7) == (seen(found), found.exchange)


@pytest.mark.parametrize(
    "frame", [Frame(S2C, b"x\n", b"", Stderr()), Frame(C2S, b"", b"", StreamEnd())]
)
def test_a_fact_of_a_session(frame: Frame) -> None:
    """What belongs to a session and to no exchange comes back without one."""
    event = loaded(event_line(1, 5, frame, session=3))
    assert event.frame is not None

    assert (3, None, seen(frame)) == (event.s, event.x, seen(event.frame))


@pytest.mark.parametrize(
    ("transport", "meta", "expected"),
    [
        (None, SseMeta(), "stdio"),
        ("stdio", SseMeta(id="1"), "stdio"),
        ("streamable-http", SseMeta(event="message"), "streamable-http"),
        ("streamable-http", SseMeta(event="endpoint"), "sse"),
        ("sse", SseMeta(), "sse"),
    ],
)
def test_the_transport_of_a_take(transport: str | None, meta: SseMeta, expected: str) -> None:
    """The header says it, unless the server spoke HTTP+SSE: then an event named its endpoint."""
    event = loaded(event_line(1, 0, Frame(S2C, fact=meta, exchange=1)))

    assert expected == Take(header=Header(mcpmock=1, transport=transport), events=[event]).transport


NAMED = says(1, b"/m", event="endpoint")
ASKED = post(1, INITIALIZE), opens(1), NAMED
LISTENED = get(2), opens(2)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([get(1), opens(1), NAMED], "sse"),
        ([post(2, INITIALIZE), get(1), opens(1), NAMED], "sse"),
        ([opens(1), NAMED], "sse"),
        (ASKED, "streamable-http"),
        ([*LISTENED, *ASKED], "streamable-http"),
        ([*ASKED, *LISTENED, says(2, b"{}", event="message")], "streamable-http"),
        ([*ASKED, *LISTENED, says(2, b"/m", event="endpoint")], "sse"),
    ],
)
def test_only_the_stream_of_a_get_names_an_endpoint(
    steps: Sequence[list[Frame]], expected: str
) -> None:
    """The answer to a POST may have events of any name. A page that grows reads line by line."""
    found = over_http(in_session(2, *steps)).takes[0]
    assert isinstance(found.events, EventLines)
    growing = EventLines(found.events._data)
    for start, event in zip(found.events._starts, found.events, strict=True):
        growing.add([event], start, [b""])

    assert expected == found.transport
    assert expected == structs.replace(found, events=growing).transport
    assert expected == structs.replace(found, events=[*found.events]).transport
