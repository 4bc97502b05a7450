"""Newline framing: the split law, long lines in pieces, and back to bytes."""

from __future__ import annotations

import random

import pytest

from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, ProcessExit, Stderr, StreamEnd
from mcpmock.transports.lines import LineSplitter, join_lines
from tests.support import Seen, request, seen

WIRE = (
    b'{"id":1,"method":"ping"}\n\r\n\n{"a":"\r\xc3\xa9"}\r\n\xff\xfe\x00\n'
    + "\u2028\u0085x\u2029\n".encode()
    + b"a\rb\r\r\nunfinished\r"
)


def split(*chunks: bytes, limit: int = 1 << 20) -> list[Frame]:
    splitter = LineSplitter(S2C, limit)
    return [frame for chunk in chunks for frame in splitter.feed(chunk)] + splitter.end()


def seen_of(*chunks: bytes, limit: int = 1 << 20) -> list[Seen]:
    return [seen(frame) for frame in split(*chunks, limit=limit)]


def whole_lines(frames: list[Frame]) -> list[tuple[bytes, bytes]]:
    """Pieces put together again: (raw, eol) of each line."""
    lines: list[tuple[bytes, bytes]] = []
    head = b""
    for frame in frames:
        head += frame.raw
        if not isinstance(frame.fact, Fragment) or frame.fact.last:
            lines.append((head, frame.eol))
            head = b""
    assert head == b""
    return lines


def test_lines_end_at_line_feeds_only() -> None:
    """Only byte 0x0A ends a line, and a CR before it belongs to the line's end."""
    assert [
        (b'{"id":1,"method":"ping"}', b"\n"),
        (b"", b"\r\n"),
        (b"", b"\n"),
        (b'{"a":"\r\xc3\xa9"}', b"\r\n"),
        (b"\xff\xfe\x00", b"\n"),
        ("\u2028\u0085x\u2029".encode(), b"\n"),
        (b"a\rb\r", b"\r\n"),
        (b"unfinished\r", b""),
    ] == [(frame.raw, frame.eol) for frame in split(WIRE)]


def test_byte_by_byte() -> None:
    """Bytes that come one at a time give the same frames as all at once."""
    assert seen_of(WIRE) == seen_of(*(WIRE[i : i + 1] for i in range(len(WIRE))))


@pytest.mark.parametrize("at", range(len(WIRE) + 1))
def test_every_single_split(at: int) -> None:
    """Wherever the bytes are cut in two, the frames are the same."""
    assert seen_of(WIRE) == seen_of(WIRE[:at], WIRE[at:])


@pytest.mark.parametrize("limit", range(1, 12))
def test_long_lines_in_any_pieces_are_the_same_bytes(limit: int) -> None:
    """However small the limit and the reads are, the lines and their ends are the same."""
    expected = [(frame.raw, frame.eol) for frame in split(WIRE)]
    for size in (1, 2, 3, 7):
        chunks = [WIRE[i : i + size] for i in range(0, len(WIRE), size)]
        frames = split(*chunks, limit=limit)

        assert expected == whole_lines(frames)
        assert join_lines(frames) == WIRE


@pytest.mark.parametrize("seed", range(50))
def test_any_split_of_anything(seed: int) -> None:
    """Random bytes in random reads come out as they went in, and as the same lines."""
    dice = random.Random(seed)
    data = bytes(dice.choice(b"\n\r\rab{\xff") for _ in range(200))
    cuts = sorted(dice.choices(range(len(data) + 1), k=10))
    chunks = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]

    assert seen_of(data) == seen_of(*chunks)
    assert join_lines(split(*chunks, limit=dice.randrange(1, 20))) == data


def test_a_long_line_goes_on_in_pieces() -> None:
    """A line beyond the limit is passed on as it comes, and its end says that it is the last."""
    splitter = LineSplitter(C2S, limit=4)

    assert [] == splitter.feed(b"1234")
    assert [(C2S, b"12345", b"", Fragment())] == [seen(f) for f in splitter.feed(b"5")]
    assert [] == splitter.feed(b"67")
    assert [(C2S, b"678", b"\n", Fragment(last=True)), (C2S, b"x", b"\n", None)] == [
        seen(f) for f in splitter.feed(b"8\nx\n")
    ]


def test_a_cr_at_the_border_of_a_piece() -> None:
    """A CR at the end of a piece is held back: it may be half of a line's end."""
    splitter = LineSplitter(C2S, limit=4)

    assert [(C2S, b"12345", b"", Fragment())] == [seen(f) for f in splitter.feed(b"12345\r")]
    assert [(C2S, b"", b"\r\n", Fragment(last=True))] == [seen(f) for f in splitter.feed(b"\n")]


def test_a_cr_at_the_border_that_is_no_line_end() -> None:
    """A CR held back that turns out to be an ordinary byte goes on with the next piece."""
    splitter = LineSplitter(C2S, limit=4)
    splitter.feed(b"12345\r")

    assert [(C2S, b"\r6789", b"", Fragment())] == [seen(f) for f in splitter.feed(b"6789")]


def test_a_long_line_that_never_ends() -> None:
    """At the end of the stream the last piece of an unfinished long line is said to be the last."""
    splitter = LineSplitter(C2S, limit=4)
    splitter.feed(b"12345")

    assert [(C2S, b"", b"", Fragment(last=True))] == [seen(f) for f in splitter.end()]


def test_the_end_of_whole_lines() -> None:
    """A stream that ends after a line's end has nothing left."""
    splitter = LineSplitter(C2S)
    splitter.feed(b"x\n")

    assert [] == splitter.end()
    assert [] == LineSplitter(C2S).end()


def test_nothing_read_is_nothing() -> None:
    """An empty read gives nothing and changes nothing."""
    splitter = LineSplitter(C2S)
    splitter.feed(b"ab")

    assert [] == splitter.feed(b"")
    assert [(C2S, b"abc", b"\n", None)] == [seen(f) for f in splitter.feed(b"c\n")]


def test_no_more_than_the_limit_is_held() -> None:
    """However long a line is, what is held is bounded by the limit and one read."""
    splitter = LineSplitter(C2S, limit=1000)
    out = sum(len(frame.raw) for _ in range(500) for frame in splitter.feed(b"x" * 100))

    assert 50_000 - out <= 1000


def test_facts_have_no_bytes_on_this_wire() -> None:
    """Standard error, ends and exits are not written between the lines."""
    frames = [
        Frame(S2C, request(1, "ping")),
        Frame(S2C, b"log", b"", Stderr()),
        Frame(S2C, b"", b"", StreamEnd()),
        Frame(S2C, b"", b"", ProcessExit(0)),
        Frame(S2C, b"piece", b"\r\n", Fragment(last=True)),
    ]

    assert request(1, "ping") + b"\npiece\r\n" == join_lines(frames)
