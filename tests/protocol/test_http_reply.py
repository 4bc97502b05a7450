"""HTTP replies as bare messages."""

from __future__ import annotations

import json

import pytest

from mcpmock.protocol.http_reply import (
    HeldMessages,
    ReplyFlattener,
    flatten,
    request_ids,
)
from mcpmock.protocol.messages import (
    S2C,
    ExchangeEnd,
    Fact,
    Fragment,
    Frame,
    HttpBody,
    HttpResponse,
    SseMeta,
    Stderr,
    parse,
    parse_items,
)
from tests.support import INITIALIZED, LOG, batch, error, progress, request, response

ASKED = request(1, "a")
JSON, EVENTS, HTML = "application/json", "text/event-stream", "text/html"


def head(status: int, kind: str = JSON, reason: str = "OK") -> Frame:
    return fact(HttpResponse(status, reason, [("Content-Type", kind)] if kind else []))


def fact(what: Fact, raw: bytes = b"") -> Frame:
    return Frame(S2C, raw, fact=what, exchange=1)


def said(raw: bytes) -> Frame:
    return Frame(S2C, raw, b"\r\n", exchange=1, wire=b"data: ...\r\n\r\n")


END = fact(ExchangeEnd())


def hear(answering: ReplyFlattener, *frames: Frame) -> list[bytes]:
    out = [one for frame in frames for one in answering.feed(frame)]
    assert {(S2C, b"\n", None, None, None)} >= {
        (one.direction, one.eol, one.fact, one.exchange, one.wire) for one in out
    }
    return [one.raw for one in out]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b'{"a": 1}', b'{"a": 1}'),
        (b'{\r\n "a":\r1\n}\r\n', b'{  "a": 1 }'),
        (b'\xef\xbb\xbf{"a":1}', b'{"a":1}'),
        ('{"a":"\u2028"}'.encode(), '{"a":"\u2028"}'.encode()),
        (b"", b""),
    ],
)
def test_flatten(body: bytes, line: bytes) -> None:
    """Line breaks become spaces, and nothing else changes."""
    assert line == flatten(body)


def test_request_ids() -> None:
    """Those of requests, as spelled."""
    items = parse_items(batch(request(b"1.0", "a"), LOG, response(2), request("b", "b")))

    assert [b"1.0", b'"b"'] == request_ids(items)


def test_held() -> None:
    """The oldest are dropped, by number and by size."""
    by_number, by_size = HeldMessages(max_messages=2), HeldMessages(max_bytes=4)
    for raw in (b"aa", b"bb", b"cc"):
        by_number.add(raw)
        by_size.add(raw)

    assert [b"bb", b"cc"] == by_number.take() == by_size.take()
    assert ([], 0) == (by_size.take(), by_size.size)
    by_size.add(b"too long")
    assert [] == by_size.take()


def test_a_json_answer() -> None:
    """One message, on one line, and the request is answered."""
    answering = ReplyFlattener(ASKED)
    asked = [answering.answered]

    assert [b'{"jsonrpc": "2.0", "id": 1, "result": {}}'] == hear(
        answering, head(200), said(b'{"jsonrpc": "2.0",\n"id": 1,\n"result": {}}\n')
    )
    assert [False, True] == [*asked, answering.answered]
    assert [] == hear(answering, END)


def test_an_event_stream() -> None:
    """All messages in it; nothing of ids, comments, empty data and other events."""
    answering = ReplyFlattener(ASKED)
    told = hear(
        answering,
        head(200, EVENTS),
        fact(SseMeta(id="1", retry=5)),
        said(b""),
        fact(SseMeta(event="message", id="2")),
        said(LOG),
        fact(SseMeta(event="ping")),
        said(LOG),
        fact(SseMeta(event="endpoint")),
        said(b"/messages"),
        fact(SseMeta(comment="x")),
        fact(SseMeta()),
        said(progress(1)),
        said(response(b"1.0")),
        fact(HttpBody(), b"data: torn"),
        END,
    )

    assert [LOG, progress(1), response(b"1.0")] == told
    assert answering.answered


def test_a_get_asks_nothing() -> None:
    """A GET has no requests, so its refusal is no error response."""
    answering = ReplyFlattener(None)

    assert answering.answered
    assert [LOG] == hear(answering, head(200, EVENTS), said(LOG), END)
    assert [] == hear(answering, head(405), END)


def test_a_long_answer_in_pieces() -> None:
    """It is put together."""
    raw = response(1, {"text": "x" * 100})
    pieces = [fact(Fragment(), raw[:50]), fact(Fragment(last=True), raw[50:])]

    assert [raw] == hear(ReplyFlattener(ASKED), head(200), *pieces, END)


def test_a_batch() -> None:
    """Its answers may come together or one by one; those that do not come fail."""
    asked = batch(ASKED, INITIALIZED, request("b", "b"), request(3, "c"))
    answering = ReplyFlattener(asked)

    hear(answering, head(200, EVENTS), said(batch(response(3), response(1))))
    assert [b'"b"'] == answering.open
    assert [error("b", -32000, "why")] == [frame.raw for frame in answering.fail("why")]
    assert answering.answered


WITHOUT_ID = (
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}',
    b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"}}',
)


@pytest.mark.parametrize("raw", WITHOUT_ID)
def test_an_answer_without_id_is_to_the_only_request(raw: bytes) -> None:
    """An error without an id gets the id of the only request; in a batch or a stream it stays."""
    [told] = hear(ReplyFlattener(ASKED), head(400, JSON, "Bad Request"), said(raw), END)
    assert (1, -32000) == (json.loads(told)["id"], json.loads(told)["error"]["code"])

    told_of_two = hear(ReplyFlattener(batch(ASKED, request(2, "b"))), head(400), said(raw), END)
    assert [raw, 1, 2] == [told_of_two[0], *(json.loads(one)["id"] for one in told_of_two[1:])]
    assert [raw] == hear(ReplyFlattener(ASKED), head(200, EVENTS), said(raw), END)
    assert [raw] == hear(ReplyFlattener(INITIALIZED), head(400), said(raw), END)


OOPS = head(500, HTML, "Oops")
TOKEN = b'{"error":"invalid_token"}'
REFUSALS = (
    ([head(404, "", "Not Found")], "HTTP 404 Not Found"),
    ([head(404, "", "")], "HTTP 404"),
    ([OOPS, fact(HttpBody(), b"<h1>\n no"), fact(HttpBody(), b"!")], "HTTP 500 Oops: <h1> no!"),
    ([head(401, JSON, "No"), said(TOKEN)], f"HTTP 401 No: {TOKEN.decode()}"),
    ([head(401, JSON, "No"), said(b"nonsense")], "HTTP 401 No: nonsense"),
    ([OOPS, fact(HttpBody(), "é".encode() * 500)], "HTTP 500 Oops: " + "é" * 200),
    ([OOPS, fact(HttpBody(), b"\xff")], "HTTP 500 Oops: \ufffd"),
)


@pytest.mark.parametrize(("frames", "message"), REFUSALS)
def test_refusals(frames: list[Frame], message: str) -> None:
    """A refusal is an error response for each open request, with the beginning of the body."""
    assert [error(1, -32000, message)] == hear(ReplyFlattener(ASKED), *frames, END)
    assert [] == hear(ReplyFlattener(INITIALIZED), *frames, END)


def test_an_answer_with_an_error_status_is_an_answer() -> None:
    """The modern era has both: nothing is added."""
    assert [error(1, -32601)] == hear(ReplyFlattener(ASKED), head(404), said(error(1, -32601)), END)


def test_a_whole_answer_that_is_none() -> None:
    """A body that is not JSON-RPC passes while a request is open, and is dropped otherwise."""
    assert [b"{}"] == hear(ReplyFlattener(ASKED), head(200), said(b"{}"), END)
    assert [] == hear(ReplyFlattener(INITIALIZED), head(202), said(b"{}"), END)


def test_an_answer_goes_on_in_another_exchange() -> None:
    """The head and the event of an earlier exchange are forgotten."""
    answering = ReplyFlattener(ASKED)
    hear(answering, head(200, EVENTS), fact(SseMeta(event="ping")), fact(ExchangeEnd("reset")))

    assert [error(1, -32000, "HTTP 404 No")] == hear(answering, head(404, "", "No"), END)


def test_forget() -> None:
    """A cancelled request is not waited for; its answer passes all the same."""
    answering = ReplyFlattener(ASKED)

    assert [False, True] == [answering.forget(b"2"), answering.forget(b"1.0")]
    assert answering.answered
    assert [response(1)] == hear(answering, head(200), said(response(1)), END)
    assert [] == hear(ReplyFlattener(b""), fact(Stderr()), END)
    assert parse(ASKED) == parse(flatten(ASKED))


def moved(status: int, reason: str, *location: str) -> Frame:
    return fact(HttpResponse(status, reason, [("Location", one) for one in location]))


FOLLOWED = ": not followed (307 and 308 to the same server are, at most ten)"
HALF = fact(HttpBody(), b"<p>half\x1b")


@pytest.mark.parametrize(
    ("reply", "how", "why"),
    [
        ([moved(307, "Moved", "http://x/mcp?code=s")], "eof", "HTTP 307 Moved to http://x/mcp"),
        ([moved(302, "Found", "/login")], "eof", "HTTP 302 Found to /login"),
        ([moved(308, "Moved")], "eof", "HTTP 308 Moved without a Location"),
        ([moved(304, "Not Modified")], "eof", "HTTP 304 Not Modified without a Location"),
        ([head(204, "", "No Content")], "eof", "HTTP 204 No Content: not an answer"),
        ([head(202, "", "Accepted")], "eof", "HTTP 202 Accepted: not an answer"),
        (
            [head(200, "text/plain"), fact(HttpBody(), b"hello\nyou")],
            "eof",
            "HTTP 200 OK with content type text/plain: not an answer: hello you",
        ),
        ([head(200, "")], "eof", "HTTP 200 OK without content type: not an answer"),
        ([head(200)], "eof", "HTTP 200 OK with content type application/json: not an answer"),
        ([head(200, EVENTS)], "eof", "HTTP 200 OK: the event stream ended without an answer"),
        (
            [head(200, EVENTS)],
            "reset",
            "HTTP 200 OK: the connection was reset before an answer came",
        ),
        (
            [head(200, ""), HALF],
            "closed",
            "HTTP 200 OK: the connection was closed before an",
        ),
        ([], "reset", "mcpmock: the connection was reset before a response came"),
        ([], "closed", "mcpmock: the connection was closed before a response came"),
        ([], "eof", "mcpmock: the connection ended before a response came"),
    ],
)
def test_what_came_instead_of_an_answer(reply: list[Frame], how: str, why: str) -> None:
    """The error of the request names it: status, Location, content type, how the connection
    ended.
    """
    answering = ReplyFlattener(ASKED)
    end = fact(ExchangeEnd(how))
    errors = [*hear(answering, *reply, end), *(one.raw for one in answering.unanswered(how))]
    [text] = [json.loads(raw)["error"]["message"] for raw in errors]
    assert text.startswith(why + FOLLOWED if " to " in why or "without a Loc" in why else why)
    assert answering.unanswered(how) == []
