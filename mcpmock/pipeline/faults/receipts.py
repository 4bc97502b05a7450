"""`FaultRun`: the faults of a plan while they run, for all sessions together; and what is told of
each that fires.

How often each fired is counted here, and its chances are drawn here, from dice of its own: what one
fault draws changes nothing for another. Faults may be added and removed at any time: sessions look
at `armed` anew with everything that comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import attrs

from mcpmock.protocol.messages import Direction

from .fault import Fault, On, Seen
from .match import Match, Turn, needles, openers
from .plan import Plan


@attrs.define(eq=False)
class Armed:
    """A fault that may fire."""

    fault: Fault
    random: Random
    match: Match = attrs.field(init=False)
    """The fault's, and what its kind is about."""
    turn: Turn = attrs.field(init=False)
    needles: list[bytes] | None = attrs.field(init=False)
    """Bytes that tell whether a batch may concern it; None where every batch may."""
    openers: Sequence[Direction] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        match = self.fault.match
        self.match = attrs.evolve(match, method=match.method or self.fault.about)
        self.turn = Turn(match)
        self.needles = needles(self.match)
        self.openers = openers(self.match)


@attrs.frozen
class Receipt:
    """That a fault fired: which, the how manyth time, on what, with what it drew."""

    fault: Fault
    fired: int
    seen: Seen
    drawn: dict[str, Any]

    @property
    def value(self) -> dict[str, Any]:
        """As a recording has it."""
        request, subject = self.seen.request, self.seen.subject
        told: dict[str, Any] = {"kind": self.fault.kind, "fired": self.fired}
        if self.fault.name is not None:
            told = {"name": self.fault.name, **told}
        told["on"] = _WORDS.get(self.seen.on, "message")
        if subject.method is not None:
            told["method"] = subject.method
        if request is not None:
            told["id"] = request.id.decode()
        return {**told, "drawn": self.drawn} if self.drawn else told


_WORDS = {
    On.REQUEST: "request",
    On.RESPONSE: "response",
    On.NOTIFICATION: "notification",
    On.EXCHANGE: "exchange",
    On.BEGIN: "begin",
    On.END: "end",
}
Note = Callable[[Receipt, float], None]
"""Is told of a fault, and when, before what it does goes out."""


@attrs.frozen
class Interest:
    """What tells cheaply whether a batch may concern any fault, so that all else passes without a
    look: with a plan, traffic that it is not about is to cost what it costs without.
    """

    faults: Sequence[Armed]
    """Those that can fire at all: one with the probability 0 is none."""
    needles: Mapping[Direction, Sequence[bytes]]
    wide: bool
    """Whether any message may be meant."""
    acts_on: On
    streams: bool = False
    """Whether the head of an event stream may be meant."""

    @classmethod
    def of(cls, armed: Sequence[Armed]) -> Interest:
        faults = [one for one in armed if one.fault.match.probability > 0]
        needles = {
            way: sorted({n for one in faults if way in one.openers for n in one.needles or ()})
            for way in Direction
        }
        acts_on = On(0)
        for one in faults:
            acts_on |= one.fault.acts_on
        wide = any(one.needles is None for one in faults)
        streams = any(one.fault.holds_streams for one in faults)
        return cls(faults, needles, wide, acts_on, streams)


@attrs.define
class FaultRun:
    """A plan at work."""

    seed: int = 0
    armed: list[Armed] = attrs.field(factory=list)
    spent: list[Armed] = attrs.field(factory=list)
    """Those that were removed, for the summary."""
    mistakes: list[str] = attrs.field(factory=list)
    """What went wrong in a fault, and not on purpose. The message then passed as it came."""
    _numbers: int = 0
    _interest: Interest | None = None

    @classmethod
    def of(cls, plan: Plan) -> FaultRun:
        run = cls(plan.seed)
        for fault in plan.faults:
            run.add(fault)
        return run

    def add(self, fault: Fault) -> Armed:
        """From now on."""
        armed = Armed(fault, Random(f"{self.seed}/{self._numbers}"))
        self._numbers += 1
        self.armed = [*self.armed, armed]
        self._interest = None
        return armed

    def remove(self, armed: Armed) -> None:
        """It fires no more. What it holds back already comes at its time."""
        self.armed = [one for one in self.armed if one is not armed]
        self.spent.append(armed)
        self._interest = None

    def clear(self) -> None:
        for armed in self.armed:
            self.remove(armed)

    @property
    def interest(self) -> Interest:
        """What is worth a look."""
        if self._interest is None:
            self._interest = Interest.of(self.armed)
        return self._interest

    def summary(self) -> list[str]:
        """A line for each fault: how often it fired."""
        return [_line(armed) for armed in self._all()]

    def owing(self) -> list[Fault]:
        """Those that must have fired and have not."""
        return [a.fault for a in self._all() if a.fault.must_fire and not a.turn.fired]

    def tallies(self) -> list[dict[str, Any]]:
        """The summary as JSON values."""
        return [
            {
                "fault": armed.fault.title,
                "kind": armed.fault.kind,
                "fired": armed.turn.fired,
                "matched": armed.turn.seen,
                "must_fire": armed.fault.must_fire,
            }
            for armed in self._all()
        ]

    def _all(self) -> Sequence[Armed]:
        return [*self.spent, *self.armed]


def _line(armed: Armed) -> str:
    fault, turn = armed.fault, armed.turn
    title = fault.kind if fault.name is None else f"{fault.name} ({fault.kind})"
    if not turn.fired:
        never = "never fired" + (", and it must" if fault.must_fire else "")
        reason = f"{turn.seen} messages matched" if turn.seen else "nothing matched"
        return f"fault {title}: {never}: {reason}"
    return f"fault {title}: fired {turn.fired} of {turn.seen} times that it matched"
