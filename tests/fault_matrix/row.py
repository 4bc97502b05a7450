"""`Row`: a fault, and what comes of it at both sides: everything else has to be, byte for byte and
to the instant, what it is without a plan.

A row names messages of the conversation and what comes in their place. What it says for all
transports and modes may be said otherwise for some (`on`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import ndiff
from typing import Any

import attrs

from mcpmock.faults.fault import Fault
from mcpmock.faults.plan import Plan
from mcpmock.faults.receipts import FaultRun

from .hearing import Run, Timed, Way

END = b"\0end"
"""Behind this nothing comes on its way."""
MISSED = b'{"jsonrpc":"2.0","id":1,"error":{"code":-31999'
"""What a replay says to a call that it does not know; the rest of it is an explanation."""
Becomes = Mapping[bytes, Sequence[bytes]]
Changes = Mapping[str, Mapping[str, Any]]
Check = Callable[[Run, Run], None]


@attrs.frozen(kw_only=True)
class Row:
    """What a fault does to the conversation."""

    fault: Fault
    client: Becomes = attrs.field(factory=dict)
    """What the client gets in place of a message."""
    server: Becomes = attrs.field(factory=dict)
    """What the server gets."""
    late: Mapping[bytes, float] = attrs.field(factory=dict)
    """How much later (in seconds) a message is whole at its receiver."""
    last: Sequence[bytes] = ()
    """What comes behind all else of its instant."""
    more: Sequence[Timed] = ()
    """What the server gets besides."""
    until: float = float("inf")
    """When the first session is over, where it is too early; nothing of it is compared from then
    on."""
    free: Sequence[str] = ()
    """Ways of the first client that only `check` looks at."""
    check: Check | None = None
    """What else has to be: it is given the run, and the one without a plan."""
    elsewhere: Sequence[str] = ()
    """Transports or modes for which it is shown in a test of its own."""
    on: Changes = attrs.field(factory=dict)
    """What is otherwise: the keys are words of `transport` and `mode`, all of which have to fit."""

    def is_shown(self, transport: str, mode: str) -> bool:
        """Whether it is to be judged there."""
        here = {transport, "http" if transport != "stdio" else transport, mode}
        return transport in self.fault.transports and not here & set(self.elsewhere)

    def at(self, transport: str, mode: str) -> Row:
        """As it is there."""
        words, row = {transport, mode, "http" if transport != "stdio" else ""}, self
        for key, changes in self.on.items():
            if set(key.split()) <= words:
                row = attrs.evolve(row, **changes)
        return row

    @property
    def id(self) -> str:
        toward = self.fault.toward
        return self.fault.kind + (f"-to-{toward}" if toward else "")

    def plan(self, transport: str) -> FaultRun:
        """For the first session alone."""
        return FaultRun.of(Plan(faults=(for_first(self.fault, transport),), seed=7))


def for_first(fault: Fault, transport: str) -> Fault:
    """The same for the first client's session only."""
    session = 1 if transport == "stdio" else 2
    return attrs.evolve(fault, match=attrs.evolve(fault.match, session=session))


def judge(row: Row, run: Run, base: Run) -> None:
    """Asserts that all is as the row says."""
    assert ["fired"] == [word for line in run.summary for word in line.split() if word == "fired"]
    assert base.client[1:] == run.client[1:]
    assert base.server[1:] == run.server[1:]
    for name, way in base.client[0].items():
        if name not in row.free:
            _judge_way(row, name, run.client[0].get(name, Way()), way)
    if base.server[0]:
        wanted = _due(row, base.server[0], row.server)
        # What comes in one instant on several connections comes in any order.
        wanted = sorted([*wanted, *row.more], key=lambda one: one[0])
        came = run.server[0]
        if "stdout" not in run.client[0]:
            wanted, came = sorted(wanted), sorted(came)
        _compare(row, "what the server gets", wanted, came)
    if row.check is not None:
        row.check(run, base)


def _judge_way(row: Row, name: str, way: Way, base: Way) -> None:
    touched = {*row.client, *row.late, *row.last}
    if name == "stdout":
        wanted, came = _due(row, base.lines(), row.client), way.lines()
    elif not any(raw in unit for raw in touched for _, unit in _units(base)):
        wanted, came = base.pieces, way.pieces
    elif way.answer().streams and base.answer().streams:
        wanted, came = _due(row, base.answer().blocks, row.client), way.answer().blocks
    else:
        wanted, came = _due(row, base.messages(), row.client), way.messages()
    _compare(row, f"what the client gets on {name!r}", wanted, came)


def _compare(row: Row, what: str, wanted: Sequence[Timed], came: Sequence[Timed]) -> None:
    """Fails with the lines that differ, each with its time."""
    old, new = ([f"{at:g} s {unit!r}" for at, unit in _before(row, way)] for way in (wanted, came))
    assert old == new, "\n".join([f"{row.id}: {what} (- wanted, + came)", *ndiff(old, new)])


def _units(way: Way) -> Sequence[Timed]:
    answer = way.answer()
    return answer.blocks if answer.streams else answer.messages


def _due(row: Row, base: Sequence[Timed], becomes: Becomes) -> list[Timed]:
    """What has to come, in order: units (lines, events, messages) with others in their place."""
    due: list[Timed] = []
    for at, unit in base:
        raw = next((raw for raw in {*becomes, *row.late} if raw in unit), None)
        if raw is None:
            due.append((at, unit))
            continue
        for new in becomes.get(raw, [raw]):
            if new == END:
                return due
            after = row.late.get(new, row.late.get(raw, 0.0))
            due.append((at + after, unit.replace(raw, new)))
    return sorted(due, key=lambda one: (one[0], any(raw in one[1] for raw in row.last)))


def _before(row: Row, timed: Sequence[Timed]) -> list[Timed]:
    return [(at, _plain(unit)) for at, unit in timed if at < row.until]


def _plain(unit: bytes) -> bytes:
    before, missed, _ = unit.partition(MISSED)
    return before + missed
