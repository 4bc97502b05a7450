"""Server-sent events: the WHATWG's rules, the exact bytes, the split law, and back to bytes."""

from __future__ import annotations

import random
import re
import time
from typing import Any

import pytest

from mcpmock.protocol.messages import C2S, S2C, Fact, Frame, HttpBody, SseMeta
from mcpmock.transports.sse import KEPT_BYTES, Excerpt, SseDecoder, encode_event

MIB = 1 << 20
WIRE = (
    b"\xef\xbb\xbfid: 1\r\nretry: 100\r\ndata: \r\n\r\n"
    b'event: message\ndata: {"a":"\xe2\x80\xa8"}\n\n'
    b": ping\n\ndata: x\n\n\r\n\rdata: a\rdata:  b\r\rdata:c\n\r\nid:\n\nwhat: ever\n\n\ndata\n\n"
    b"data: tail\r\n"
)

Told = tuple[bytes, bytes, Fact | None, bytes | None]


def decode(*chunks: bytes, limit: int = 64 * MIB) -> list[Frame]:
    decoder = SseDecoder(S2C, 7, limit)
    return [frame for chunk in chunks for frame in decoder.feed(chunk)] + decoder.end()


def told(frames: list[Frame]) -> list[Told]:
    """What the frames say, and their exact bytes."""
    assert all((frame.direction, frame.exchange) == (S2C, 7) for frame in frames)
    return [(frame.raw, frame.eol, frame.fact, frame.wire) for frame in frames]


def values(text: bytes) -> list[bytes | SseMeta]:
    """Metas, and the data of messages."""
    frames = decode(text)
    return [frame.fact if isinstance(frame.fact, SseMeta) else frame.raw for frame in frames]


def bytes_of(frames: list[Frame]) -> bytes:
    """All that came in, as it came in."""
    return b"".join(f.raw if type(f.fact) is HttpBody else f.wire or b"" for f in frames)


def test_events_of_real_servers() -> None:
    """A priming event with CR LF, a message with LF, a comment: each is one block of exact
    bytes.
    """
    prime = b"id: 1\r\nretry: 100\r\ndata: \r\n\r\n"
    message = b'event: message\nid: a_1\ndata: {"id":1}\n\n'
    ping = b": ping - 2026\r\n\r\n"

    assert [
        (b"", b"\n", SseMeta(id="1", retry=100), None),
        (b"", b"\r\n", None, prime),
        (b"", b"\n", SseMeta(id="a_1", event="message"), None),
        (b'{"id":1}', b"\n", None, message),
        (b"", b"\n", SseMeta(comment="ping - 2026"), ping),
    ] == told(decode(prime + message + ping))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"data: a\n\n", [b"a"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data\n\n", [b""]),
        (b"data:\n\n", [b""]),
        (b"data: \n\n", [b""]),
        (b"data\ndata\n\n", [b"\n"]),
        (b"data: a\ndata: b\ndata:\n\n", [b"a\nb\n"]),
        (b"data: a\rdata: b\r\r", [b"a\nb"]),
        (b"data: a\r\ndata: b\n\r\n", [b"a\nb"]),
        (b"data: a\r\n\n", [b"a"]),
        (b"data: a\n\rdata: b\n\n", [b"a", b"b"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [b"a", SseMeta()]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: b\n\n", [SseMeta()]),
        ("data: \u2028\u0085\x0b\x0c\u2029\n\n".encode(), ["\u2028\u0085\x0b\x0c\u2029".encode()]),
        (b"data: \xff\x00\n\n", [b"\xff\x00"]),
        (b" data: a\n\n", [SseMeta()]),
        (b"Data: a\n\n", [SseMeta()]),
        (b"data : a\n\n", [SseMeta()]),
        (b"dat\nxdata: a\ndata: b\n\n", [b"b"]),
        (b":\n\n", [SseMeta(comment="")]),
        (b": a\n:b\n:  c\n\n", [SseMeta(comment="a\nb\n c")]),
        (b": a\ndata: b\n: c\n\n", [SseMeta(comment="a\nc"), b"b"]),
        (b"id: 1\n\n", [SseMeta(id="1")]),
        (b"id\ndata: a\n\n", [SseMeta(id=""), b"a"]),
        (b"id: 1\nid: 2\nid: 3\0\ndata: a\n\n", [SseMeta(id="2"), b"a"]),
        (b"id: \0\ndata: a\n\n", [b"a"]),
        (b"id: \xc3\xa9\xff\ndata: a\n\n", [SseMeta(id="é\ufffd"), b"a"]),
        (b"event: x\nevent: y\ndata: a\n\n", [SseMeta(event="y"), b"a"]),
        (b"event: x\n\n", [SseMeta(event="x")]),
        (b"event:\ndata: a\n\n", [SseMeta(event=""), b"a"]),
        (b"retry: 007\ndata: a\n\n", [SseMeta(retry=7), b"a"]),
        (b"retry: +5\ndata: a\n\n", [b"a"]),
        (b"retry: 1_0\ndata: a\n\n", [b"a"]),
        (b"retry:\ndata: a\n\n", [b"a"]),
        (b"retry:  5\ndata: a\n\n", [b"a"]),
        (b"retry: " + b"9" * 5000 + b"\ndata: a\n\n", [b"a"]),
        ("retry: \u0663\ndata: a\n\n".encode(), [b"a"]),
        (b"\n", [SseMeta()]),
        (b"\r\n", [SseMeta()]),
        (b"\r", [SseMeta()]),
        (b"\xef\xbb\xbf\n", [SseMeta()]),
        (b"\n\r\r\n", [SseMeta()] * 3),
        (b"", []),
    ],
)  # fmt: skip
def test_what_a_block_says(text: bytes, expected: list[bytes | SseMeta]) -> None:
    """Each block is read as the WHATWG says, and nothing of its bytes is lost."""
    assert expected == values(text)
    assert text == bytes_of(decode(text))


def test_pairs_are_told_apart() -> None:
    """Directly behind an SseMeta without data, an event of nothing but data gets an empty one."""
    assert [
        SseMeta(comment="a"),
        SseMeta(id="1"),
        SseMeta(),
        b"x",
        b"y",
        SseMeta(comment="b"),
        SseMeta(event="e"),
        b"z",
    ] == values(b": a\n\nid: 1\n\ndata: x\n\ndata: y\n\n: b\n\nevent: e\ndata: z\n\n")


@pytest.mark.parametrize(
    ("block", "eol"),
    [
        (b"data: a\r\n\r\n", b"\r\n"),
        (b"data: a\n\n", b"\n"),
        (b"data: a\r\r", b"\n"),
        (b"data: a\r\n\n", b"\n"),
    ],
)
def test_line_ends(block: bytes, eol: bytes) -> None:
    """The frame of a message says whether its lines ended in CR LF."""
    assert [(b"a", eol, None, block)] == told(decode(block))


@pytest.mark.parametrize(
    "tail", [b"data: x", b"data: x\n", b"data: x\r\n", b"data: x\n: y", b"\xef\xbb", b"id: 1\r"]
)
def test_a_tail_that_never_ended(tail: bytes) -> None:
    """What is left at the end of the stream is no event, and passes as it is."""
    assert [(tail, b"\n", HttpBody(), None)] == told(decode(tail))


def test_a_cr_at_the_very_end_is_a_line_end() -> None:
    """A CR waits for an LF that may follow, but not beyond the end of the stream."""
    decoder = SseDecoder(S2C, 7)

    assert [] == decoder.feed(b"data: a\r\r")
    assert [(b"a", b"\n", None, b"data: a\r\r")] == told(decoder.end())
    assert [] == decoder.end()


def test_an_event_goes_on_when_its_block_is_complete() -> None:
    """No event waits for the next one."""
    for eol in (b"\n", b"\r\n"):
        decoder = SseDecoder(S2C, 7)
        block = b"data: a" + eol + eol
        early = [decoder.feed(block[at : at + 1]) for at in range(len(block) - 1)]

        assert [[]] * len(early) == early
        assert [(b"a", eol, None, block)] == told(decoder.feed(block[-1:]))


def test_byte_by_byte() -> None:
    """Bytes that come one at a time give the same frames as all at once."""
    assert told(decode(WIRE)) == told(decode(*(WIRE[i : i + 1] for i in range(len(WIRE)))))
    assert WIRE == bytes_of(decode(WIRE))


@pytest.mark.parametrize("at", range(len(WIRE) + 1))
def test_every_single_split(at: int) -> None:
    """Wherever the bytes are cut in two, the frames are the same."""
    assert told(decode(WIRE)) == told(decode(WIRE[:at], WIRE[at:]))


PARTS = [b"\n", b"\r", b"\r\n", b"\n\n", b"\r\n\r\n", b"data", b"data: ", b": ", b"id:",
         b"event: e", b"retry: 1", b"x", b"\0", b"\xff", b"\xef\xbb\xbf"]  # fmt: skip


def reference(text: bytes) -> list[dict[str, Any]]:
    """The dispatched events, read line by line as the WHATWG words it; comments aside."""
    events = []
    lines = re.split(rb"\r\n|\n|\r", text.removeprefix(b"\xef\xbb\xbf"))[:-1]
    event: dict[str, Any] = {}
    for line in lines:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            events += [event] if "data" in event else []
            event = {}
        elif name == b"data":
            event["data"] = event["data"] + b"\n" + value if "data" in event else value
        elif name == b"event":
            event["event"] = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            event["id"] = value.decode("utf-8", "replace")
        elif name == b"retry" and re.fullmatch(rb"[0-9]{1,15}", value):
            event["retry"] = int(value)
    return events


def events_of(frames: list[Frame]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    meta = SseMeta()
    for frame in frames:
        if isinstance(frame.fact, SseMeta):
            meta = frame.fact
        elif frame.fact is None:
            known = {"id": meta.id, "event": meta.event, "retry": meta.retry, "data": frame.raw}
            events.append({name: value for name, value in known.items() if value is not None})
            meta = SseMeta()
    return events


@pytest.mark.parametrize("seed", range(20))
def test_any_split_of_anything(seed: int) -> None:
    """Random streams in random reads give the events of a plain reading, and all of their bytes."""
    dice = random.Random(seed)
    for _ in range(100):
        text = b"".join(dice.choices(PARTS, k=dice.randrange(25)))
        cuts = sorted(dice.choices(range(len(text) + 1), k=dice.randrange(6)))
        chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        whole = decode(text)

        assert told(whole) == told(decode(*chunks))
        assert text == bytes_of(whole)
        assert reference(text) == events_of(whole)
        assert text == bytes_of(decode(*chunks, limit=dice.randrange(1, 20)))


@pytest.mark.parametrize("size", [64 << 10, 500, 7 * MIB])
@pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
def test_a_long_event_takes_linear_time(size: int, eol: bytes) -> None:
    """An event of 5 MB is not searched again with every read."""
    wire = b"data: " + b"x" * 5_000_000 + eol + eol
    begin = time.process_time()
    frames = decode(*(wire[at : at + size] for at in range(0, len(wire), size)))

    assert [5_000_000] == [len(frame.raw) for frame in frames]
    assert time.process_time() - begin < 2  # rescanning takes minutes at 500 bytes a read


def test_an_event_too_long_to_hold_goes_on_as_bytes() -> None:
    """Beyond the limit the bytes of an event pass as they come, until it ends."""
    decoder = SseDecoder(S2C, 7, limit=10)

    assert [] == decoder.feed(b"data: 1234")
    assert [(b"data: 123", HttpBody())] == [(f.raw, f.fact) for f in decoder.feed(b"5")]
    assert [(b"45\ndata: ", HttpBody())] == [(f.raw, f.fact) for f in decoder.feed(b"\ndata: 6\n")]
    assert [b"6\n\n", b"x"] == [f.raw for f in decoder.feed(b"\ndata: x\n\ndat")]
    assert [(b"dat", HttpBody())] == [(f.raw, f.fact) for f in decoder.end()]


def test_no_more_than_the_limit_is_held() -> None:
    """However long an event is, what is held is bounded by the limit and one read; of what passes
    only the beginning is recorded.
    """
    decoder = SseDecoder(S2C, 7, limit=MIB)
    frames = [frame for _ in range(300) for frame in decoder.feed(b"x" * 10_000)]

    assert 3_000_000 - sum(len(frame.raw) for frame in frames) <= MIB
    assert KEPT_BYTES == sum(len(f.raw) for f in frames if f.fact == HttpBody())


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r\n", b"\n\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_end_of_an_event_too_long_to_hold(end: bytes, size: int) -> None:
    """However the end of a long event is cut, the next event is seen."""
    wire = b"data: 0123456789" + end + b"data: x\n\n"
    chunks = [wire[at : at + size] for at in range(0, len(wire), size)]
    frames = decode(*chunks, limit=12)

    assert [b"x"] == [frame.raw for frame in frames if frame.fact is None]
    assert wire == bytes_of(frames)


def test_a_lone_meta_and_a_long_event() -> None:
    """What stands behind a long event is not directly behind what stood before it."""
    frames = decode(b": a\n\n", b"data: 0123456789", b"\n\n", b"data: x\n\n", limit=12)

    assert [SseMeta(comment="a"), HttpBody(), HttpBody(), None] == [f.fact for f in frames]


def test_excerpt() -> None:
    """The first bytes are kept, the others only pass, and nothing is no frame."""
    excerpt = Excerpt(C2S, 3, kept=4)
    takes = [excerpt.take(data) for data in (b"ab", b"", b"cdef", b"gh")]

    assert [
        [(C2S, b"ab", HttpBody(), 3)],
        [],
        [(C2S, b"cd", HttpBody(), 3), (C2S, b"ef", HttpBody(unkept=True), 3)],
        [(C2S, b"gh", HttpBody(unkept=True), 3)],
    ] == [[(f.direction, f.raw, f.fact, f.exchange) for f in take] for take in takes]


@pytest.mark.parametrize(
    ("meta", "data", "eol", "expected"),
    [
        (None, b"{}", b"\n", b"data: {}\n\n"),
        (None, b"{}", b"\r\n", b"data: {}\r\n\r\n"),
        (None, b"", b"\n", b"data: \n\n"),
        (None, b"a\nb\r\nc\rd\n", b"\n", b"data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"),
        (SseMeta(), b"x", b"\n", b"data: x\n\n"),
        (SseMeta(), None, b"\r\n", b"\r\n"),
        (None, None, b"\n", b"\n"),
        (SseMeta(comment="ping"), None, b"\r\n", b": ping\r\n\r\n"),
        (SseMeta(comment=""), None, b"\n", b":\n\n"),
        (SseMeta(comment="a\n b\r\n"), None, b"\n", b": a\n:  b\n:\n\n"),
        (SseMeta(id="", event=""), None, b"\n", b"event: \nid: \n\n"),
        (
            SseMeta(id="é", event="message", retry=5, comment="c"),
            b"x",
            b"\n",
            "event: message\nid: é\nretry: 5\n: c\ndata: x\n\n".encode(),
        ),
    ],
)
def test_encode(meta: SseMeta | None, data: bytes | None, eol: bytes, expected: bytes) -> None:
    """Events are written field by field: event, id, retry, comments, and the data last."""
    assert expected == encode_event(meta, data, eol)


@pytest.mark.parametrize("bad", ["\n", "\r", "\0", "a\r\nb"])
def test_fields_that_would_end_early_are_refused(bad: str) -> None:
    """An id or event name with a line break or NUL would be read as something else."""
    with pytest.raises(ValueError, match=r"^id of a server-sent event"):
        encode_event(SseMeta(id=bad), b"x")
    with pytest.raises(ValueError, match=r"^event of a server-sent event"):
        encode_event(SseMeta(event=bad), None)


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
def test_what_is_written_is_read_again(eol: bytes) -> None:
    """Whatever an event holds, encoding it and decoding it gives the same."""
    dice = random.Random(1)
    for _ in range(500):
        data = b"".join(dice.choices([b"x", b"\n", b" ", b":", b"\xff", b"data: "], k=5))
        some: list[str | None] = [None, "", " a", "é:", "x"]
        id_, event, comment = dice.choices(some, k=3)
        meta = SseMeta(id_, event, dice.choice([None, 0, 9]), comment)
        frames = decode(encode_event(meta, data, eol))

        expected = [meta, None] if meta != SseMeta() else [None]
        assert expected == [frame.fact for frame in frames]
        assert (data, eol) == (frames[-1].raw, frames[-1].eol)
