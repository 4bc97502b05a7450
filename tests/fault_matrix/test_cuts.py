"""Faults that cut, cut where they say: what came at the receiving stream, byte for byte."""

from __future__ import annotations

import pytest

from mcpmock.faults.fault import Fault
from mcpmock.faults.kinds.connection import Inside, LimitData
from mcpmock.faults.kinds.content import Truncate
from mcpmock.faults.kinds.http import MalformedChunk
from mcpmock.faults.match import Match
from mcpmock.protocol.messages import S2C, Frame
from tests.support.faulty import faulty

from .conversation import ANSWER, EVEN_PROGRESS, LISTED, PROGRESS
from .hearing import Way
from .row import for_first
from .running import MODES, with_faults

SECOND = Match(tool="odd", nth=2)
LIST = Match(method="tools/list")
EVENT = b"data: " + ANSWER + b"\n\n"
CHARACTER = ANSWER.index("ö".encode()) + 1


def cut(transport: str, mode: str, fault: Fault, name: str = "odd") -> Way:
    """What carries the answer, once it is cut."""
    ways = with_faults(transport, mode, for_first(fault, transport)).client[0]
    way = ways.get("stdout") or ways["get" if transport == "sse" else name]
    assert way.ended is not None
    assert way.ended[0] == (3.0 if name == "tools/list" else 2.5)  # then and not at the end
    return way


def on_stdio(*lines: bytes) -> bytes:
    return b"".join(line + b"\n" for line in (PROGRESS, EVEN_PROGRESS, *lines))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("inside", "came"),
    [
        (LimitData(bytes=20, match=SECOND), ANSWER[:20]),
        (LimitData(inside="character", match=SECOND), ANSWER[:CHARACTER]),
        (LimitData(inside="line_end", match=SECOND), ANSWER + b"\r"),
    ],
)
def test_on_stdio(mode: str, inside: Fault, came: bytes) -> None:
    """Inside the frame, inside a character of two bytes, between CR and LF."""
    assert cut("stdio", mode, inside).bytes.endswith(on_stdio() + came)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
@pytest.mark.parametrize(
    ("inside", "came"),
    [
        (LimitData(bytes=26, match=SECOND), EVENT[:26]),
        (LimitData(inside="character", match=SECOND), EVENT[: CHARACTER + 6]),
        (LimitData(inside="line_end", match=SECOND), EVENT.rstrip() + b"\r"),
        (LimitData(inside="field", match=SECOND), b"da"),
    ],
)
def test_in_an_event(mode: str, transport: str, inside: Fault, came: bytes) -> None:
    """The same, and inside the name of a field; the chunk around it is whole, and the stream is
    not.
    """
    way = cut(transport, mode, inside)

    assert way.bytes.endswith(b"\r\n%x\r\n%b\r\n" % (len(came), came))
    assert not way.answer().whole


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
def test_in_the_header_of_a_chunk(mode: str, transport: str) -> None:
    """Half of its length, and not the line end behind it."""
    way = cut(transport, mode, LimitData(inside="chunk_header", match=SECOND))

    assert way.bytes.endswith(b"\n\n\r\n" + (b"%x" % len(EVENT))[:1])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("inside", "came"),
    [
        (LimitData(bytes=20, match=LIST), b"14\r\n" + LISTED[:20] + b"\r\n"),
        (LimitData(inside="chunk_header", match=LIST), b"4"),
    ],
)
def test_in_a_body_in_json(mode: str, inside: Fault, came: bytes) -> None:
    """It goes in chunks then, for no length would be right."""
    way = cut("streamable-http", mode, inside, "tools/list")

    assert way.bytes.partition(b"\r\n\r\n")[2] == came


@pytest.mark.parametrize("mode", MODES)
def test_a_made_up_chunk_breaks_off(mode: str) -> None:
    """Behind a good one."""
    fault = MalformedChunk(cut=True, match=LIST)

    assert cut("streamable-http", mode, fault, "tools/list").bytes.endswith(b"\r\n\r\n1\r\n{\r\n1")


def test_a_truncated_message_looks_whole() -> None:
    """Its line ends as ever; over HTTP its chunk does."""
    fault = Truncate(bytes=3, match=SECOND)
    ways = with_faults("stdio", "live", for_first(fault, "stdio")).client[0]
    assert on_stdio(ANSWER[:3]) in ways["stdout"].bytes

    way = with_faults("streamable-http", "live", for_first(fault, "http")).client[0]["odd"]
    assert way.bytes.endswith(b"b\r\ndata: %b\n\n\r\n0\r\n\r\n" % ANSWER[:3])
    assert way.answer().whole


@pytest.mark.parametrize("inside", ["frame", "character"])
def test_somewhere_inside(inside: Inside) -> None:
    """Where nothing is said, or no such thing is there, it is drawn: never at an edge."""
    for seed in range(20):
        wire = faulty(LimitData(inside=inside), seed=seed)
        batches = wire.pipeline.enter([Frame(S2C, b"[]")], 0)
        assert batches[0][0].raw in (b"[", b"[]")
