"""The vocabulary of the faults' tests: a session with faults between two ends, as a script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from mcpmock.faults.engine import FaultEngine
from mcpmock.faults.fault import Fault
from mcpmock.faults.plan import Plan
from mcpmock.faults.races.grid import Cell, Reaction
from mcpmock.faults.receipts import FaultRun, Receipt
from mcpmock.pipeline.stage import PASS, Action, Stage
from mcpmock.printable import many
from mcpmock.protocol.messages import C2S, S2C, Direction, Frame
from tests.support import Script, answers, post, request, response, shown

CALL = request(1, "tools/call", {"name": "x"}, token="t")
ANSWER = response(1, {"content": []})


def faulty(*faults: Fault, seed: int = 7, transport: str = "stdio", session: int = 1) -> Script:
    """A wire with these faults on it."""
    return Script([FaultEngine(FaultRun.of(Plan(faults=faults, seed=seed)), session, transport)])


@attrs.define
class Tape(Stage):
    """Keeps all that passes."""

    frames: list[Frame] = attrs.field(factory=list)

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        self.frames += seen
        return PASS


def taped(*faults: Fault) -> tuple[Script, list[Frame]]:
    """The same, and all that crosses between the faults and the server."""
    wire = Script([FaultEngine(FaultRun.of(Plan(faults=faults))), Tape()])
    return wire, tape_of(wire)


def tape_of(script: Script) -> list[Frame]:
    """All that crossed at the place of its tape."""
    return next(stage.frames for stage in script.pipeline.stages if isinstance(stage, Tape))


def how_it_breaks(cell: Cell, reaction: Reaction) -> list[str]:
    """What the oracles say of a server that does this: nothing where it is silent or gone."""
    call, left = "tools/call 1 of the client", cell.k - cell.j
    late = {
        "late_result": 1,
        "late_error": 1,
        "late_progress": max(left - 1, 1),
        "error_then_result": 2,
    }
    twice = [f"{call}: answered 2 times"] if left and reaction == "error_then_result" else []
    extra = late.get(reaction, 0) if left else 0
    behind = many(cell.j - cell.i + extra, "message")
    return [*twice, *([f"{call}: {behind} behind its cancel"] if extra else [])]


def engine_of(script: Script) -> FaultEngine:
    return next(stage for stage in script.pipeline.stages if isinstance(stage, FaultEngine))


def receipts(script: Script) -> list[dict[str, Any]]:
    """From now on, the receipts of what fires."""
    told: list[dict[str, Any]] = []

    def note(receipt: Receipt, now: float) -> None:
        told.append(receipt.value)

    engine_of(script).note = note
    return told


def on_stdio(
    fault: Fault, asked: bytes = CALL, *answers: bytes, way: Direction = C2S
) -> tuple[list[bytes], list[bytes]]:
    """What arrives of a request and of what comes back (an answer, if nothing is said), at the
    other side of each: everything, whenever it comes.
    """
    wire = faulty(fault).abandon()
    out = [f for batch in wire.pipeline.enter([Frame(way, asked)], 0) for f in batch]
    for raw in answers or (ANSWER,):
        out += [f for batch in wire.pipeline.enter([Frame(way.back, raw)], 1) for f in batch]
    wire._pass_time(float("inf"))
    out += wire._out
    return (
        [frame.raw for frame in out if frame.direction is way],
        [frame.raw for frame in out if frame.direction is way.back],
    )


def answered(fault: Fault, asked: bytes = CALL, *answers: bytes) -> list[bytes]:
    """What comes back to the client on stdio."""
    return on_stdio(fault, asked, *answers)[1]


def on_http(
    fault: Fault, asked: bytes = CALL, *replies: Sequence[Frame]
) -> tuple[list[str], list[str]]:
    """The same over Streamable HTTP, as lines: exchange 1, answered in JSON if nothing is said."""
    wire = faulty(fault, transport="streamable-http").abandon()
    out = [f for batch in wire.pipeline.enter(post(1, asked), 0) for f in batch]
    replies = replies or (answers(1, ANSWER, content_length=str(len(ANSWER))),)
    for frames in filter(None, replies):
        out += [f for batch in wire.pipeline.enter(frames, 1) for f in batch]
    wire._pass_time(float("inf"))
    out += wire._out
    return tuple(shown(f for f in out if f.direction is way) for way in (C2S, S2C))  # type: ignore[return-value]


def body(fault: Fault, asked: bytes = CALL, *replies: Sequence[Frame]) -> list[str]:
    """What the client gets over Streamable HTTP."""
    return on_http(fault, asked, *replies)[1]
