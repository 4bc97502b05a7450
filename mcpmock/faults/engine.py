"""`FaultEngine`: the stage that lets the faults of a run happen to one session.

        client end  <->  recorder  <->  Faults  <->  ...  <->  server end

It stands next to the client, behind the recorder: so a recording has what the client sent and what
it was really given, and a receipt in front of that. What no fault is for passes as it came, in the
batch that it came in; where a look at the bytes shows that none can be meant, without being read.

`traffic` says which frames go together, `following` what they belong to, `match` whether a fault is
for them, `holding` what waits for what, and `silence` what is not to be heard of any more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import Any

import attrs

from mcpmock.pipeline.stage import PASS, Action, Send, Stage
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Direction,
    ExchangeEnd,
    Frame,
    HttpRequest,
    HttpResponse,
    Request,
    Response,
    StreamEnd,
    encode,
)

from .batch_order import accepting, add, lines_of, way_of, without_length
from .call_tracking import CallTracking
from .delay_queue import DelayQueue
from .extra_posts import ExtraPosts
from .fault import OWN, Act, Dice, Fault, Halt, Keep, Lost, On, Seen, Wall
from .match import SPELLED_OUT, MatchPlace, Subject, concerns, fits
from .muted import MutedExchanges
from .outcome import Outcome
from .receipts import Armed, FaultRun, Interest, Note, Receipt
from .segments import Unit, Units

_OWN = encode(OWN)[:-1]
_ENDINGS = On.END | On.CLOSE | On.LEFT


@attrs.define
class FaultEngine(Stage):
    """The faults of `run`, in one session."""

    run: FaultRun
    session: int = 1
    transport: str = "stdio"
    note: Note = lambda _receipt, _now: None
    _following: CallTracking = attrs.field(init=False)
    _whole_interest: Interest | None = None
    _own_interest: Interest = attrs.field(init=False)
    _began: float | None = None
    _units: dict[Direction, Units] = attrs.field(factory=lambda: {C2S: Units(), S2C: Units()})
    _holding: DelayQueue = attrs.field(factory=DelayQueue)
    _silence: MutedExchanges = attrs.field(factory=MutedExchanges)
    _postings: ExtraPosts = attrs.field(factory=ExtraPosts)
    _altered: set[int] = attrs.field(factory=set)
    """The exchanges on which something has happened just now: no length given before is right."""
    _whole: bool = False
    """Whether the response is in one batch from its head to its end."""
    _busy: bool = False
    _asked: bool = False
    """Whether a fault has asked something in the server's name."""
    _memories: dict[int, dict[Any, Any]] = attrs.field(factory=dict)
    _begun: list[dict[Any, Any]] = attrs.field(factory=list)
    """The memories of faults that go on, while they hold anything."""
    _halted: dict[Direction, float] = attrs.field(factory=dict)
    _holes: set[Hashable] = attrs.field(factory=set)
    """The ways on which everything is lost."""
    _stream: int | None = None
    """The exchange that carries all messages to the client (HTTP+SSE)."""

    def __attrs_post_init__(self) -> None:
        place = MatchPlace(session=self.session, transport=self.transport)
        self._following = CallTracking(place, self._concerns)
        self.run.spoken.add(self.transport)

    @property
    def _interest(self) -> Interest:
        """What is worth a look in this session."""
        whole = self.run.interest
        if self._whole_interest is not whole:
            self._whole_interest = whole
            self._own_interest = whole.here(self.session, self.transport)
        return self._own_interest

    @property
    def held_until(self) -> float | None:
        return self._holding.until

    def begin(self, now: float) -> Iterable[Action]:
        self._began = now if self._began is None else self._began
        actions: list[Action] = []
        if On.BEGIN in self._interest.acts_on:
            nothing = Frame(C2S)
            outcome = self._fire(Unit([nothing], On.BEGIN), Subject(nothing, None, None), now)
            if outcome is not None:
                outcome.carried = None
                self._do(
                    Unit([nothing], On.BEGIN), outcome, Subject(nothing, None, None), now, actions
                )
        return actions

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        if seen[0].exchange is not None:
            self._postings.learn(seen[0])
            if self._postings.newest:
                seen = self._postings.unanswered(seen)
                if not (seen and self._worth_a_look(seen)):
                    return (Send(seen),)
                return self._looked_at(seen, now)
        if self._worth_a_look(seen):
            return self._looked_at(seen, now)
        if self._following.shakes_hands:
            self._following.overhear(seen)
        return PASS

    def _looked_at(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        actions: list[Action] = []
        self._whole = isinstance(seen[-1].fact, ExchangeEnd)
        for unit in self._units[seen[0].direction].feed(seen):
            self._take(unit, now, actions)
        self._busy = self._is_busy()
        if self._altered:
            actions = [without_length(action, self._altered) for action in actions]
            self._altered = set()
        return actions

    def wake(self, now: float) -> Iterable[Action]:
        actions: list[Action] = []
        add(actions, self._holding.release(now))
        self._busy = self._is_busy()
        return actions

    def _is_busy(self) -> bool:
        """Whether what was done before may concern what comes next."""
        return bool(
            self._holding
            or self._following
            or self._silence
            or self._asked
            or self._holes
            or any(self._begun)
        )

    def halted_until(self, direction: Direction) -> float | None:
        return self._halted.get(direction)

    def _worth_a_look(self, seen: Sequence[Frame]) -> bool:
        """Whether any of it may concern a fault, or what a fault has done before."""
        if self.transport == "sse":
            self._learn_stream(seen)
        if self._busy:
            return True
        interest = self._interest
        if not interest.faults:
            return False
        first, last = seen[0].fact, seen[-1].fact
        if interest.wide or (
            type(last) in (StreamEnd, ExchangeEnd) and interest.acts_on & _ENDINGS
        ):
            return True
        if type(first) is HttpRequest and not first.has_body and On.EXCHANGE in interest.acts_on:
            return True
        needles = interest.needles[seen[0].direction]
        if not needles:
            return False
        data = seen[0].raw if len(seen) == 1 else b"\n".join([frame.raw for frame in seen])
        if b"\\" in data and SPELLED_OUT.search(data) is not None:
            return True
        return any([needle in data for needle in needles])  # noqa: C419 (a list is quicker)

    def _learn_stream(self, seen: Sequence[Frame]) -> None:
        for frame in seen:
            if isinstance(frame.fact, HttpResponse) and frame.fact.media_type == EVENT_STREAM:
                self._stream = frame.exchange

    def _concerns(self, request: Request) -> bool:
        return any(concerns(armed.match, request) for armed in self._interest.faults)

    def _take(self, unit: Unit, now: float, actions: list[Action]) -> None:
        first = unit.frames[0]
        number, ended = first.exchange, isinstance(unit.frames[-1].fact, ExchangeEnd)
        if number is not None and self._silence.covers(first.direction, number, ended=ended):
            return
        if self._is_for_us(unit):
            add(actions, accepting(number))
            return
        if self._is_lost(unit, ended=ended):
            return
        subject = self._following.subject(unit)
        if number is not None:
            self._watch(number, unit, subject)
        outcome = self._fire(unit, subject, now)
        if outcome is None:
            self._pass(unit, subject, now, actions)
        else:
            self._do(unit, outcome, subject, now, actions)
        if ended and number is not None:
            self._units[S2C].forget(number)
        passed = outcome is None or outcome.carried is not None
        if self._holding and passed and unit.on is not None:
            add(actions, self._holding.passed(first.direction, unit.on))

    def _is_lost(self, unit: Unit, *, ended: bool) -> bool:
        """Whether it is on its way into a hole, which is forgotten with its exchange."""
        lost = (way := way_of(unit.frames)) in self._holes
        if ended:  # behind the server's end the client's may come; behind that nothing is heard
            self._holes -= {way, (S2C, unit.frames[0].exchange)}
        return lost

    def _watch(self, number: int, unit: Unit, subject: Subject) -> None:
        """An exchange that may be meant: its response is to come in one unit, or, an event stream
        whose end is not here yet, without a length that may turn out wrong.
        """
        units, first = self._units[S2C], unit.frames[0]
        if first.direction is C2S:
            if subject.call is not None:
                request = subject.call.request
                units.watched[number] = any(
                    armed.fault.holds_streams and concerns(armed.match, request)
                    for armed in self._interest.faults
                )
        elif number in units.watched and unit.on is None and not self._whole:
            self._altered |= {number} if isinstance(first.fact, HttpResponse) else set()

    def _is_for_us(self, unit: Unit) -> bool:
        """Whether this is the answer to what a fault has asked."""
        message = unit.frames[-1].content if self._asked and unit.on is On.RESPONSE else None
        return isinstance(message, Response) and (message.id or b"").startswith(_OWN)

    def _fire(self, unit: Unit, subject: Subject, now: float) -> Outcome | None:
        """Lets every fault happen whose turn it is, each to what the one before left of the
        message. None if there is none.
        """
        outcome = Outcome(Send(unit.frames))
        for armed in self._interest.faults:
            if outcome.carried is None:
                break
            drawn: dict[str, object] = {}
            continues = self._continues(armed, unit, subject)
            if not continues and not self._is_its_turn(armed, unit, subject, now, drawn):
                continue
            seen = Seen(
                unit=outcome.carried.frames,
                subject=subject,
                now=now,
                on=unit.on or On.OTHER,
                transport=self.transport,
                era=self._following.place.era,
                stream=self._stream,
                memory=self._memory(armed),
            )
            dice = Dice(armed.random, drawn)
            became = self._apply(armed, seen, dice, now, continues=continues)
            if became is not None:
                outcome.add(armed.fault, became, seen)
        return outcome if outcome.fired else None

    def _is_for(self, armed: Armed, unit: Unit, subject: Subject) -> bool:
        fault, first = armed.fault, unit.frames[0]
        about = subject.carried if fault.by_exchange else subject
        if not (
            unit.on is not None
            and unit.on in fault.acts_on
            and (unit.on in On.BEGIN | On.END or fault.goes(first.direction))
            and fits(armed.match, about, self._following.place)
            and fault.fits(about)
        ):
            return False
        headless = fault.needs_head and not isinstance(first.fact, HttpResponse)
        armed.headless += headless
        return not headless

    def _memory(self, armed: Armed) -> dict[Any, Any]:
        memory = self._memories.get(id(armed))
        if memory is None:
            memory = self._memories[id(armed)] = {}
            self._begun += [memory] if armed.fault.goes_on else []
        return memory

    def _continues(self, armed: Armed, unit: Unit, subject: Subject) -> bool:
        memory = self._memories.get(id(armed))
        on = unit.on
        if on is None or not (memory or armed.fault.overhears):
            return False
        return armed.fault.continues(subject, on, memory or {})

    def _is_its_turn(
        self, armed: Armed, unit: Unit, subject: Subject, now: float, drawn: dict[str, object]
    ) -> bool:
        if self._began is None:  # a client that is played may speak before we begin
            self._began = now
        since = now - self._began
        return self._is_for(armed, unit, subject) and armed.turn.comes(since, armed.random, drawn)

    def _apply(
        self, armed: Armed, seen: Seen, dice: Dice, now: float, *, continues: bool
    ) -> list[Act] | None:
        """What a fault makes of it. A bug in one must not reach the wire (law 6)."""
        try:
            became = list(armed.fault.apply(seen, dice))
            if dice.drawn or not continues:
                self.note(Receipt(armed.fault, armed.turn.fired, seen, dice.drawn), now)
        except Exception as error:  # noqa: BLE001 (whatever it is, the session goes on)
            armed.turn.fired -= not continues
            self.run.mistakes.append(f"fault {armed.fault.title}: {error!r}")
            return None
        return became

    def _do(
        self, unit: Unit, outcome: Outcome, subject: Subject, now: float, actions: list[Action]
    ) -> None:
        """What became of the message, and what came of it besides."""
        first = unit.frames[0]
        mute = any(fault.mutes for fault in outcome.fired) and first.exchange != self._stream
        if first.exchange is not None:
            self._altered.add(first.exchange)
        outcome.posted(partial(self._postings.posted, unit=unit.frames))
        sent = list(outcome.frames())
        if any(fault.swallows for fault in outcome.fired):
            self._holes.add(way_of(unit.frames))
        lost = any(isinstance(act, Lost) for _, act in (*outcome.first, *outcome.then))
        if not lost:
            self._silence.after(unit, sent, mute=mute)
        self._asked |= any(frame.fact is None and _OWN in frame.raw for frame in sent)
        for item in (subject.message, *(one.message for one in subject.items)):
            if outcome.carried is None and isinstance(item, Request):
                own = first.exchange if first.direction is C2S else None
                self._following.forget(first.direction, item, own)
                if own is not None:
                    self._units[S2C].forget(own)
        for fault, action in outcome.first:
            add(actions, self._placed(action, subject, now, [fault], besides=True))
        if outcome.carried is not None:
            add(actions, self._placed(outcome.carried, subject, now, outcome.fired))
        for fault, action in outcome.then:
            add(actions, self._placed(action, subject, now, [fault], besides=True))

    def _placed(
        self,
        action: Act,
        subject: Subject,
        now: float,
        faults: Sequence[Fault],
        *,
        besides: bool = False,
    ) -> Iterable[Action]:
        """An action in its place among what is held."""
        match action:
            case Keep():
                yield from self._holding.keep(action, now)
            case Wall(direction, seconds):
                yield from self._holding.wall(direction, now + seconds)
            case Halt(direction, seconds):
                self._halted[direction] = now + seconds
            case Lost():
                pass
            case Send():
                yield from self._placed_frames(action, subject, now, faults, besides=besides)
            case _:
                yield action

    def _placed_frames(
        self, action: Send, subject: Subject, now: float, faults: Sequence[Fault], *, besides: bool
    ) -> Iterable[Action]:
        if not action.frames:
            return
        due = now + action.after if action.after > 0 else now
        blocks = any(fault.blocks for fault in faults)
        if not blocks and (besides or any(fault.reorders for fault in faults)):
            yield from self._holding.send_freely(action.frames, due, now)
            return
        lines = [*lines_of(action.frames, subject, self._stream)]
        if due > now:
            lines.append(way_of(action.frames))
        yield from self._holding.send(action.frames, due, now, lines, barrier=blocks)

    def _pass(self, unit: Unit, subject: Subject, now: float, actions: list[Action]) -> None:
        # What waited for the rest goes as if it had not: each of both in a batch of its own.
        parts = [unit.frames[:1], unit.frames[1:]] if unit.late else [unit.frames]
        for part in parts:
            if self._holding:
                lines = lines_of(part, subject, self._stream)
                add(actions, self._holding.send(part, now, now, lines))
            elif unit.late:
                actions.append(Send(part))
            else:
                add(actions, [Send(part)])
