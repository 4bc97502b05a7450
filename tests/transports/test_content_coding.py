"""Content codings: decoded piece by piece, however they are cut, and encoded again."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable

import pytest

from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, HttpBody, HttpRequest, HttpResponse
from mcpmock.transports import body
from mcpmock.transports.body import BodyReader, BodyWriter
from mcpmock.transports.content_coding import (
    ContentDecoder,
    ContentEncoder,
    can_decode,
    codings_of,
)
from tests.support import response


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


ENCODE: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "GZip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
    "gzip, deflate": lambda data: zlib.compress(gzip.compress(data)),
    "deflate,gzip": lambda data: gzip.compress(raw_deflate(data)),
    "gzip, identity, gzip": lambda data: gzip.compress(gzip.compress(data)),
}
"""How a server writes a body, by its Content-Encoding; `Deflate` without zlib's wrapping."""


@pytest.mark.parametrize("name", ENCODE)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_codings_are_taken_off(name: str, size: int) -> None:
    """Any of them, in any split."""
    text = random.Random(1).randbytes(3000) * 2
    data = ENCODE[name](text)
    codings = listed_codings([("Content-Encoding", name)])
    decoder = ContentDecoder(codings)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]

    assert can_decode(codings)
    assert text == b"".join(out for piece in pieces for out in decoder.feed(piece))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (gzip.compress(b"a", mtime=0) + gzip.compress(b"b", mtime=0), b"ab"),
        (gzip.compress(b"a", mtime=0) + b"\0" * 20, b"a"),
        (gzip.compress(b"a", mtime=0)[:-8], b"a"),
        (b"", b""),
    ],
    ids=["another member", "padding", "no end", "nothing"],
)
def test_what_stands_behind_a_member(data: bytes, text: bytes) -> None:
    """gzip may go on with another member; padding is none, and a missing end is no error."""
    assert text == b"".join(ContentDecoder(("gzip",)).feed(data))


@pytest.mark.parametrize(
    ("fields", "codings"),
    [
        ([], ()),
        ([("Content-Encoding", "identity")], ()),
        ([("content-encoding", "")], ()),
        ([("Content-Encoding", "gzip"), ("Content-Encoding", "br")], ("gzip", "br")),
        ([("Content-Encoding", " GZIP ,, deflate")], ("gzip", "deflate")),
    ],
)
def test_the_codings_of_a_head(fields: list[tuple[str, str]], codings: tuple[str, ...]) -> None:
    """They are listed in the order in which they were applied, in one field or in several."""
    assert codings == listed_codings(fields)


@pytest.mark.parametrize("codings", [("br",), ("zstd",), ("gzip", "br"), ("gzip",) * 5])
def test_codings_that_cannot_be_decoded(codings: tuple[str, ...]) -> None:
    """Others, and more than anybody applies."""
    assert not can_decode(codings)


@pytest.mark.parametrize("codings", [("gzip",), ("deflate",), ("gzip", "deflate")])
def test_what_is_encoded_can_be_read_at_once(codings: tuple[str, ...]) -> None:
    """Each part can be decoded before the next one is there."""
    encoder, decoder = ContentEncoder(codings), ContentDecoder(codings)
    for part, last in ((b"one", False), (b"two", False), (b"", True)):
        assert part == b"".join(decoder.feed(encoder.encode(part, last=last)))


def of_response(media: str, coding: str) -> BodyReader:
    head = HttpResponse(200, "", [("content-type", media), ("content-encoding", coding)])
    return BodyReader.of_response(5, head, mcp=True)


def listed_codings(fields: list[tuple[str, str]]) -> tuple[str, ...]:
    return codings_of(HttpResponse(200, "OK", fields))


def carried(media: str, frames: list[Frame]) -> bytes:
    return BodyWriter(media).write(frames)


@pytest.mark.parametrize("name", ENCODE)
@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_a_body_is_decoded_and_leaves_as_it_came(name: str, size: int) -> None:
    """A message, events and an error page are frames of what was said, with the bytes that came."""
    events = b": hello\n\n" + b"".join(b"id: %d\ndata: %b\n\n" % (n, response(n)) for n in range(3))
    bodies = {
        "application/json": (response(1), [response(1)]),
        "text/event-stream": (events, [b"", b"", response(0), b"", response(1), b"", response(2)]),
    }
    for media, (text, raws) in bodies.items():
        data, reader = ENCODE[name](text), of_response(media, name)
        frames = []
        for at in range(0, len(data), size):
            frames += reader.feed(data[at : at + size])
        frames += reader.end()
        kept = [frame for frame in frames if frame.fact != HttpBody(unkept=True)]

        assert raws == [frame.raw for frame in kept]
        assert {", ".join(listed_codings([("content-encoding", name)]))} == {
            f.decoded for f in kept
        }
        assert data == carried(media, frames)


def test_an_event_is_there_as_soon_as_it_is_flushed() -> None:
    """A server that flushes behind each event is read event by event."""
    packer, reader = zlib.compressobj(wbits=31), of_response("text/event-stream", "gzip")
    for n in range(3):
        data = packer.compress(b"data: %b\n\n" % response(n)) + packer.flush(zlib.Z_SYNC_FLUSH)
        [frame] = reader.feed(data)
        assert (response(n), data) == (frame.raw, frame.wire)
    [rest] = [*reader.feed(packer.flush()), *reader.end()]
    assert HttpBody(unkept=True) == rest.fact


def test_a_request_is_one_message() -> None:
    """The body of a request is decoded too, and one frame."""
    head = HttpRequest("POST", "/mcp", [("Content-Encoding", "gzip")])
    reader, data = BodyReader.of_request(5, head, mcp=True), gzip.compress(response(1))
    [frame] = [*reader.feed(data[:9]), *reader.feed(data[9:]), *reader.end()]

    assert (C2S, response(1), data) == (frame.direction, frame.raw, frame.carried)


UNDECODED = {
    "br": b"\x0b\x02\x80" + b"x" * 40,
    "zstd": b"\x28\xb5\x2f\xfd" + b"x" * 40,
    "gzip": b"\x1f\x8b" + b"x" * 40,
    "deflate": b"\x78\x9c" + b"x" * 40,
    "gzip, br": b"\x1f\x8b" + b"x" * 40,
}


@pytest.mark.parametrize("coding", UNDECODED)
@pytest.mark.parametrize("media", ["application/json", "text/event-stream", "text/html"])
def test_what_cannot_be_decoded_passes(media: str, coding: str) -> None:
    """Its bytes go on, one frame says so, and no recording keeps them."""
    data, reader = UNDECODED[coding], of_response(media, coding)
    frames = [*reader.feed(data[:20]), *reader.feed(data[20:]), *reader.end()]
    [first, *rest] = [frame.fact for frame in frames]

    assert HttpBody(undecoded=coding) == first
    assert [HttpBody(unkept=True)] * len(rest) == rest
    assert data == carried(media, frames)


CUT = b'{"jsonrpc":"2.0","id":1,"result":{"text":"' + bytes(range(32, 127)) * 9


@pytest.mark.parametrize("media", ["application/json", "text/html"])
@pytest.mark.parametrize("kept", [5, 30, -60, -8, -1])
@pytest.mark.parametrize("coding", ["gzip", "deflate", "gzip, gzip"])
def test_a_body_that_is_cut_short(coding: str, kept: int, media: str) -> None:
    """What can be read of it is recorded, and a frame says that it is not all."""
    encoder = ContentEncoder(coding.split(", "))
    data = encoder.encode(CUT, last=True)[:kept]
    reader = of_response(media, coding)
    frames = [*reader.feed(data[:3]), *reader.feed(data[3:]), *reader.end()]

    assert HttpBody(undecoded=f"{coding}, which is cut short") == frames[-1].fact
    assert data == carried(media, frames)
    assert CUT.startswith(b"".join(frame.raw for frame in frames[:-1] if frame.wire is not None))


@pytest.mark.parametrize(("rest", "is_said"), [(b"", False), (b"data: {", True)])
def test_an_event_stream_without_the_end_of_its_coding(rest: bytes, is_said: bool) -> None:
    """Events are read as they come, so only one that is cut short is said."""
    data = ContentEncoder(["gzip"]).encode(b"data: {}\n\n" + rest)
    reader = of_response("text/event-stream", "gzip")
    facts = [frame.fact for frame in (*reader.feed(data), *reader.end())]
    cut = HttpBody(undecoded="gzip, which is cut short")
    assert is_said is (cut in facts)


@pytest.mark.parametrize("coding", UNDECODED)
def test_a_request_that_cannot_be_decoded_has_an_end(coding: str) -> None:
    """All pieces but the last say that more follows."""
    head = HttpRequest("POST", "/mcp", [("Content-Encoding", coding)])
    data, reader = UNDECODED[coding], BodyReader.of_request(5, head, mcp=True)
    frames = [*reader.feed(data), *reader.end()]

    assert [HttpBody(undecoded=coding, more=True), HttpBody(unkept=True)] == [
        frame.fact for frame in frames
    ]
    assert data == b"".join(frame.carried for frame in frames)


@pytest.mark.parametrize("media", ["application/json", "text/event-stream", "text/html"])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_few_bytes_that_stand_for_many(
    media: str, layers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decoding stops at the bound, and all bytes go on."""
    bound = 3 << 20
    monkeypatch.setattr(body, "MAX_DECODED_BYTES", bound)
    data = b"data:" + bytes(40 << 20)
    for _ in range(layers):
        data = gzip.compress(data)
    reader = of_response(media, ", ".join(["gzip"] * layers))
    frames = [*reader.feed(data), *reader.end()]

    assert data == b"".join(frame.carried for frame in frames)
    assert sum(len(frame.raw) for frame in frames) <= bound + (2 << 20) + len(data)
    undecoded = [
        one.fact for one in frames if isinstance(one.fact, HttpBody) and one.fact.undecoded
    ]
    assert len(undecoded) == (media != "text/html")


def test_a_changed_event_of_an_encoded_stream_is_encoded_anew() -> None:
    """Where the first event is not as it came, all of the stream is encoded again."""
    reader, writer = of_response("text/event-stream", "gzip"), BodyWriter("text/event-stream")
    [meta, told] = reader.feed(gzip.compress(b"event: endpoint\ndata: http://x/y\n\n"))
    changed = Frame(S2C, b"/y", exchange=5, decoded=told.decoded)
    data = writer.write([meta, changed])

    assert b"event: endpoint\ndata: /y\n\n" == b"".join(ContentDecoder(("gzip",)).feed(data))


def test_a_long_message_goes_on_in_pieces() -> None:
    """What is decoded is not held beyond a piece; its bytes go with the pieces."""
    text = b'{"a":"%b"}' % random.Random(1).randbytes(1_500_000).hex().encode()
    data, reader = gzip.compress(text), of_response("application/json", "gzip")
    frames = []
    for at in range(0, len(data), 1 << 16):
        frames += reader.feed(data[at : at + (1 << 16)])
    frames += reader.end()

    assert text == b"".join(frame.raw for frame in frames)
    assert data == carried("application/json", frames)
    assert [Fragment(last=False)] * (len(frames) - 1) == [frame.fact for frame in frames[:-1]]
