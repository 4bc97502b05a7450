"""Bodies: what becomes of which, pieces, excerpts, bodies that are cut short, and back to bytes."""

from __future__ import annotations

import random

import pytest

from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Direction,
    ExchangeEnd,
    Fact,
    Fragment,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    Response,
    SseMeta,
)
from mcpmock.transports.body import PIECE_BYTES, BodyReader, BodyWriter
from mcpmock.transports.sse import KEPT_BYTES, SseDecoder
from tests.support import response

POST = HttpRequest("POST", "/mcp", [("Content-Type", "application/json")])
GET = HttpRequest("GET", "/mcp", [])
KEPT_BODY, UNKEPT = HttpBody(), HttpBody(unkept=True)


def to_server(head: HttpRequest = POST, *, mcp: bool = True) -> BodyReader:
    return BodyReader.of_request(5, head, mcp=mcp)


def to_client(media_type: str | None, *, mcp: bool = True) -> BodyReader:
    headers = [] if media_type is None else [("content-type", media_type)]
    return BodyReader.of_response(5, HttpResponse(200, "OK", headers), mcp=mcp)


def told(frames: list[Frame], direction: Direction = S2C) -> list[tuple[bytes, Fact | None]]:
    assert all((frame.direction, frame.exchange) == (direction, 5) for frame in frames)
    return [(frame.raw, frame.fact) for frame in frames]


def read(reader: BodyReader, *chunks: bytes) -> list[Frame]:
    return [frame for chunk in chunks for frame in reader.feed(chunk)] + reader.end()


@pytest.mark.parametrize("chunks", [(), (b"",), (b"{}",), (b'{"a"', b":", b"", b"1}\n")])
def test_a_request_is_one_message(chunks: tuple[bytes, ...]) -> None:
    """The body of a request is one message frame when it is whole, also if it has no bytes."""
    reader = to_server()

    assert [[]] * len(chunks) == [reader.feed(chunk) for chunk in chunks]
    assert [(b"".join(chunks), None)] == told(reader.end(), C2S)


@pytest.mark.parametrize("mcp", [True, False])
def test_a_request_without_a_body(mcp: bool) -> None:
    """A head that has no body is followed by none."""
    assert [] == to_server(GET, mcp=mcp).end()


@pytest.mark.parametrize("chunks", [(), (b"a=1",), (b"a" * (PIECE_BYTES - 1), b"b")])
def test_a_request_of_another_kind_is_one_body(chunks: tuple[bytes, ...]) -> None:
    """The body of an exchange that is none of MCP's is one frame that is never recorded."""
    reader = to_server(mcp=False)

    assert [(b"".join(chunks), UNKEPT)] == told(read(reader, *chunks), C2S)


@pytest.mark.parametrize("media_type", ["application/json", "Application/JSON; charset=utf-8",
                                        "application/problem+json"])  # fmt: skip
def test_json_is_one_message(media_type: str) -> None:
    """A JSON body is one message frame with the framing of HTTP: none."""
    frames = read(to_client(media_type), response(1)[:5], response(1)[5:])

    assert [(response(1), None)] == told(frames)
    assert (b"\n", None) == (frames[0].eol, frames[0].wire)
    assert isinstance(frames[0].content, Response)


@pytest.mark.parametrize("media_type", ["application/json", "text/event-stream", "text/html", None])
@pytest.mark.parametrize("mcp", [True, False])
def test_an_empty_response_has_no_body(media_type: str | None, mcp: bool) -> None:
    """A response without a single byte has no frame for its body."""
    assert [] == read(to_client(media_type, mcp=mcp))
    assert [] == read(to_client(media_type, mcp=mcp), b"")
    assert [] == to_client(media_type, mcp=mcp).cut()


@pytest.mark.parametrize(
    "sizes",
    [
        [PIECE_BYTES + 1],
        [1, PIECE_BYTES],
        [PIECE_BYTES, 1],
        [3 * PIECE_BYTES + 5],
        [1000] * 1100,
        [PIECE_BYTES] * 3,
    ],
)
def test_a_long_message_goes_on_in_pieces(sizes: list[int]) -> None:
    """A message beyond a piece is passed on as it comes, in small pieces; an empty last one ends
    it.
    """
    piece, last_piece = HttpBody(unkept=True, more=True), UNKEPT
    for reader, fact, end in (
        (to_server(), Fragment(), Fragment(last=True)),
        (to_server(mcp=False), piece, last_piece),
        (to_client("application/json"), Fragment(), Fragment(last=True)),
    ):
        chunks = [bytes([65 + at % 26]) * size for at, size in enumerate(sizes)]
        pieces = [frame for chunk in chunks for frame in reader.feed(chunk)]
        last = reader.end()

        assert b"".join(chunks) == b"".join(frame.raw for frame in pieces)
        assert {(b"", fact)} == {(frame.eol, frame.fact) for frame in pieces}
        assert max(len(frame.raw) for frame in pieces) <= PIECE_BYTES
        assert [(b"", b"\n", end)] == [(f.raw, f.eol, f.fact) for f in last]


def test_a_message_of_exactly_one_piece_is_whole() -> None:
    """Pieces begin one byte beyond the bound."""
    assert [(b"x" * PIECE_BYTES, None)] == told(read(to_server(), b"x" * PIECE_BYTES), C2S)


def test_events() -> None:
    """An event stream gives its events as they are complete, and its unfinished tail as bytes."""
    reader = to_client("text/event-stream; charset=utf-8")

    assert [(b"", SseMeta(id="1")), (b"{}", None)] == told(reader.feed(b"id: 1\ndata: {}\n\nda"))
    assert [] == reader.feed(b"ta: x\n")
    assert [(b"data: x\n", KEPT_BODY)] == told(reader.end())


@pytest.mark.parametrize("media_type", ["text/html", "application/jsonx", None])
def test_other_bodies_pass_as_they_come(media_type: str | None) -> None:
    """Any other body is bytes, of which the first are recorded."""
    reader = to_client(media_type)

    assert [(b"<html>", KEPT_BODY)] == told(reader.feed(b"<html>"))
    assert [(b"x" * (KEPT_BYTES - 6), KEPT_BODY), (b"xxxxxx", UNKEPT)] == told(
        reader.feed(b"x" * KEPT_BYTES)
    )
    assert [(b"</html>", UNKEPT)] == told(reader.feed(b"</html>"))
    assert [] == reader.end()


@pytest.mark.parametrize("media_type", ["application/json", "text/event-stream", "text/html"])
def test_bodies_of_other_exchanges_are_never_recorded(media_type: str) -> None:
    """What is none of MCP's passes as it comes, whatever its type."""
    reader = to_client(media_type, mcp=False)

    assert [(b"data: ", UNKEPT)] == told(reader.feed(b"data: "))
    assert [] == reader.end()


@pytest.mark.parametrize(
    ("reader", "direction", "fact"),
    [
        (to_server(), C2S, KEPT_BODY),
        (to_server(mcp=False), C2S, UNKEPT),
        (to_client("application/json"), S2C, KEPT_BODY),
        (to_client("text/event-stream"), S2C, KEPT_BODY),
    ],
)
def test_a_body_that_is_cut_short(reader: BodyReader, direction: Direction, fact: Fact) -> None:
    """What was held of a body when its connection died passes as bytes, once."""
    reader.feed(b"data: half")

    assert [(b"data: half", fact)] == told(reader.cut(), direction)
    assert [] == reader.cut()


def test_what_has_passed_is_not_held() -> None:
    """Of pieces and other bodies nothing is left when the connection dies."""
    for reader, data in (
        (to_server(), b"x" * (PIECE_BYTES + 1)),
        (to_server(mcp=False), b"x" * (PIECE_BYTES + 1)),
        (to_client("text/html"), b"x"),
        (to_client("application/json", mcp=False), b"x"),
    ):
        assert reader.feed(data)
        assert [] == reader.cut()


def test_of_a_long_body_cut_short_the_beginning_is_recorded() -> None:
    """Half a message is no reason to record a megabyte of it."""
    reader = to_client("application/json")
    reader.feed(b"x" * (KEPT_BYTES + 1))

    assert [(KEPT_BYTES, KEPT_BODY), (1, UNKEPT)] == [(len(f.raw), f.fact) for f in reader.cut()]


@pytest.mark.parametrize(
    ("media_type", "mcp"),
    [("application/json", True), ("text/event-stream", True), ("text/html", True),
     ("application/json", False), (None, True)],
)  # fmt: skip
def test_bytearrays_become_bytes(media_type: str | None, mcp: bool) -> None:
    """h11 hands out bytearrays; no frame has one."""
    reader = to_client(media_type, mcp=mcp)
    frames = [*reader.feed(bytearray(b"data: x\n\n")), *reader.end()]  # type: ignore[arg-type]
    request = to_server(mcp=mcp)
    request.feed(bytearray(b"{}"))  # type: ignore[arg-type]

    assert {bytes} == {type(frame.raw) for frame in [*frames, *request.end()]}
    assert {bytes, type(None)} >= {type(frame.wire) for frame in frames}


def meta(fact: SseMeta, wire: bytes | None = None) -> Frame:
    return Frame(S2C, fact=fact, exchange=5, wire=wire)


def message(raw: bytes, eol: bytes = b"\n", wire: bytes | None = None) -> Frame:
    return Frame(S2C, raw, eol, None, 5, wire)


END = Frame(S2C, fact=ExchangeEnd())


def test_bytes_of_other_bodies() -> None:
    """Messages, pieces and bytes are written as they are; heads and ends have no bytes."""
    frames = [
        Frame(S2C, fact=HttpResponse(200, "OK", [])),
        message(b"{}"),
        Frame(S2C, b"ab", b"", Fragment()),
        Frame(S2C, b"", fact=Fragment(last=True)),
        Frame(S2C, b"cd", fact=UNKEPT),
        END,
    ]
    assert b"{}abcd" == BodyWriter("application/json").write(frames)


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([], b""),
        ([message(b"{}")], b"data: {}\n\n"),
        ([message(b"{}", b"\r\n")], b"data: {}\r\n\r\n"),
        ([message(b"{}", b"")], b"data: {}\n\n"),
        ([message(b"{}", wire=b"data:{}\r\r")], b"data:{}\r\r"),
        ([meta(SseMeta(id="1")), message(b"", b"\r\n")], b"id: 1\r\ndata: \r\n\r\n"),
        ([meta(SseMeta(id="1")), message(b"{}", wire=b"data:{}\nid:1\n\n")], b"data:{}\nid:1\n\n"),
        ([meta(SseMeta(comment="a"), b":a\n\n")], b":a\n\n"),
        ([meta(SseMeta(comment="a"), b":a\n\n"), message(b"{}")], b":a\n\ndata: {}\n\n"),
        ([meta(SseMeta(comment="a")), END], b": a\n\n"),
        ([meta(SseMeta(comment="a")), meta(SseMeta()), message(b"{}")], b": a\n\ndata: {}\n\n"),
        ([meta(SseMeta(id="1")), meta(SseMeta(id="2"), b"id:2\n\n")], b"id: 1\n\nid:2\n\n"),
        ([message(b"", b"\r\n"), meta(SseMeta(comment="a")), END], b"data: \r\n\r\n: a\r\n\r\n"),
        ([meta(SseMeta(id="1")), Frame(S2C, b"data", fact=KEPT_BODY)], b"id: 1\n\ndata"),
        ([message(b'{\n"a": 1\n}')], b'data: {\ndata: "a": 1\ndata: }\n\n'),
    ],
)
def test_bytes_of_events(frames: list[Frame], expected: bytes) -> None:
    """Exact bytes are written where they are known, everything else is encoded."""
    assert expected == BodyWriter("text/event-stream").write(frames)
    one_by_one = BodyWriter("text/event-stream")
    assert expected == b"".join([one_by_one.write([frame]) for frame in frames])


def test_a_meta_waits_for_its_message() -> None:
    """Whether an SseMeta stands alone is known with the next frame only."""
    writer = BodyWriter("text/event-stream")

    assert b"" == writer.write([meta(SseMeta(event="endpoint"))])
    assert b"event: endpoint\ndata: /m\n\n" == writer.write([message(b"/m")])


def test_a_long_line_is_one_event() -> None:
    """A message that comes in pieces is written as it comes, as the data of one event."""
    writer = BodyWriter("text/event-stream")

    assert b"id: 1\ndata: ab" == writer.write(
        [meta(SseMeta(id="1")), Frame(S2C, b"ab", b"", Fragment())]
    )
    assert b"cd\ndata: ef" == writer.write([Frame(S2C, b"cd\ref", b"", Fragment())])
    assert b"\n\n" == writer.write([Frame(S2C, b"", fact=Fragment(last=True))])
    assert b"data: x\n\n" == writer.write([Frame(S2C, b"x", fact=Fragment(last=True))])


@pytest.mark.parametrize("seed", range(20))
def test_what_is_written_is_what_was_read(seed: int) -> None:
    """Any event stream is forwarded as the same bytes; forgetting them, as the same events."""
    dice = random.Random(seed)
    parts = [b"\n", b"\r\n", b"\n\n", b"data: x", b"data:", b": c", b"id: 1", b"event: e"]
    for _ in range(50):
        text = b"".join(dice.choices(parts, k=dice.randrange(20)))
        frames = read(to_client("text/event-stream"), text)
        assert text == BodyWriter("text/event-stream").write(frames)

        frames = [frame for frame in frames if type(frame.fact) is not HttpBody]
        bare = [Frame(S2C, frame.raw, frame.eol, frame.fact, 5) for frame in frames]
        encoded = BodyWriter("text/event-stream").write([*bare, END])
        assert told(frames) == told(SseDecoder(S2C, 5).feed(encoded))
