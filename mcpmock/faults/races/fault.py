"""`cancel_race`: a cancel that meets the answer exactly where it is told to.

A cancel is a notification, or over HTTP from 2026-07-28 on a client that leaves its response; up to
2025-11-25 that says nothing. `races` has the grid, `racing` what is to be remembered of a call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import attrs

from mcpmock.faults.chunking import dying
from mcpmock.faults.fault import Act, Dice, Fault, Lost, On, Seen, Toward
from mcpmock.faults.match import Subject
from mcpmock.faults.units import Count, Seconds, to_seconds
from mcpmock.pipeline.stage import Hangup, Send
from mcpmock.protocol import edit
from mcpmock.protocol.correlation import CANCELLED, PROGRESS
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    ExchangeEnd,
    Frame,
    HttpResponse,
    Notification,
    Response,
    member,
)
from mcpmock.protocol.revisions import is_modern

from .grid import Goal, Name, Reaction
from .progress import RaceProgress

_REQUEST_CANCELLED = -32800
_MOST = 1000
"""How many calls of a session are remembered; of more the oldest are forgotten."""
_EARLY = "early"
"""Where cancels are remembered whose call has not come yet."""
_OWN = On.RESPONSE | On.NOTIFICATION | On.CLOSE | On.LEFT


@attrs.frozen(kw_only=True)
class CancelRace(Fault):
    """The client gets i messages of a call, and the rest waits until it cancels. Then it gets those
    that had crossed its cancel, up to the j-th, and of the rest what the `reaction` of the server
    makes of it. The server does not hear of the cancel: it is this that reacts. Which cell was
    reached is in the receipt, or where the answer comes behind the cancel in the last one: a client
    may cancel earlier, over HTTP even before its call is there.

    The same for what the server asks and its client answers, on stdio: over HTTP a client's answer
    is a request that wants a response itself.

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

    @property
    def overhears(self) -> bytes:
        return CANCELLED.encode()

    def contradictions(self) -> Iterable[str]:
        if (self.cell is None) is (self.i is None) or (self.i is None) is not (self.j is None):
            yield "cell: say either cell, or i and j"
        elif self.i is not None and self.j is not None and self.i > self.j:
            yield "j: at least i, for what was consumed had been emitted"

    def fits(self, subject: Subject) -> bool:
        return subject.frame.direction is C2S or subject.frame.exchange is None

    def continues(self, subject: Subject, on: On, memory: dict[Any, Any]) -> bool:
        if on is On.END:
            return bool(memory)
        if subject.call is None and subject.method == CANCELLED:
            return subject.frame.exchange is not None  # one pipe keeps the order
        race = _race_of(subject, memory)
        if race is None or (race.over and on is On.LEFT):
            return False
        if on is On.NOTIFICATION and subject.method not in (PROGRESS, CANCELLED):
            return False  # what a subscription is told is no answer to it
        if on in On.CLOSE | On.LEFT:
            return race.own is not None
        return on in _OWN

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        if seen.on is On.END:
            yield from self._give_up(seen)
        elif seen.on is On.REQUEST:
            self._begin(seen, dice)
            yield seen.passed()
        elif (race := _race_of(seen.subject, seen.memory)) is None:
            self._note_early(seen)
            yield seen.passed()
        else:
            yield from self._go_on(race, seen, dice)
            if race.over and not race.resumable:
                seen.memory.pop(race.key, None)

    def _begin(self, seen: Seen, dice: Dice) -> None:
        call = seen.subject.call
        assert call is not None
        race = RaceProgress(call, own=None if seen.stream is not None else seen.exchange)
        early = seen.memory.get(_EARLY, ())
        if race.key in early:
            early.remove(race.key)
            race.cancelled = race.overtaken = True
            dice.drawn.update(race.reached())
        seen.memory.pop(race.key, None)
        seen.memory[race.key] = race
        while len(seen.memory) > _MOST:
            seen.memory.pop(next(key for key in seen.memory if key != _EARLY))

    def _note_early(self, seen: Seen) -> None:
        """A cancel of what nobody has asked: over HTTP it may have overtaken its call."""
        message = seen.subject.message
        params = message.params if isinstance(message, Notification) else None
        id_ = member(params, "requestId")
        early = seen.memory.setdefault(_EARLY, [])
        if id_ is not None:
            early[:] = [*early, (seen.direction, id_)][-_MOST:]

    def _go_on(self, race: RaceProgress, seen: Seen, dice: Dice) -> Iterable[Act]:
        message = seen.subject.message
        cancels = isinstance(message, Notification) and message.method == CANCELLED
        if cancels and seen.direction is race.call.direction:
            if accepted := seen.accepted():
                yield Send(accepted)
            yield from self._cancel(race, seen, dice)
        elif seen.on is On.LEFT:
            yield from self._leave(race, seen, dice)
        elif cancels:  # the server ends what it was to tell about from then on
            yield seen.passed()
        else:
            race.comes_on(seen.exchange)
            again = race.again(seen.unit)
            sent = [*self._come(race, seen, dice)] if again is None else _sends(again)
            yield from sent or [Lost()]

    def _come(self, race: RaceProgress, seen: Seen, dice: Dice) -> Iterable[Act]:
        """A message of the call comes from the server, or the end of its exchange."""
        race.count(seen.on)
        if race.cancelled:
            yield from self._after(race, seen.on, seen)
            if seen.on is On.RESPONSE:
                dice.drawn.update(race.reached())
        elif race.waits() or self._waits(race, seen.on):
            yield race.keep(seen.on, seen.unit, self.patience)
        else:
            race.give(seen.on, seen.unit)
            yield seen.passed()

    def _waits(self, race: RaceProgress, on: On) -> bool:
        if on is On.CLOSE or race.hurried:
            return False
        return self._goal.waits(race.given, answer=on is On.RESPONSE)

    @property
    def _goal(self) -> Goal:
        return Goal(self.cell, self.i, self.j)

    def _leave(self, race: RaceProgress, seen: Seen, dice: Dice) -> Iterable[Act]:
        """The client left. From 2026-07-28 on that is how it cancels; nobody hears what is said to
        it from now on, but for one that may come back.
        """
        assert seen.exchange is not None
        race.leave(seen.exchange)
        yield seen.passed()
        if is_modern(seen.era):
            yield from self._cancel(race, seen, dice)
            race.over = True

    def _cancel(self, race: RaceProgress, seen: Seen, dice: Dice) -> Iterable[Act]:
        """The client cancels: what had crossed comes, and the server reacts to the rest."""
        if race.cancelled:
            return
        race.waits()
        race.cancelled, race.emitted = True, race.given
        for on, frames in race.take():
            yield from self._after(race, on, attrs.evolve(seen, unit=frames))
        dice.drawn.update(race.reached())
        race.over |= race.answered

    def _after(self, race: RaceProgress, on: On, seen: Seen) -> Iterable[Act]:
        """What becomes of a message behind the cancel; `seen.unit` is its own."""
        answer = on is On.RESPONSE
        became: list[Act] = [Send(seen.unit)]
        if on is On.CLOSE:
            race.over = True
        elif not race.overtaken and self._goal.crosses(race.emitted, answer=answer):
            race.emitted += 1
            race.over |= answer and race.own is None
        elif answer:
            race.over |= race.own is None
            became = [*self._react(seen)]
        elif self.reaction != "late_progress":
            became = []
        frames = [frame for act in became if isinstance(act, Send) for frame in act.frames]
        yield from _sends(race.settle(seen.unit, frames))
        yield from (act for act in became if not isinstance(act, Send))

    def _react(self, seen: Seen) -> Iterable[Act]:
        """What the server does in place of the answer that it had not given yet."""
        message = seen.frame
        answer = message.content
        assert isinstance(answer, Response)
        failed = edit.error(answer.id or b"null", _REQUEST_CANCELLED, "Request cancelled")
        match self.reaction:
            case "late_result":
                yield seen.passed()
            case "late_error":
                yield Send(seen.with_raw(failed))
            case "error_then_result":
                yield Send(seen.preceded_by(failed))
            case "crash" | "close" if message.exchange is None:
                yield from dying(1 if self.reaction == "crash" else 0, None, None)
            case "crash" | "close":
                how = "reset" if self.reaction == "crash" else "closed"
                yield Send([Frame(S2C, fact=ExchangeEnd(how), exchange=message.exchange)])
                if seen.stream is not None:
                    yield Hangup("a fault ended the server")
            case _:  # a body in JSON was to come: an event stream may be empty
                head = [f for f in seen.followed_by() if isinstance(f.fact, HttpResponse)]
                yield from _sends(head)

    def _give_up(self, seen: Seen) -> Iterable[Act]:
        """The client has said all, and will not cancel: what waited for that comes."""
        for race in (race for key, race in seen.memory.items() if key != _EARLY):
            for _, frames in race.take():
                yield from _sends(frames)
        seen.memory.clear()
        yield seen.passed()


def _race_of(subject: Subject, memory: dict[Any, Any]) -> RaceProgress | None:
    """The race that this belongs to, by its call; the end of an exchange that resumed another by
    that.
    """
    call = subject.call
    if call is not None:
        race = memory.get((call.direction, call.request.id))
        return race if race is not None and race.call is call else None
    if subject.message is not None:
        return None
    exchange = subject.frame.exchange
    races = (race for key, race in memory.items() if key != _EARLY)
    return next((race for race in races if race.carries(exchange)), None)


def _sends(frames: list[Frame]) -> list[Act]:
    return [Send(frames)] if frames else []
