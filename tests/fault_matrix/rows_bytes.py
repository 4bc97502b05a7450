"""What the faults of bytes and of the server's process do to the conversation."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from mcpmock.faults.kinds.connection import (
    GarbageThenClose,
    HalfClose,
    IgnoreEof,
    LimitData,
    ResetPeer,
)
from mcpmock.faults.kinds.content import Corrupt
from mcpmock.faults.kinds.loss import BlackHole
from mcpmock.faults.kinds.process import Down, Exit, StderrFlood, StdoutNoise
from mcpmock.faults.kinds.timing import (
    Backpressure,
    Bandwidth,
    Coalesce,
    Dribble,
    Latency,
    Pause,
    Slicer,
    SlowClose,
)

from .conversation import (
    ANSWER,
    EVEN,
    EVEN_ANSWER,
    EVEN_PROGRESS,
    KILLED,
    LIST,
    LISTED,
    ODD,
    PROGRESS,
    REPLY,
)
from .hearing import Run, Way
from .row import END, Changes, Check, Row
from .rows_messages import CALL, SECOND, UNANSWERED

TICK = 1 / 64
LINE, EVENT = len(ANSWER) + 1, len(b"data: " + ANSWER + b"\n\n")
CUT = ANSWER.index("ö".encode()) + 1
"""Where `character` cuts: behind the first byte of a character of two."""
NOISE = Random("7/0").randbytes(8)
FLIPPED = bytearray(ANSWER)
FLIPPED[Random("7/0").randrange(len(ANSWER))] ^= 1
OVER_AT_ANSWER, OVER_AT_CALL = 2.5625, 2.0625
"""Behind these nothing is heard of a session that a fault ended: just after its time."""


def way_of(run: Run) -> Way:
    """What carries the answer to the first client."""
    ways = run.client[0]
    return ways.get("stdout") or (ways["odd"] if ways["odd"].answer().streams else ways["get"])


def at_times(*times: float) -> Check:
    """Something of the answer comes at each of these times after 2.5, and at no other."""

    def check(run: Run, base: Run) -> None:
        came = {at - 2.5 for at, _ in way_of(run).pieces if 2.5 <= at < 2.6875}
        assert set(times) == came

    return check


def breaks_off(tail: bytes, at: float = 2.5) -> Check:
    """The stream that carries the answer ends in these bytes, and then breaks off."""

    def check(run: Run, base: Run) -> None:
        way = way_of(run)
        if "stdout" in run.client[0]:
            came = way.bytes
        else:
            answer = way.answer()
            assert not answer.whole
            came = b"".join(data for _, data in answer.body)
        assert came.endswith(b"\n" + tail) or not tail
        assert b"\n" + ANSWER not in came
        assert (at, "closed") == way.ended or (at, "reset") == way.ended

    return check


def torn(tail: Callable[[bytes], bool]) -> Check:
    """The request breaks off on its way to the server, at once."""

    def check(run: Run, base: Run) -> None:
        if not run.arrived or "stdout" in run.client[0]:
            return  # nobody to ask in a replay; on stdio the row has it all
        hurt = [w for w in run.arrived if w.ended == (2.0, "closed") and w.pieces[-1][0] == 2.0]
        assert [True] == [tail(way.bytes.rpartition(b"\r\n\r\n")[2]) for way in hurt]
        assert (2.0, "closed") == run.client[0]["odd"].ended

    return check


def died(run: Run, base: Run) -> None:
    """With the status and the last words that were asked for; over HTTP the session is not known
    any more, and others are.
    """
    if "stdout" in run.client[0]:
        assert (7, [(2.0, b"panic\n")]) == (run.status, run.stderr)
        return
    ways = run.client[0]
    assert [503, 404, 404] == [ways[name].answer().status for name in ("odd", "even", "ping")]
    assert (2.0, "closed") == ways["get"].ended


def flooded(run: Run, base: Run) -> None:
    [(at, flood)] = run.stderr
    assert (2.5, 100) == (at, len(flood))


def never_started(run: Run, base: Run) -> None:
    assert (3, b"") == (run.status, run.client[0]["stdout"].bytes)


def closed_late(run: Run, base: Run) -> None:
    """A second later than it would have been."""
    ways, before = run.client[0], base.client[0]
    if "stdout" in ways:
        at, how = before["stdout"].ended or (0.0, "")
        assert (at + 1.0, how) == ways["stdout"].ended
        assert base.over + 1.0 == run.over
    else:
        assert before["odd"].bytes == ways["odd"].bytes
        assert (3.5, b"0\r\n\r\n") == ways["odd"].pieces[-1]


def output_ended(run: Run, base: Run) -> None:
    assert (2.5, "eof") == run.client[0]["stdout"].ended
    assert base.over == run.over


def went_on(run: Run, base: Run) -> None:
    """Until a signal said more."""
    assert (16.0, KILLED) == (base.over, run.over)


LOST_FROM_ANSWER: dict[str, Any] = {"client": {ANSWER: [END]}, "server": {REPLY: []}}
BREAKS_AT_ANSWER: Changes = {
    "stdio": {"until": OVER_AT_ANSWER},
    "sse": {"until": OVER_AT_ANSWER, "client": {ANSWER: [END]}},
    "streamable-http": {"client": {ANSWER: [END]}},
}
TORN_AT_CALL: Changes = {
    "stdio": {"until": OVER_AT_CALL, "server": {ODD: [END]}},
    "http": {"client": UNANSWERED, "free": ["odd"]},
}

ROWS = [
    Row(fault=Latency(latency=0.5, match=CALL), late={PROGRESS: 0.5, ANSWER: 0.5}),
    Row(
        fault=Bandwidth(rate=1000, match=SECOND),
        late={ANSWER: LINE / 1000},
        on={"http": {"late": {ANSWER: EVENT / 1000}}},
    ),
    Row(
        fault=Bandwidth(rate=2000, match=CALL, toward="server"),
        late=dict.fromkeys((ODD, PROGRESS, ANSWER), (len(ODD) + 1) / 2000),
        on={
            "http": {"late": dict.fromkeys((ODD, PROGRESS, ANSWER), len(ODD) / 2000)},
            "sse": {"free": ["odd"]},
        },
    ),
    Row(
        fault=Slicer(size=16, delay=TICK, match=SECOND),
        late={ANSWER: 5 * TICK},
        check=at_times(*(number * TICK for number in range(6))),
    ),
    Row(
        fault=Slicer(size=32, delay=TICK, match=CALL, toward="server"),
        late=dict.fromkeys((ODD, PROGRESS, ANSWER), 3 * TICK),
        on={"sse": {"free": ["odd"]}},
    ),
    Row(
        fault=Dribble(parts=4, time=4 * TICK, match=SECOND),
        late={ANSWER: 4 * TICK},
        check=at_times(*(number * TICK for number in range(1, 5))),
    ),
    Row(
        fault=Dribble(parts=4, time=4 * TICK, match=CALL, toward="server"),
        late=dict.fromkeys((ODD, PROGRESS, ANSWER), 4 * TICK),
        on={"sse": {"free": ["odd"]}},
    ),
    Row(
        fault=Coalesce(time=0.5, match=CALL),
        late={PROGRESS: 0.5, EVEN_PROGRESS: 0.3125, ANSWER: 0.25, EVEN_ANSWER: 0.0625},
    ),
    Row(
        fault=LimitData(inside="character", match=SECOND),
        client={ANSWER: [ANSWER[:CUT], END]},
        check=breaks_off(ANSWER[:CUT]),
        on={
            **BREAKS_AT_ANSWER,
            "http": {"check": breaks_off(b"data: " + ANSWER[:CUT])},
        },
    ),
    Row(
        fault=LimitData(bytes=20, match=CALL, toward="server"),
        server={ODD: []},
        check=torn(lambda came: came == ODD[:20]),
        on=TORN_AT_CALL,
    ),
    Row(
        fault=BlackHole(match=SECOND),
        client={ANSWER: [END]},
        on={
            "stdio": LOST_FROM_ANSWER,
            "sse": {**LOST_FROM_ANSWER, "free": ["reply s1"]},
            "replay": {"until": 4.0},
        },
    ),
    Row(
        fault=BlackHole(match=CALL, toward="server"),
        client=UNANSWERED,
        server={ODD: []},
        on={
            "stdio": {"client": {PROGRESS: [END]}, "server": {ODD: [END]}},
            "sse": {"free": ["odd"]},
        },
    ),
    Row(fault=SlowClose(), check=closed_late, elsewhere=["http"]),
    Row(
        fault=SlowClose(match=CALL),
        check=closed_late,
        free=["odd"],
        elsewhere=["stdio"],
        on={"sse": {"check": None}},
    ),
    Row(
        fault=HalfClose(match=SECOND),
        client={ANSWER: [ANSWER, END]},
        server={REPLY: []},
        check=output_ended,
    ),
    Row(
        fault=ResetPeer(match=SECOND),
        client={ANSWER: [END]},
        check=breaks_off(b""),
        on=BREAKS_AT_ANSWER,
    ),
    Row(
        fault=ResetPeer(match=CALL, toward="server"),
        server={ODD: []},
        check=torn(lambda came: came == b""),
        on=TORN_AT_CALL,
    ),
    Row(
        fault=GarbageThenClose(size=8, match=SECOND),
        client={ANSWER: [NOISE, END]},
        check=breaks_off(NOISE),
        on=BREAKS_AT_ANSWER,
    ),
    Row(
        fault=GarbageThenClose(size=8, match=CALL, toward="server"),
        server={ODD: []},
        check=torn(lambda came: came == NOISE),
        on=TORN_AT_CALL,
    ),
    Row(fault=Corrupt(match=SECOND), client={ANSWER: [bytes(FLIPPED)]}),
    Row(
        fault=Backpressure(time=1.75, match=CALL),
        late={**dict.fromkeys((EVEN, EVEN_PROGRESS, EVEN_ANSWER), 1.625), LIST: 0.75, LISTED: 0.75},
    ),
    Row(fault=StdoutNoise(match=SECOND, text="banner"), client={ANSWER: [b"banner", ANSWER]}),
    Row(fault=StderrFlood(match=SECOND, size=100), check=flooded),
    Row(
        fault=Exit(code=7, stderr="panic", match=CALL),
        server={ODD: [END]},
        until=OVER_AT_CALL,
        check=died,
        on={"http": {"until": 2.0}},
    ),
    Row(
        fault=Pause(time=0.9375, match=CALL),
        late={
            **dict.fromkeys((ODD, PROGRESS, ANSWER), 0.9375),
            **dict.fromkeys((EVEN, EVEN_PROGRESS, EVEN_ANSWER), 0.8125),
        },
        on={"sse": {"free": ["odd", "even"]}},
    ),
    Row(fault=Down(code=3), until=0.0, check=never_started, elsewhere=["http"]),
    Row(fault=IgnoreEof(), check=went_on),
]
