"""Faults of HTTP, where a row of the fault matrix cannot show all that they do."""

from __future__ import annotations

import pytest

from mcpmock.channels.http.http1 import ResponseWriter
from mcpmock.faults.fault import Fault
from mcpmock.faults.kinds.connection import LimitData
from mcpmock.faults.kinds.content import InvalidJson, WrongId
from mcpmock.faults.kinds.http import (
    HttpStatus,
    JsonInsteadOfSse,
    MalformedChunk,
    Outage,
    Quota,
    SessionExpired,
    WrongContentType,
)
from mcpmock.faults.kinds.loss import BlackHole, Drop, NeverRespond, SseGap
from mcpmock.faults.kinds.order import Duplicate, RespondTwice
from mcpmock.faults.kinds.sse import SseCommentStorm, SseDuplicateId, SseRetry
from mcpmock.faults.match import Match
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import C2S, S2C, ExchangeEnd, Frame, HttpBody, HttpResponse, SseMeta
from mcpmock.transports.body import BodyWriter
from tests.support import INITIALIZE, call, ends, get, opens, post, progress, request, says, shown
from tests.support.faulty import ANSWER, CALL, body, faulty, on_http, on_stdio


def test_http_status_refuses() -> None:
    """With a status, and what goes with it."""
    asked, said = on_http(HttpStatus(status=429, retry_after=3, body="later"), CALL, [])

    assert ([], ["1 429 text/plain", "1 body later", "1 eof"]) == (asked, said)
    wire = faulty(HttpStatus(status=429, retry_after=3), transport="streamable-http")
    [frames] = wire.pipeline.enter(post(1, CALL), 0)
    assert HttpResponse(429, "Too Many Requests", [("Retry-After", "3")]) == frames[0].fact


def test_http_status_a_get() -> None:
    """By its HTTP method; on stdio there is no such thing."""
    fault = HttpStatus(status=405, match=Match(method="GET"))

    assert ["1 405 ", "1 eof"] == [
        f"{line} " if "405" in line else line
        for line in faulty(fault, transport="sse").hears(0, get(1))
    ]
    assert ([CALL], [ANSWER]) == on_stdio(HttpStatus())


def test_session_expired_the_session_is_gone() -> None:
    """From some request on; a new one can be opened."""
    wire = faulty(SessionExpired(match=Match(after=1)), transport="streamable-http")

    assert "POST" in wire.hears(0, post(1, CALL))[0]
    assert wire.hears(0, post(2, CALL))[0].startswith("2 404")
    assert wire.hears(0, get(3))[0].startswith("3 404")
    assert "POST" in wire.hears(0, post(4, INITIALIZE))[0]


def test_session_expired_where_there_are_none() -> None:
    """Since revision 2026-07-28 no request belongs to a session."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    wire = faulty(SessionExpired(), transport="streamable-http")

    for x, asked in enumerate(
        (request(1, "tools/list", {"_meta": meta}), request(2, "server/discover")), 1
    ):
        assert "POST" in wire.hears(0, post(x, asked))[0]
    assert wire.hears(0, post(3, CALL))[0].startswith("3 404")


def written(fault: MalformedChunk) -> bytes:
    """The bytes that the client reads."""
    writer = ResponseWriter("POST")
    out = faulty(fault, transport="streamable-http").pipeline.enter(post(1, CALL), 0)
    return b"".join(writer.write(frames) for frames in out)


def test_malformed_chunk_a_length_that_is_none() -> None:
    """Behind a chunk that is one."""
    head, _, chunks = written(MalformedChunk()).partition(b"\r\n\r\n")

    assert b"Transfer-Encoding: chunked" in head
    assert b"1\r\n{\r\nmcpmock\r\n{}\r\n" == chunks


def test_malformed_chunk_a_length_that_breaks_off() -> None:
    """Inside the header of a chunk."""
    assert written(MalformedChunk(cut=True)).endswith(b"1\r\n{\r\n1")


def test_wrong_content_type_of_an_event_stream() -> None:
    """The bytes of its events are the same, in whichever pieces they come."""
    began = [Frame(S2C, fact=SseMeta(id="0", retry=5), exchange=1)]
    stream = [opens(1), began, says(1, progress("t"), id="a"), says(1, ANSWER), [ends(1)]]
    whole = [frame for batch in stream for frame in batch]
    for batches in (stream, [whole]):
        wire = faulty(WrongContentType(), transport="streamable-http")
        wire.hears(0, post(1, CALL))
        head, *rest = [frame for b in batches for out in wire.pipeline.enter(b, 0) for frame in out]

        assert ["1 200 text/html"] == shown([head])
        assert BodyWriter(EVENT_STREAM).write(whole) == b"".join(frame.raw for frame in rest)
        assert {HttpBody, ExchangeEnd} == {type(frame.fact) for frame in rest}


def test_wrong_content_type_a_client_that_leaves() -> None:
    """The server hears of it."""
    wire = faulty(WrongContentType(), transport="streamable-http")
    wire.hears(0, post(1, CALL))
    wire.hears(0, opens(1), says(1, progress("t")))

    assert ["1 closed"] == wire.hears(0, [Frame(C2S, fact=ExchangeEnd("closed"), exchange=1)])


@pytest.mark.parametrize(
    "other",
    [
        SseDuplicateId(id="7"),
        SseRetry(retry=5),
        SseCommentStorm(count=2),
        Duplicate(match=Match(method="tools/call")),
        RespondTwice(),
        InvalidJson(),
        WrongId(),
        LimitData(bytes=60),
        Drop(match=Match(method="notifications/progress")),
        Drop(),
        SseGap(match=Match(nth=1)),
        NeverRespond(),
        BlackHole(),
    ],
    ids=lambda fault: fault.kind,
)
@pytest.mark.parametrize("first", [says(1, progress("t"), id="a"), []], ids=["progress", "answer"])
def test_wrong_content_type_with_another_fault(other: Fault, first: list[Frame]) -> None:
    """In either order of the plan the body has the bytes that the other one leaves; a stream whose
    first event it loses begins all the same.
    """
    stream = [*opens(1), *first, *says(1, ANSWER, id="b"), ends(1)]

    def heard(*faults: Fault) -> list[Frame]:
        wire = faulty(*faults, transport="streamable-http")
        wire.hears(0, post(1, CALL))
        return [frame for out in wire.pipeline.enter(stream, 0) for frame in out]

    written = BodyWriter(EVENT_STREAM).write(heard(other))
    for faults in ((WrongContentType(), other), (other, WrongContentType())):
        head, *rest = heard(*faults)
        assert ["1 200 text/html"] == shown([head])
        assert written == b"".join(frame.raw for frame in rest)


def test_json_instead_of_sse_the_answer_alone() -> None:
    """As JSON; progress is lost, and the exchange ends as it would."""
    stream = [*opens(1), *says(1, progress("t"), id="a"), *says(1, ANSWER, id="b"), ends(1)]

    assert ["1 200 application/json", "1 " + ANSWER.decode(), "1 eof"] == body(
        JsonInsteadOfSse(), CALL, stream
    )


@pytest.mark.parametrize(
    ("lost", "rest"),
    [
        ("notifications/progress", ["1 200 application/json", "1 " + ANSWER.decode(), "1 eof"]),
        ("tools/call", ["1 eof"]),
        (None, ["1 eof"]),
    ],
)
def test_json_instead_of_sse_what_is_lost(lost: str | None, rest: list[str]) -> None:
    """Another fault may lose what comes first on the stream, and the answer."""
    wire = faulty(Drop(match=Match(method=lost)), JsonInsteadOfSse(), transport="streamable-http")
    wire.hears(0, post(1, CALL))

    assert rest == wire.hears(0, opens(1), says(1, progress("t")), says(1, ANSWER), [ends(1)])


def test_json_instead_of_sse_one_by_one() -> None:
    """In whichever pieces the stream comes; others stay streams."""
    wire = faulty(JsonInsteadOfSse(match=Match(tool="x")), transport="streamable-http")
    wire.hears(0, post(1, CALL), post(2, call(2, "y")))

    assert [] == wire.hears(0, opens(1), says(1, progress("t")))
    assert ["1 200 application/json", "1 " + ANSWER.decode()] == wire.hears(1, says(1, ANSWER))
    assert ["1 eof"] == wire.hears(1, [ends(1)])
    assert ["2 200 text/event-stream"] == wire.hears(1, opens(2))


def test_json_instead_of_sse_servers_begin_a_stream_with_an_empty_event() -> None:
    """It has an id and no message, and is lost like the rest."""
    stream = [*opens(1), *says(1, b"", id="0"), *says(1, ANSWER, id="1"), ends(1)]

    assert ["1 200 application/json", "1 " + ANSWER.decode(), "1 eof"] == body(
        JsonInsteadOfSse(match=Match(tool="x")), CALL, stream
    )


def test_json_instead_of_sse_what_is_json_already() -> None:
    """It stays as it is; and a stream that ends without an answer has no head."""
    assert ["1 200 application/json", "1 " + ANSWER.decode(), "1 eof"] == body(JsonInsteadOfSse())
    stream = [*opens(1), *says(1, progress("t")), ends(1)]
    assert ["1 eof"] == body(JsonInsteadOfSse(), CALL, stream)


def test_outage_for_a_while() -> None:
    """From the first on; then everything is as before."""
    wire = faulty(Outage(time=2), transport="streamable-http")

    for at in (0, 1):
        assert wire.hears(at, post(at, CALL))[0].startswith(f"{at} 503")
    assert "POST" in wire.hears(2, post(2, CALL))[0]


def test_outage_resets() -> None:
    """Or nobody answers at all."""
    assert ([], ["1 reset"]) == on_http(Outage(reset=True), CALL, [])


def test_quota_too_many() -> None:
    """So many in a window; others are told when to come again."""
    wire = faulty(Quota(requests=2, window=10), transport="streamable-http")

    for number in (1, 2):
        assert "POST" in wire.hears(1, post(number, CALL))[0]
    [frames] = wire.pipeline.enter(post(3, CALL), 4.5)
    assert HttpResponse(429, "Too Many Requests", [("Retry-After", "7")]) == frames[0].fact
    assert "POST" in wire.hears(11, post(4, CALL))[0]
