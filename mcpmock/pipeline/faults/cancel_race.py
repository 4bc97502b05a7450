"""`cancel_race`: a cancel that meets the answer exactly where it is told to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import attrs

from mcpmock.protocol.messages import (
    S2C,
    ExchangeEnd,
    Frame,
    Notification,
    Request,
    Response,
)
from mcpmock.protocol.session import CANCELLED, PROGRESS, Call
from mcpmock.protocol.stage import Send

from . import altering
from .fault import Act, Dice, Fault, Keep, Lost, On, Seen, Toward
from .match import Subject
from .pieces import dying
from .races import Cell, Name, Reaction
from .values import Count, Seconds, to_seconds

_NEVER = 1 << 30
"""More messages than ever pass: what is kept is taken out, or comes when `patience` is over."""
_REQUEST_CANCELLED = -32800


@attrs.define
class _Race:
    """One call, on its way to its cell."""

    call: Call
    given: int = 0
    """How many of its messages the client got before it cancelled: i, in the end."""
    parked: list[tuple[On, Keep]] = attrs.field(factory=list)
    cancelled: bool = False
    emitted: int = 0
    """How many the client got in all, or is to get: j, in the end."""
    answered: bool = False
    """Whether the client has the answer."""
    over: bool = False

    def take(self) -> tuple[On, list[Frame]] | None:
        """The next of what is parked; what came out by itself is there no more."""
        while self.parked:
            on, keep = self.parked.pop(0)
            frames = list(keep.frames)
            keep.frames[:] = []  # type: ignore[index]
            if frames:
                return on, frames
        return None


@attrs.frozen(kw_only=True)
class CancelRace(Fault):
    """The client gets i messages of a call, and the rest waits until it cancels. Then it gets those
    that had crossed its cancel, up to the j-th, and of the rest what the `reaction` of the server
    makes of it. The server does not hear of the cancel: it is this that reacts. Which cell was
    reached is in the receipt: a client may cancel earlier.

    >>> fault = mcpmock.faults.CancelRace(cell="cancel_crosses_response", match={"tool": "slow"})
    """

    kind: ClassVar[str] = "cancel_race"
    acts_on: ClassVar[On] = On.REQUEST
    goes_on: ClassVar[bool] = True
    usually: ClassVar[Toward] = "server"

    cell: Name | None = None
    i: Count | None = None
    j: Count | None = None
    reaction: Reaction = "silent"
    patience: Seconds = attrs.field(default=30.0, converter=to_seconds)
    """How long messages wait for a cancel."""

    def contradictions(self) -> Iterable[str]:
        if (self.cell is None) is (self.i is None) or (self.i is None) is not (self.j is None):
            yield "cell: say either cell, or i and j"
        elif self.i is not None and self.j is not None and self.i > self.j:
            yield "j: at least i, for what was consumed had been emitted"

    def fits(self, subject: Subject) -> bool:
        return isinstance(subject.message, Request) and subject.call is not None

    def continues(self, subject: Subject, on: On, memory: dict[Any, Any]) -> bool:
        if on is On.END:
            return bool(memory)
        call = subject.call
        if call is None or (call.direction, call.request.id) not in memory:
            return False
        own = On.RESPONSE | On.NOTIFICATION | On.CLOSE | On.LEFT
        if on is On.NOTIFICATION and subject.method not in (PROGRESS, CANCELLED):
            return False  # a log line that only came on the same stream
        return on in own and call is memory[call.direction, call.request.id].call

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        if seen.on is On.END:
            yield from self._give_up(seen)
            return
        call = seen.subject.call
        assert call is not None
        key, message = (call.direction, call.request.id), seen.subject.message
        if seen.on is On.REQUEST:
            seen.memory[key] = _Race(call)
            yield seen.passed()
            return
        race: _Race = seen.memory[key]
        if isinstance(message, Notification) and message.method == CANCELLED:
            yield from self._cancel(race, seen, dice)
        elif seen.on is On.LEFT:
            race.over = True
            yield seen.passed()
        elif seen.direction is call.direction:
            yield seen.passed()
        else:
            yield from self._come(race, seen)
        if race.over:
            del seen.memory[key]

    def _come(self, race: _Race, seen: Seen) -> Iterable[Act]:
        """A message of the call comes from the server, or the end of its exchange."""
        if race.cancelled:
            acts = list(self._after(race, seen.on, list(seen.unit), seen))
            yield from acts or [Lost()]
        elif race.parked or self._waits(race, seen.on):
            keep = Keep(list(seen.unit), _NEVER, self.patience)
            race.parked.append((seen.on, keep))
            yield keep
        else:
            race.given += seen.on is not On.CLOSE
            race.answered |= seen.on is On.RESPONSE
            yield seen.passed()

    def _waits(self, race: _Race, on: On) -> bool:
        """Whether the client is to cancel before it gets this."""
        if self.i is not None:
            return on is not On.CLOSE and race.given >= self.i
        match self.cell:
            case "cancel_before_start" | "cancel_crosses_progress":
                return True
            case "cancel_during_work":
                return race.given >= 1 or on is On.RESPONSE
            case "cancel_crosses_response":
                return on is On.RESPONSE
            case _:
                return False

    def _crosses(self, race: _Race, on: On) -> bool:
        """Whether the server had said this before it heard of the cancel."""
        if self.j is not None:
            return race.emitted < self.j
        match self.cell:
            case "cancel_crosses_progress":
                return race.emitted < 1 and on is not On.RESPONSE
            case "cancel_crosses_response" | "cancel_after_response":
                return True
            case _:
                return False

    def _cancel(self, race: _Race, seen: Seen, dice: Dice) -> Iterable[Act]:
        """The client cancels: what had crossed comes, and the server reacts to the rest."""
        if accepted := seen.accepted():
            yield Send(accepted)
        if race.cancelled:
            return
        race.cancelled, race.emitted = True, race.given
        waiting = []
        while (next_ := race.take()) is not None:
            waiting.append(next_)
        for on, frames in waiting:
            yield from self._after(race, on, frames, seen)
        k = race.given + sum(on is not On.CLOSE for on, _ in waiting)
        cell = Cell(race.given, race.emitted, max(k, race.emitted))
        dice.drawn.update(i=cell.i, j=cell.j, k=cell.k, cell=cell.name)
        race.over |= race.answered

    def _after(self, race: _Race, on: On, frames: list[Frame], seen: Seen) -> Iterable[Act]:
        """What becomes of a message behind the cancel."""
        if on is On.CLOSE:
            race.over = True
            yield Send(frames)
        elif self._crosses(race, on):
            race.emitted += 1
            race.over = on is On.RESPONSE and frames[0].exchange is None
            yield Send(frames)
        elif on is On.NOTIFICATION:
            if self.reaction == "late_progress":
                yield Send(frames)
        else:
            race.over = frames[0].exchange is None
            yield from self._react(frames, seen)

    def _react(self, frames: list[Frame], seen: Seen) -> Iterable[Act]:
        """What the server does in place of the answer that it had not given yet."""
        message = frames[-1]
        answer = message.content
        assert isinstance(answer, Response)
        failed = altering.error(answer.id or b"null", _REQUEST_CANCELLED, "Request cancelled")
        error = Frame(message.direction, failed, message.eol, exchange=message.exchange)
        match self.reaction:
            case "late_result":
                yield Send(frames)
            case "late_error":
                yield Send([*frames[:-1], error])
            case "error_then_result":
                both = attrs.evolve(seen, unit=frames).preceded_by(failed)
                yield Send(both)
            case "crash" | "close" if message.exchange is None:
                yield from dying(1 if self.reaction == "crash" else 0, None, None)
            case "crash" | "close":
                how = "reset" if self.reaction == "crash" else "closed"
                yield Send([Frame(S2C, fact=ExchangeEnd(how), exchange=message.exchange)])
            case _:
                pass

    def _give_up(self, seen: Seen) -> Iterable[Act]:
        """The client has said all, and will not cancel: what waited for that comes."""
        for race in list(seen.memory.values()):
            while (next_ := race.take()) is not None:
                yield Send(next_[1])
        seen.memory.clear()
        yield seen.passed()
