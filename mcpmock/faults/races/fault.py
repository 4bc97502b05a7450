"""`cancel_race`: a cancellation that meets the response in a given cell of the grid.

A cancellation is a notification, or over HTTP from 2026-07-28 on a client that leaves its response;
up to 2025-11-25 that cancels nothing. `grid` has the cells; `RaceProgress` is the state of one
call: what its client has received, and what waits for the cancel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from mcpmock.faults.chunking import end_server
from mcpmock.faults.delay_queue import Keep
from mcpmock.faults.fault import Act, Dice, Fault, MatchedMessage, frozen
from mcpmock.faults.match import Subject
from mcpmock.faults.segments import On
from mcpmock.faults.session_state import Effect
from mcpmock.options.units import Count, Seconds, to_seconds
from mcpmock.pipeline.stage import Hangup, Send
from mcpmock.protocol import edit
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import CANCELLED, PROGRESS, PendingCall
from mcpmock.protocol.error_codes import REQUEST_CANCELLED
from mcpmock.protocol.revisions import is_modern

from .grid import Cell, Goal, Name, Reaction

_NEVER = 1 << 30
"""More messages than ever pass: a parked message is taken out, or sent when its time is over."""


@attrs.define(eq=False)
class RaceProgress:
    """One call. `own` is the exchange that its messages come on; None where one stream carries
    everything (stdio, HTTP+SSE).
    """

    call: PendingCall
    own: int | None = None
    given: int = 0
    """Its messages that the client received before it cancelled: i, in the end."""
    emitted: int = 0
    """Its messages that the client receives in all: j, in the end."""
    total: int = 0
    """Its messages so far: k, once the response is among them."""
    highest: float = 0
    """The highest progress that the server has reported."""
    late: int = 0
    """Progress that the client receives behind its cancellation as a reaction to it."""
    cancelled: bool = False
    overtaken: bool = False
    """Whether the cancellation arrived before the call."""
    complete: bool = False
    """Whether the response is among the messages so far."""
    answered: bool = False
    """Whether the client has the response."""
    over: bool = False
    hurried: bool = False
    """Whether a message was sent because it had waited long enough: then nothing waits any more."""
    _parked: list[tuple[On, Keep]] = attrs.field(factory=list)
    _fates: dict[str, list[m.Frame] | Keep | None] = attrs.field(factory=dict)
    """By the id of an event: the frames that replaced it after the cancellation, its place if it is
    parked, or None if it was sent unchanged.
    """
    _exchanges: set[int | None] = attrs.field(init=False)
    _gone: set[int] = attrs.field(factory=set)
    """The exchanges that the client has left, or that have ended."""

    def __attrs_post_init__(self) -> None:
        self._exchanges = {self.own}

    @property
    def key(self) -> tuple[m.Direction, bytes]:
        return self.call.direction, self.call.request.id

    @property
    def resumable(self) -> bool:
        """Whether the client may ask for its events again (`Last-Event-ID`)."""
        return bool(self._fates)

    def carries(self, exchange: int | None) -> bool:
        """Return whether this is the exchange of the call, or one that resumed it."""
        return exchange in self._exchanges

    def comes_on(self, exchange: int | None) -> None:
        """Note that a message of the call came on this exchange."""
        if exchange is not None and self.own is not None:
            self._exchanges.add(exchange)

    def leave(self, exchange: int) -> None:
        """Note that the client left this exchange."""
        self._gone.add(exchange)

    def count(self, on: On, message: m.Message | None) -> None:
        """Count a message of the server."""
        if on is not On.CLOSE and not self.complete:
            self.total += 1
            self.complete = on is On.RESPONSE
        amount = m.decode(m.member(getattr(message, "params", None), "progress") or b"0")
        self.highest = max(self.highest, amount if isinstance(amount, int | float) else 0)

    def more_progress(self) -> bytes | None:
        """Return one report more than the server made; None if the call has no progress token."""
        amount = max(self.highest, self.total) + 1
        return None if self.call.token is None else edit.progress(self.call.token, amount)

    def keep(self, on: On, unit: Sequence[m.Frame], seconds: float) -> Keep:
        """Park a message until the cancellation, no longer than `seconds`."""
        keep = Keep(unit, _NEVER, seconds)
        self._parked.append((on, keep))
        self._note(unit, keep)
        return keep

    def give(self, on: On, unit: Sequence[m.Frame]) -> None:
        """Count a message that the client receives before it cancels."""
        self._count_given(on)
        self._note(unit, None)

    def waits(self) -> bool:
        """Return whether anything is parked. What was parked for too long was sent, and counts."""
        while self._parked and not self._parked[0][1].frames:
            on, _ = self._parked.pop(0)
            self._count_given(on)
            self.hurried = True
        return bool(self._parked)

    def _count_given(self, on: On) -> None:
        self.given += on is not On.CLOSE
        self.answered |= on is On.RESPONSE

    def take(self) -> list[tuple[On, list[m.Frame]]]:
        """Take out everything that is parked, in order."""
        parked, self._parked = self._parked, []
        return [(on, keep.take()) for on, keep in parked]

    def reached(self) -> dict[str, object]:
        """Return the cell that was reached, for the receipt; without k until the response has come,
        on which j may depend as well.
        """
        k = self.total + (not self.complete)
        cell = Cell(self.given, self.emitted, k)
        size = {"k": k} if self.complete else {}
        early = {"overtaken": True} if self.overtaken else {}
        return {"i": cell.i, "j": cell.j, **size, "cell": cell.name, **early}

    def settle(self, unit: Sequence[m.Frame], sent: Iterable[m.Frame]) -> list[m.Frame]:
        """Note the frames that replace a unit behind the cancellation; those that can be sent."""
        fate = [*sent]
        self._note(unit, fate)
        return self._deliverable(fate)

    def _deliverable(self, frames: Iterable[m.Frame]) -> list[m.Frame]:
        """Leave out exchanges that are over; an `ExchangeEnd` among the frames ends its own."""
        sent = []
        for frame in frames:
            if frame.exchange in self._gone:
                continue
            sent.append(frame)
            if isinstance(frame.fact, m.ExchangeEnd) and frame.exchange is not None:
                self._gone.add(frame.exchange)
        return sent

    def again(self, unit: Sequence[m.Frame]) -> list[m.Frame] | None:
        """Return the frames to send for an event that came before, on the exchange that it comes on
        now; None for a new one.
        """
        id_, exchange = _event_of(unit), unit[-1].exchange
        if id_ is None or id_ not in self._fates:
            return None
        fate = self._fates[id_]
        if isinstance(fate, list):
            return self._deliverable(_moved(frame, exchange) for frame in fate)
        if fate is None or not fate.frames:
            return [*unit]
        fate.frames[:] = unit  # it stays parked, on the exchange that the client reads now
        return []

    def _note(self, unit: Sequence[m.Frame], fate: list[m.Frame] | Keep | None) -> None:
        id_ = _event_of(unit)
        if id_ is not None:
            self._fates[id_] = fate


def _event_of(unit: Sequence[m.Frame]) -> str | None:
    """Return the id of the event that carries a message."""
    ids = [frame.fact.id for frame in unit if isinstance(frame.fact, m.SseMeta)]
    return next((id_ for id_ in ids if id_), None)


def _moved(frame: m.Frame, exchange: int | None) -> m.Frame:
    return m.Frame(frame.direction, frame.raw, frame.eol, frame.fact, exchange, frame.wire)


_MAX_RACES = 1000
"""Calls that are remembered in a session; the oldest are forgotten first."""
_OWN = On.RESPONSE | On.NOTIFICATION | On.CLOSE | On.LEFT
_CallKey = tuple[m.Direction, bytes]


@attrs.define
class _RaceMemory:
    """What `cancel_race` remembers of a session."""

    races: dict[_CallKey, RaceProgress] = attrs.field(factory=dict)
    early: list[_CallKey] = attrs.field(factory=list)
    """The cancellations whose call has not come yet."""

    def race_of(self, subject: Subject) -> RaceProgress | None:
        """Return the race that a message belongs to, by its call; the end of an exchange that
        resumed another one by that.
        """
        call = subject.call
        if call is not None:
            race = self.races.get((call.direction, call.request.id))
            return race if race is not None and race.call is call else None
        if subject.message is not None:
            return None
        exchange = subject.frame.exchange
        return next((race for race in self.races.values() if race.carries(exchange)), None)

    def begin(self, race: RaceProgress) -> None:
        self.races.pop(race.key, None)
        self.races[race.key] = race
        while len(self.races) > _MAX_RACES:
            self.races.pop(next(iter(self.races)))

    def note_early(self, key: _CallKey) -> None:
        self.early = [*self.early, key][-_MAX_RACES:]


@frozen(kw_only=True)
class CancelRace(
    Fault,
    acts_on=On.REQUEST,
    usually="server",
    memory=_RaceMemory,
    aliases={"patience": "at_most"},
):
    """The client's cancellation of a call crosses its answer, at the point that `cell` names.

    Whether an answer is already on its way when a client cancels is luck. This fault makes it
    certain: it holds the messages of the call back until the client cancels. Then it delivers those
    that had been sent before the cancellation arrived. With `cell=cancel_crosses_response` that is
    the answer: the client gets it although it has cancelled. `reaction` is what the server does
    about the rest.

    Precisely, the client gets i messages; the rest waits, no longer than `at_most`. When it cancels
    come those up to the j-th, and of the others what the `reaction` makes of them. Say either
    `cell`, or `i` and `j`. The cancellation does not reach the server: the fault reacts in its
    place.

    The receipt says which cell was reached (where the response comes behind the cancellation, the
    last receipt): a client may cancel earlier, over HTTP even before its call arrives. The same
    works for requests of the server, on stdio only: over HTTP the client's response is an HTTP
    request of its own.

    >>> fault = mcpmock.faults.CancelRace(cell="cancel_crosses_response", match={"tool": "slow"})
    """

    cell: Name | None = None
    i: Count | None = None
    j: Count | None = None
    reaction: Reaction = "silent"
    at_most: Seconds = attrs.field(default=30.0, converter=to_seconds)

    def contradictions(self) -> Iterable[str]:
        if (self.cell is None) is (self.i is None) or (self.i is None) is not (self.j is None):
            yield "cell: say either cell, or i and j"
        elif self.i is not None and self.j is not None and self.i > self.j:
            yield "j: at least i, for what was consumed had been emitted"

    def fits(self, subject: Subject) -> bool:
        return subject.frame.direction is m.C2S or subject.frame.exchange is None

    def continues(self, subject: Subject, on: On, memory: _RaceMemory) -> bool:
        if on is On.END:
            return bool(memory.races)
        if subject.call is None and subject.method == CANCELLED:
            return subject.frame.exchange is not None  # one pipe keeps the order
        race = memory.race_of(subject)
        if race is None or (race.over and on is On.LEFT):
            return False
        if on is On.NOTIFICATION and subject.method not in (PROGRESS, CANCELLED):
            return False  # a notification of a subscription is no answer to it
        if on in On.CLOSE | On.LEFT:
            return race.own is not None
        return on in _OWN

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        memory: _RaceMemory = matched.memory
        if matched.on is On.END:
            yield from self._give_up(matched, memory)
        elif matched.on is On.REQUEST:
            self._begin(matched, dice, memory)
            yield matched.passed()
        elif (race := memory.race_of(matched.subject)) is None:
            self._note_early(matched, memory)
            yield matched.passed()
        else:
            yield from self._go_on(race, matched, dice)
            if race.over and not race.resumable:
                memory.races.pop(race.key, None)

    def _begin(self, matched: MatchedMessage, dice: Dice, memory: _RaceMemory) -> None:
        call = matched.subject.call
        assert call is not None
        race = RaceProgress(call, own=None if matched.stream is not None else matched.exchange)
        if race.key in memory.early:
            memory.early.remove(race.key)
            race.cancelled = race.overtaken = True
            dice.drawn.update(race.reached())
        memory.begin(race)

    def _note_early(self, matched: MatchedMessage, memory: _RaceMemory) -> None:
        """Note a cancel of an unknown call: over HTTP it may have overtaken it."""
        message = matched.subject.message
        params = message.params if isinstance(message, m.Notification) else None
        id_ = m.member(params, "requestId")
        if id_ is not None:
            memory.note_early((matched.direction, id_))

    def _go_on(self, race: RaceProgress, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        message = matched.subject.message
        cancels = isinstance(message, m.Notification) and message.method == CANCELLED
        if cancels and matched.direction is race.call.direction:
            if accepted := matched.accepted():
                yield Send(accepted)
            yield from self._cancel(race, matched, dice)
        elif matched.on is On.LEFT:
            yield from self._leave(race, matched, dice)
        elif cancels:  # a server may cancel too: it ends a subscription by that
            yield matched.passed()
        else:
            race.comes_on(matched.exchange)
            again = race.again(matched.unit)
            sent = [*self._come(race, matched, dice)] if again is None else _sends(again)
            # What waits is not lost: the exchange that it came on stays open.
            yield from sent or [Effect(lambda session, _: session.unmute(matched.exchange))]

    def _come(self, race: RaceProgress, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        """Take a message of the call from the server, or the end of its exchange."""
        race.count(matched.on, matched.subject.message)
        if race.cancelled:
            yield from self._after(race, matched.on, matched)
            if matched.on is On.RESPONSE:
                dice.drawn.update(race.reached())
        elif race.waits() or self._waits(race, matched.on):
            yield race.keep(matched.on, matched.unit, self.at_most)
        else:
            race.give(matched.on, matched.unit)
            yield matched.passed()

    def _waits(self, race: RaceProgress, on: On) -> bool:
        if on is On.CLOSE or race.hurried:
            return False
        return self._goal.waits(race.given, answer=on is On.RESPONSE)

    @property
    def _goal(self) -> Goal:
        return Goal(self.cell, self.i, self.j)

    def _leave(self, race: RaceProgress, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        """Yield what follows when the client has left a response. From 2026-07-28 on that cancels
        the call; what is sent on this exchange from now on is lost, unless the client resumes the
        stream.
        """
        assert matched.exchange is not None
        race.leave(matched.exchange)
        yield matched.passed()
        if is_modern(matched.era):
            yield from self._cancel(race, matched, dice)
            race.over = True

    def _cancel(self, race: RaceProgress, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        """Yield what follows a cancel: what had crossed is sent, the server reacts to the rest."""
        if race.cancelled:
            return
        race.waits()
        race.cancelled, race.emitted = True, race.given
        for on, frames in race.take():
            yield from self._after(race, on, attrs.evolve(matched, unit=frames))
        dice.drawn.update(race.reached())
        race.over |= race.answered

    def _after(self, race: RaceProgress, on: On, matched: MatchedMessage) -> Iterable[Act]:
        """Return what becomes of a message behind the cancel; `matched.unit` is its own."""
        answer = on is On.RESPONSE
        became: list[Act] = [Send(matched.unit)]
        if on is On.CLOSE:
            race.over = True
        elif not race.overtaken and self._goal.crosses(race.emitted, answer=answer):
            race.emitted += 1
            race.over |= answer and race.own is None
        elif answer:
            race.over |= race.own is None
            became = [*self._react(race, matched)]
        elif self.reaction == "late_progress":
            race.late += 1
        else:
            became = []
        frames = [frame for act in became if isinstance(act, Send) for frame in act.frames]
        yield from _sends(race.settle(matched.unit, frames))
        yield from (act for act in became if not isinstance(act, Send))

    def _react(self, race: RaceProgress, matched: MatchedMessage) -> Iterable[Act]:
        """Return what the server does in place of the answer that it had not given yet."""
        message = matched.frame
        answer = message.content
        assert isinstance(answer, m.Response)
        failed = edit.error(answer.id or b"null", REQUEST_CANCELLED, "Request cancelled")
        match self.reaction:
            case "late_result":
                yield matched.passed()
            case "late_error":
                yield Send(matched.with_raw(failed))
            case "error_then_result":
                yield Send(matched.preceded_by(failed))
            case "crash" | "close" if message.exchange is None:
                yield from end_server(1 if self.reaction == "crash" else 0, None, None)
            case "crash" | "close":
                how = "reset" if self.reaction == "crash" else "closed"
                yield Send([m.Frame(m.S2C, fact=m.ExchangeEnd(how), exchange=message.exchange)])
                if matched.stream is not None:
                    yield Hangup("a fault ended the server")
            case reaction:  # a body in JSON was to come: an event stream may be empty
                sent = [f for f in matched.followed_by() if isinstance(f.fact, m.HttpResponse)]
                made_up = race.more_progress()
                if reaction == "late_progress" and not race.late and made_up is not None:
                    sent.append(matched.message(matched.direction, made_up))
                yield from _sends(sent)

    def _give_up(self, matched: MatchedMessage, memory: _RaceMemory) -> Iterable[Act]:
        """Send what waits: with its input at its end the client will not cancel any more."""
        for race in memory.races.values():
            for _, frames in race.take():
                yield from _sends(frames)
        memory.races.clear()
        yield matched.passed()


def _sends(frames: list[m.Frame]) -> list[Act]:
    return [Send(frames)] if frames else []
