"""HTTP/1.1 as bytes, by plain calls."""

from __future__ import annotations

import pytest

from mcpmock.channels.http import http1
from mcpmock.channels.http.http1 import (
    RequestBody,
    RequestHead,
    RequestWriter,
    ResponseReader,
    ResponseWriter,
    head_bytes,
    read_head,
)
from mcpmock.protocol.messages import ExchangeEnd, HttpBody, HttpRequest, HttpResponse, SseMeta
from tests.channels.http.http_talking import EVENTS, JSON, answer, chunked, of, ok, post

MANY = 3_000


def test_a_head_keeps_its_spelling() -> None:
    """Case, order, repetitions and bytes that are no ASCII go out as they are; Host stays where it
    was.
    """
    fields = [("x-B", "1"), ("HOST", "h"), ("X-a", "é"), ("x-B", "2"), ("Empty", "")]

    assert (
        b"GET / HTTP/1.1\r\nx-B: 1\r\nHOST: h\r\nX-a: \xe9\r\nx-B: 2\r\nEmpty: \r\n\r\n"
        == head_bytes("GET / HTTP/1.1", fields)
    )


@pytest.mark.parametrize(
    ("start", "field"),
    [
        ("HTTP/1.1 200 OK\r\nX: 1", ("A", "b")),
        ("HTTP/1.1 200 OK", ("A", "b\r\nX: 1")),
        ("HTTP/1.1 200 OK", ("A", "b\nX: 1")),
        ("HTTP/1.1 200 OK", ("A", "b\rX: 1")),
        ("HTTP/1.1 200 OK", ("A", "b\0")),
        ("HTTP/1.1 200 OK", ("A b", "c")),
        ("HTTP/1.1 200 OK", ("A: b", "c")),
        ("HTTP/1.1 200 OK", ("", "c")),
        ("HTTP/1.1 200 OK", ("A", "\u20ac")),
    ],
)
def test_no_head_becomes_two(start: str, field: tuple[str, str]) -> None:
    """What would be read as another head is not written."""
    with pytest.raises(ValueError):
        head_bytes(start, [field])


@pytest.mark.parametrize(("size", "kept"), [(10, True), (5000, False)])
def test_which_heads_are_kept(size: int, kept: bool) -> None:
    """Those of usual length, so that what is kept stays small."""
    field = b"A: %b\r\nContent-Length: 0\r\n\r\n" % (b"x" * size)
    asked, answered = b"GET / HTTP/1.1\r\nHost: a\r\n" + field, b"HTTP/1.1 200 OK\r\n" + field

    assert kept is (read_head(asked) is read_head(asked))
    [one], [other] = (list(ResponseReader("GET").feed(answered)) for _ in range(2))
    assert one == other
    assert kept is (one is other)


def test_reading_a_request() -> None:
    """A request's head says what it says, spelling kept, white space around values gone."""
    head = b"POST /a?b=c HTTP/1.0\r\nhOst: \t x:1 \r\nA:\r\nB: \xe9,\t1\r\n\r\n"

    read = RequestHead(head)

    assert read.request == HttpRequest(
        "POST", "/a?b=c", [("hOst", "x:1"), ("A", ""), ("B", "é,\t1")]
    )
    assert (False, True, False, 0) == (read.http_1_1, read.closing, read.chunked, read.length)


@pytest.mark.parametrize(
    ("fields", "closing"),
    [
        (b"", False),
        (b"Connection: keep-alive\r\n", False),
        (b"Connection: closed\r\n", False),
        (b"Connection: Close\r\n", True),
        (b"connection: a, close ,b\r\n", True),
        (b"Connection: close\r\nConnection: a\r\n", True),
    ],
)
def test_whether_another_request_comes(fields: bytes, closing: bool) -> None:
    """A client says that none comes in any of its Connection fields."""
    assert closing == RequestHead(b"GET / HTTP/1.1\r\n%b\r\n" % fields).closing


@pytest.mark.parametrize(("version", "waits"), [(b"1.1", True), (b"1.0", False)])
def test_waiting_for_a_word(version: bytes, waits: bool) -> None:
    """An old client does not know what it says (RFC 9110, 10.1.1)."""
    head = b"POST / HTTP/%b\r\nExpect: 100-Continue\r\n\r\n" % version

    assert waits == RequestHead(head).waits


BODIES = {
    "counted": post(b"{}" * 10),
    "empty": post(b""),
    "chunks": chunked(b"{}" * 4, b"{}" * 6),
    "empty chunks": chunked(),
    "none": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "trailers": chunked(b"{}" * 10).removesuffix(b"\r\n") + b"X: 1\r\n\r\n",
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_end_where_they_end(name: str) -> None:
    """However its bytes are split, a body is what it is, and what comes behind is the next's."""
    whole = BODIES[name] + b"NEXT"
    expected = b"{}" * 10 if b"{}" in whole else b""
    at = whole.index(b"\r\n\r\n") + 4
    for split in range(at, len(whole) + 1):
        body = RequestBody(RequestHead(whole[:at]), bytearray(whole[at:split]))
        found = body.take()
        if not body.done:
            body.behind += whole[split:]
            found += body.take()
        else:
            body.behind += whole[split:]

        assert (expected, True, b"NEXT") == (found, body.done, bytes(body.behind))


@pytest.mark.parametrize(
    "bad", [b"x\r\n", b"-1\r\n{}\r\n", b"2\r\n{}xx\r\n0\r\n\r\n", b"2;a\nb\r\n{}\r\n"]
)
def test_bad_chunks(bad: bytes) -> None:
    """What is no chunk is an error."""
    head = chunked().removesuffix(b"0\r\n\r\n")
    body = RequestBody(RequestHead(head), bytearray(bad))

    with pytest.raises(ValueError):
        body.take()


def post_of(*fields: tuple[str, str], method: str = "POST") -> RequestWriter:
    return RequestWriter(HttpRequest(method, "/mcp", [("Host", "h"), *fields]))


def test_a_whole_request_is_counted() -> None:
    """A body that is whole gets the right Content-Length, where the wrong one was or at the end."""
    begin = b"POST /mcp HTTP/1.1\r\nHost: h\r\n"

    assert begin + b"Content-Length: 2\r\n\r\n{}" == post_of().write(b"{}", last=True)
    assert begin + b"content-length: 2\r\nA: b\r\n\r\n{}" == post_of(
        ("content-length", "7"), ("A", "b")
    ).write(b"{}", last=True)
    assert begin + b"Content-Length: 0\r\n\r\n" == post_of().write(b"", last=True)
    get = b"GET /mcp HTTP/1.1\r\nHost: h\r\n"
    assert get + b"\r\n" == post_of(method="GET").write(b"", last=True)
    assert get + b"Content-Length: 2\r\n\r\n{}" == post_of(method="GET").write(b"{}", last=True)


def test_a_request_in_pieces() -> None:
    """A body that comes in pieces keeps the length that its head gives, else it is chunked."""
    counted, chunks = post_of(("Content-Length", "3")), post_of()

    assert [b"POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nab", b"c"] == [
        counted.write(b"ab", last=False),
        counted.write(b"c", last=True),
    ]
    assert [
        b"POST /mcp HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
        b"1\r\nc\r\n0\r\n\r\n",
    ] == [chunks.write(b"ab", last=False), chunks.write(b"c", last=True)]


@pytest.mark.parametrize("pieces", [(b"ab", b"cd"), (b"a", b"b"), (b"abcd", b"")])
def test_a_request_is_never_longer_or_shorter_than_it_says(pieces: tuple[bytes, bytes]) -> None:
    """Else its end would be the beginning of another."""
    writer = post_of(("Content-Length", "3"))

    with pytest.raises(ValueError):
        writer.write(pieces[0], last=False) + writer.write(pieces[1], last=True)


@pytest.mark.parametrize(
    ("method", "target"),
    [("GET", "/a b"), ("GET", "/\r\nX"), ("GET /", "/"), ("", "/"), ("GET", "")],
)
def test_no_request_line_becomes_two(method: str, target: str) -> None:
    """What would be read as another request is not written."""
    with pytest.raises(ValueError):
        RequestWriter(HttpRequest(method, target, [])).write(b"", last=True)


def test_a_whole_answer_is_counted() -> None:
    """An answer that is whole when it is written says how long it is."""
    writer = ResponseWriter("POST")

    assert (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        == writer.write(ok(1, b"{}"))
    )
    assert ("eof", False) == (writer.ended, writer.closing)


def test_an_answer_that_is_not_whole_is_chunked() -> None:
    """Every batch is a chunk, an empty one none, and the end ends it."""
    writer = ResponseWriter("POST")
    written = [
        writer.write(of(1, HttpResponse(200, "OK", EVENTS))),
        writer.write(of(1, SseMeta(id="1"), b"{}")),
        writer.write(of(1, HttpBody())),
        writer.write(of(1, ExchangeEnd())),
    ]

    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    event = b"id: 1\ndata: {}\n\n"
    assert [head, b"%x\r\n%b\r\n" % (len(event), event), b"", b"0\r\n\r\n"] == written
    assert not writer.closing


def test_a_meta_that_waits_is_written_with_the_end() -> None:
    """An event without data is not lost when the stream ends behind it."""
    writer = ResponseWriter("GET")
    writer.write(of(1, HttpResponse(200, "OK", EVENTS), SseMeta(id="7")))

    assert b"7\r\nid: 7\n\n\r\n0\r\n\r\n" == writer.write(of(1, ExchangeEnd()))


def test_an_old_client_gets_no_chunks() -> None:
    """What is not whole ends with the connection for an HTTP/1.0 client."""
    writer = ResponseWriter("GET", closing=True)
    writer.http_1_1 = False

    assert (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        == writer.write(of(1, HttpResponse(200, "OK", EVENTS)))
    )
    assert b"data: {}\n\n" == writer.write(of(1, b"{}", ExchangeEnd()))


def test_an_upstreams_length_stays() -> None:
    """A Content-Length is kept; where the body is not so long, the connection is closed behind."""
    head = HttpResponse(200, "OK", [*JSON, ("content-length", "2")])
    right, wrong, late = ResponseWriter("GET"), ResponseWriter("GET"), ResponseWriter("GET")

    assert right.write(of(1, head, b"{}", ExchangeEnd())).endswith(
        b"\r\ncontent-length: 2\r\n\r\n{}"
    )
    assert not right.closing
    assert wrong.write(of(1, head, b"{ }", ExchangeEnd())).endswith(b"Connection: close\r\n\r\n{ }")
    assert wrong.closing
    late.write(of(1, head))
    late.write(of(1, b"{", ExchangeEnd()))
    assert late.closing


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
def test_answers_without_a_body(method: str, status: int) -> None:
    """They have none, whatever is handed over, and no length is made up for them."""
    writer = ResponseWriter(method)
    written = writer.write(of(1, HttpResponse(status, "", JSON), b"{}", ExchangeEnd()))

    assert b"HTTP/1.1 %d \r\nContent-Type: application/json\r\n\r\n" % status == written
    assert not writer.closing


def test_hop_by_hop_fields_are_ours() -> None:
    """What the upstream said of its own connection does not come through."""
    fields = [("Connection", "close, X-Own"), ("X-Own", "1"), ("Keep-Alive", "timeout=5")]
    written = ResponseWriter("GET").write(
        of(1, HttpResponse(200, "OK", [*fields, ("Transfer-Encoding", "chunked")]), ExchangeEnd())
    )

    assert b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" == written


@pytest.mark.parametrize("how", ["closed", "reset"])
def test_an_answer_that_is_cut_off_has_no_end(how: str) -> None:
    """No last chunk, no more than was there."""
    writer = ResponseWriter("GET")
    written = writer.write(of(1, HttpResponse(200, "OK", JSON), HttpBody(), ExchangeEnd(how)))

    assert written.endswith(b"Transfer-Encoding: chunked\r\n\r\n")
    assert how == writer.ended


def test_nothing_comes_without_a_head_or_behind_the_end() -> None:
    """Frames out of order have no bytes."""
    writer = ResponseWriter("GET")

    assert b"" == writer.write(of(1, b"{}"))
    assert not writer.begun
    assert writer.write([*ok(1, b"{}"), *ok(1, b"more")]).endswith(b"{}")


@pytest.mark.parametrize("status", [99, 100, 1000])
def test_no_status_of_an_answer(status: int) -> None:
    """A status that would not end the exchange is not written."""
    with pytest.raises(ValueError):
        ResponseWriter("GET").write(of(1, HttpResponse(status, "", []), ExchangeEnd()))


LINES = b"HTTP/1.1 200 OK\r\nA: b\r\nA:  c \r\n"
RESPONSES = {
    "counted": answer(b"{}" * 10),
    "empty": answer(b""),
    "no reason": answer(b"{}", b"200"),
    "an empty reason": answer(b"{}", b"200 "),
    "a long reason": answer(b"{}", b"599 \xe9 \t\xff?"),
    "chunks": LINES + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n1\r\n \r\n0\r\n\r\n",
    "trailers": LINES + b"transfer-encoding: Chunked\r\n\r\n2\r\n{}\r\n0\r\nX: 1\r\n\r\n",
    "closing": LINES + b"Connection: x, Close\r\nContent-Length: 2\r\n\r\n{}",
    "keeping": LINES + b"Connection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
    "more behind": answer(b"{}") + b"x",
    "more behind chunks": LINES + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nx",
    "no content": b"HTTP/1.1 204 No Content\r\nA:\r\n\r\n",
    "no length": LINES + b"\r\n{}",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "folded": LINES + b" d\r\nContent-Length: 2\r\n\r\n{}",
    "bare LF": b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
    "both framings": LINES + b"Content-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "one length twice": LINES + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a list of lengths": LINES + b"Content-Length: 2, 2\r\n\r\n{}",
    "early hints": b"HTTP/1.1 103 Early\r\nA: b\r\n\r\n" + answer(b"{}"),
    "a control character": LINES + b"B: \x01\r\nContent-Length: 2\r\n\r\n{}",
    "two lengths": LINES + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "another coding": LINES + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
    "a signed length": LINES + b"Content-Length: +2\r\n\r\n{}",
    "NUL": LINES + b"B: \0\r\nContent-Length: 2\r\n\r\n{}",
    "no HTTP": b"SSH-2.0-OpenSSH\r\n\r\n",
    "cut off": answer(b"{}")[:-1],
    "cut off in a chunk": LINES + b"Transfer-Encoding: chunked\r\n\r\n3\r\n{}",
    "no chunk": LINES + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}xx",
    "cut off in the head": LINES,
    "nothing": b"",
}


def heard(*reads: bytes) -> tuple[HttpResponse | None, bytes, bool, bool]:
    """Head and body, whether that was all, and whether another may follow."""
    reader = ResponseReader("GET")
    head, body = None, b""
    try:
        for read in (*filter(None, reads), b""):
            for part in reader.feed(read):
                if isinstance(part, HttpResponse):
                    head = part
                else:
                    body += part
            if reader.done:
                break
    except ValueError:
        return head, body, False, False
    return head, body, reader.done, reader.again


@pytest.mark.parametrize("name", RESPONSES)
def test_answers_read_as_h11_reads_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However its bytes come, an answer is what h11 says that it is."""
    data = RESPONSES[name]
    with monkeypatch.context() as patched:
        patched.setattr(http1, "_read_plain", lambda _: None)
        expected = heard(data)
    # Bytes that come by themselves behind the end are found when the connection is used again.
    ends = [(), (True,)][name.startswith("more behind")]

    for split in range(len(data) + 1):
        got = heard(data[:split], data[split:])
        assert expected[:3] == got[:3]
        assert got[3] in (expected[3], *ends)


def test_plain_answers_need_no_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual ones are read without h11's reading of heads."""
    monkeypatch.setattr(http1, "_asked", None)

    for name in ("counted", "empty", "chunks", "closing", "no content"):
        assert heard(RESPONSES[name])[2], name


@pytest.mark.parametrize("data", [answer(b"{}")[:-2], RESPONSES["no length"][:-2]])
def test_the_answer_to_head_has_no_body(data: bytes) -> None:
    """Whatever its head says."""
    reader = ResponseReader("HEAD")

    assert 1 == len(list(reader.feed(data)))
    assert (True, True) == (reader.done, reader.again)


def test_what_a_fault_wants_in_no_chunk() -> None:
    """It stands as it is behind the chunks, and the connection is closed."""
    writer = ResponseWriter("POST")
    broken = of(3, HttpBody(unframed=True))
    broken[0].raw = b"zz\r\n"
    begun = [*of(3, HttpResponse(200, "OK", JSON)), *of(3, b"{")]
    written = writer.write([*begun, *broken, *of(3, ExchangeEnd("closed"))])

    assert written.endswith(b"\r\n\r\n1\r\n{\r\nzz\r\n")
    assert "closed" == writer.ended
