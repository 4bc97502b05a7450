"""Two faults on one message: whatever stands first in the plan, what is to be a message is one, in
pieces or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import inf

import attrs
import pytest

from mcpmock.faults.fault import Fault, Toward
from mcpmock.faults.kinds.connection import GarbageThenClose, HalfClose, LimitData, ResetPeer
from mcpmock.faults.kinds.content import (
    Deep,
    Empty,
    Huge,
    Inject,
    InvalidUtf8,
    Replace,
    Truncate,
    UnsolicitedResponse,
    WrongId,
)
from mcpmock.faults.kinds.errors import Error
from mcpmock.faults.kinds.loss import Drop
from mcpmock.faults.kinds.order import Duplicate, Reorder, RespondTwice
from mcpmock.faults.kinds.timing import Bandwidth, Coalesce, Delay, Dribble, Hold, Latency, Slicer
from mcpmock.faults.match import Match
from mcpmock.protocol.messages import C2S, S2C, Direction, HttpResponse
from mcpmock.transports.body import BodyWriter
from tests.support import LOG, answers, c2s, post, request, response, s2c
from tests.support.faulty import ANSWER, CALL, faulty

PIECES = [Slicer(size=7), Slicer(size=7, delay=0), Dribble(parts=4), Bandwidth(rate=100)]
MESSAGES = [
    Duplicate(),
    Duplicate(count=3),
    Duplicate(count=2, after=0.015),
    Inject(text=LOG.decode()),
    Inject(text=LOG.decode(), behind=True),
    UnsolicitedResponse(),
    RespondTwice(),
    Replace(result={"x": 1}),
    Error(),
    Empty(),
    WrongId(),
    Huge(size=50),
    Deep(depth=9),
    Truncate(bytes=20),
    InvalidUtf8(),
    Reorder(),
    Drop(),
    Delay(delay=0.02),
    Latency(latency=0.02, jitter=0.01),
    Hold(time=0.02),
    Coalesce(time=0.02),
]
ENDS = [
    LimitData(bytes=30),
    LimitData(inside="line_end"),
    HalfClose(),
    ResetPeer(),
    GarbageThenClose(),
]
SECOND, OTHER_ANSWER = request(2, "tools/list"), response(2, {"tools": []})


def both_ways(one: Fault, other: Fault) -> list[tuple[Fault, Fault]]:
    return [(one, other), (other, one)]


def named(faults: object) -> str:
    several = faults if isinstance(faults, tuple) else (faults,)
    return "-".join(one.kind for one in several)


def passed(faults: Sequence[Fault], way: Direction = S2C) -> bytes:
    """What arrives over stdio of two requests, their answers and a notification, as bytes."""
    wire = faulty(*faults).abandon()
    wire._take(wire.pipeline.enter([c2s(CALL), c2s(SECOND)], 0))
    for at, raw in ((0.01, ANSWER), (0.02, OTHER_ANSWER), (0.03, LOG), (inf, None)):
        while (due := wire.pipeline.next_due) is not None and due <= at:
            wire._take(wire.pipeline.advance(due))
        if raw is not None:
            wire._take(wire.pipeline.enter([s2c(raw)], at))
    return b"".join(frame.raw + frame.eol for frame in wire._out if frame.direction is way)


@pytest.mark.parametrize("nth", [None, 1])
@pytest.mark.parametrize(
    "pair", [pair for two in product(PIECES, MESSAGES) for pair in both_ways(*two)], ids=named
)
def test_pieces_of_what_another_fault_makes(pair: tuple[Fault, Fault], nth: int | None) -> None:
    """The same lines arrive as without the pieces."""
    ways: list[tuple[Direction, Toward]] = [(S2C, "client"), (C2S, "server")]
    for way, toward in ways:
        here = [
            attrs.evolve(one, toward=toward, match=Match(nth=nth if one in PIECES else None))
            for one in pair
            if one.only in (None, toward)
        ]
        whole = [one for one in here if type(one) not in (Slicer, Dribble, Bandwidth)]

        assert sorted(passed(whole, way).split(b"\n")) == sorted(passed(here, way).split(b"\n"))


@pytest.mark.parametrize(("end", "other"), list(product(ENDS, [*MESSAGES, *PIECES])), ids=named)
def test_the_end_of_a_stream_is_its_end(end: Fault, other: Fault) -> None:
    """Whatever the order in the plan, only what the stream ends in is not whole."""
    end = attrs.evolve(end, match=Match(nth=2))
    whole = passed([other] if other not in PIECES else []).split(b"\n")
    *lines, _ = passed([end, other]).split(b"\n")

    assert len(passed([end, other])) == len(passed([other, end]))
    if not isinstance(end, GarbageThenClose):
        assert passed([end, other]) == passed([other, end])
        assert [] == [line for line in lines if line not in whole]


def test_a_copy_is_lost_with_its_message() -> None:
    """A fault acts on all that the one before it left of a message."""
    assert b"" == passed([Duplicate(toward="client"), Drop(toward="client")])


@pytest.mark.parametrize("other", MESSAGES, ids=named)
@pytest.mark.parametrize("pieces", PIECES, ids=named)
def test_pieces_over_http(pieces: Fault, other: Fault) -> None:
    """The body is the same as without the pieces."""

    def body(*faults: Fault) -> bytes:
        wire = faulty(*faults, transport="streamable-http").abandon()
        wire._take(wire.pipeline.enter(post(1, CALL), 0))
        wire._take(wire.pipeline.enter(answers(1, ANSWER), 0.01))
        wire._pass_time(inf)
        head, *frames = (frame for frame in wire._out if frame.direction is S2C)
        assert isinstance(head.fact, HttpResponse)
        return BodyWriter(head.fact.media_type).write(frames)

    if "streamable-http" in other.transports and not isinstance(other, Drop | Error):
        assert body(other) == body(pieces, other) == body(other, pieces)
