"""`Triggers`: which faults of a run fire on what passes in one session, and what each makes of it;
`Outcome`: the result of all that fired on one message.

A fault fires if it is here for such a message (`acts_on`, `toward`, `match`), if it is its turn
(`nth`, `probability`...), or if it goes on with what it began with an earlier message. What a fault
remembers of the session is kept here. `engine` stands above and does what the faults answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs

from mcpmock.pipeline.stage import Hangup, Send
from mcpmock.protocol.messages import C2S, Frame, HttpResponse, Request

from .call_tracker import FaultCallTracker
from .delay_queue import Keep
from .fault import Act, Dice, Fault, FaultLevel, MatchedMessage
from .match import MatchPlace, Subject
from .receipts import Armed, FaultRun, Note, Receipt
from .responses import uncounted
from .segments import Held, On, Unit


@attrs.define
class Outcome:
    """The result of the faults that fired on one unit so far."""

    carried: Send | None
    """The message, maybe changed; None if it is not sent."""
    first: list[tuple[Fault, Act]] = attrs.field(factory=list)
    """The actions in front of the message, each with its fault."""
    then: list[tuple[Fault, Act]] = attrs.field(factory=list)
    """The actions behind it."""
    fired: list[Fault] = attrs.field(factory=list)
    in_bytes: bool = False
    """Whether what is carried is no message any more, but pieces of one or the end of a stream."""

    def add(self, fault: Fault, became: Iterable[Act], matched: MatchedMessage) -> None:
        """Add the actions of a fault. Their times count from the message's arrival."""
        assert self.carried is not None
        actions = [_later(action, self.carried.after) for action in became]
        sends = [a for a in actions if isinstance(a, Send) and a.frames]
        same = [a for a in sends if a.frames[0].direction is matched.direction]
        carried = next((a for a in same if a.frames is matched.unit), same[0] if same else None)
        at = len(actions) if carried is None else actions.index(carried)
        before, behind = (
            [(fault, action) for action in part] for part in (actions[:at], actions[at + 1 :])
        )
        if carried is None:
            before, behind = [], before
        self.first += before
        in_bytes = fault.level >= FaultLevel.END
        if in_bytes and (carried is None or carried.frames is not matched.unit):
            # Nothing comes between pieces, and nothing behind the end of the stream.
            if fault.level is FaultLevel.END:
                self.then = [one for one in self.then if not _goes(one[1], matched)]
            self.then = [*behind, *self.then]
            self.in_bytes = True
        else:
            self.then += behind
        self.carried = carried
        self.fired.append(fault)

    def takes(self, level: FaultLevel) -> bool:
        """Return whether a fault of this level can change what is carried: where the message is
        lost, only the head of its stream may be left.
        """
        if self.carried is None or self.in_bytes:
            return False
        last = self.carried.frames[-1].fact
        return level is FaultLevel.BODY or not isinstance(last, HttpResponse)

    def lead(self, head: Sequence[Frame]) -> None:
        """Put the head of the stream in front, also where its first message is lost."""
        sent = Send(()) if self.carried is None else self.carried
        self.carried = Send([*head, *sent.frames], sent.after)

    def part_messages(self, unit: Unit) -> None:
        """Send the message alone, and before and behind it those that faults have put beside it."""
        frames = () if self.carried is None else self.carried.frames
        messages = [at for at, frame in enumerate(frames) if frame.fact is None]
        if self.carried is None or len(messages) < 2:
            return
        own = (at for at in messages if frames[at].raw == unit.frames[-1].raw)
        last = next(own, messages[-1])
        start = next((at for at in range(last, 0, -1) if frames[at - 1].fact is None), 0)
        beside = frames[:start], frames[last + 1 :]
        before, behind = ([Send(part, self.carried.after)] if part else [] for part in beside)
        self.first += [(self.fired[-1], one) for one in before]
        self.then = [*((self.fired[-1], one) for one in behind), *self.then]
        self.carried = Send(frames[start : last + 1], self.carried.after)

    def post_frames(self, post: Callable[[Sequence[Frame]], Sequence[Frame]]) -> None:
        """Replace the frames of each `Send` by what `post` makes of them."""

        def sent(action: Act) -> Act:
            if isinstance(action, Send) and action.frames:
                return Send(post(action.frames), action.after)
            return action

        self.first = [(fault, sent(action)) for fault, action in self.first]
        self.then = [(fault, sent(action)) for fault, action in self.then]
        if self.carried is not None:
            self.carried = Send(post(self.carried.frames), self.carried.after)

    def frames(self) -> Iterator[Frame]:
        """Yield all frames that are sent, in both directions."""
        besides = [action for _, action in (*self.first, *self.then)]
        for action in [self.carried, *besides]:
            if isinstance(action, Send | Keep):
                yield from action.frames


def _later(action: Act, after: float) -> Act:
    match action:
        case Send(frames, own):
            return Send(frames, own + after) if after else action
        case Hangup(why, own):
            return Hangup(why, own + after)
        case _:
            return action


def _goes(action: Act, matched: MatchedMessage) -> bool:
    """Return whether this is sent where the message was to go."""
    frames = action.frames if isinstance(action, Send) else ()
    way = (matched.direction, matched.exchange)
    return bool(frames) and (frames[0].direction, frames[0].exchange) == way


@attrs.define
class Triggers:
    """Those of `run`, in one session."""

    run: FaultRun
    session: int
    transport: str
    replayed: bool = False
    began: float | None = None
    input_ended: bool = False
    """Whether the server's input has ended: nothing that a fault adds arrives there."""
    calls: FaultCallTracker = attrs.field(init=False)
    _armed: Sequence[Armed] = ()
    """Those of the run that `_here` was made of, which has them in the order of their levels."""
    _here: Sequence[Armed] = ()
    _memories: dict[int, Any] = attrs.field(factory=dict)
    """By the number of the fault."""

    def __attrs_post_init__(self) -> None:
        place = MatchPlace(session=self.session, transport=self.transport)
        self.calls = FaultCallTracker(place)

    @property
    def faults(self) -> Sequence[Armed]:
        """Those that can be in this session."""
        armed = self.run.armed
        if self._armed is not armed:
            self._armed = armed
            here = (one for one in armed if one.is_here(self.session, self.transport))
            self._here = sorted(here, key=lambda one: one.fault.level)
        return self._here

    def holds(self, request: Request) -> Held | None:
        """Return what of the HTTP response to this request comes in one unit, because a fault may
        be for it.
        """
        faults = [one.fault for one in self.faults if one.concerns(request)]
        if not faults:
            return None
        return Held.STREAM if any(fault.level is FaultLevel.BODY for fault in faults) else Held.BODY

    def fire(
        self, unit: Unit, subject: Subject, now: float, *, stream: int | None, note: Note
    ) -> Outcome | None:
        """Let every fault happen whose turn it is, each to what the one before left of the
        message. None if there is none. A stream whose first message is lost still begins: its
        head is no part of what the faults of messages get.
        """
        head = unit.stream_head
        outcome = Outcome(Send(unit.frames[1:] if head else unit.frames))
        for armed in self.faults:
            if head and armed.fault.level:
                outcome.lead(head)
                head = ()
            if not outcome.takes(armed.fault.level):
                continue
            assert outcome.carried is not None
            drawn: dict[str, Any] = {}
            continues = self._continues(armed, unit, subject)
            if not continues and not self._is_its_turn(armed, unit, subject, now, drawn):
                continue
            if armed.fault.level >= FaultLevel.END:
                outcome.part_messages(unit)
            matched = MatchedMessage(
                unit=outcome.carried.frames,
                subject=subject,
                now=now,
                on=unit.on or On.OTHER,
                transport=self.transport,
                replayed=self.replayed,
                era=self.calls.place.era,
                stream=stream,
                memory=self._memory(armed),
            )
            became = self._apply(
                armed, matched, Dice(armed.random, drawn), note, continues=continues
            )
            if became is not None:
                outcome.add(armed.fault, became, matched)
        if head:
            outcome.lead(head)
        return outcome if outcome.fired else None

    def _is_for(self, armed: Armed, unit: Unit, subject: Subject) -> bool:
        fault, first = armed.fault, unit.frames[0]
        about = fault.subject(subject)
        return (
            unit.on is not None
            and unit.on in fault.acts_on
            and (unit.on in On.BEGIN | On.END or fault.goes(first.direction))
            and armed.fits(about, self.calls.place)
            and fault.fits(about)
            and (fault.level is not FaultLevel.BODY or isinstance(first.fact, HttpResponse))
        )

    def _memory(self, armed: Armed) -> Any:
        memory = self._memories.get(armed.number)
        if memory is None:
            memory = self._memories[armed.number] = armed.fault.memory()
        return memory

    def _continues(self, armed: Armed, unit: Unit, subject: Subject) -> bool:
        if unit.on is None or not armed.fault.may_continue:
            return False
        return armed.fault.continues(subject, unit.on, self._memory(armed))

    def _is_its_turn(
        self, armed: Armed, unit: Unit, subject: Subject, now: float, drawn: dict[str, Any]
    ) -> bool:
        if self.began is None:  # a client that is played may speak before the session begins
            self.began = now
        elapsed_s = now - self.began
        is_for = self._is_for(armed, unit, subject)
        return is_for and armed.turn.comes(elapsed_s, armed.random, drawn)

    def _apply(
        self, armed: Armed, matched: MatchedMessage, dice: Dice, note: Note, *, continues: bool
    ) -> list[Act] | None:
        """Return what a fault makes of a message; None if it changes nothing, or failed. A bug in
        one must not reach the wire (law 6: the observer may fail, the wire may not).
        """
        turn, drawn = armed.turn, len(dice.drawn)
        try:
            made = list(armed.fault.apply(matched, dice))
            became = [act for act in made if not (self.input_ended and _enters_input(act))]
            # What a fault begins may change only later messages; its turn fires with the first.
            changed = _changes(became, matched.unit)
            drew = armed.fault.may_continue and len(dice.drawn) > drawn and len(became) == len(made)
            if not (changed or drew):
                turn.taken -= not (continues or armed.fault.may_continue)
                return None
            fires = turn.fired < turn.taken
            turn.fired += fires
            if fires or drew:
                note(Receipt(armed.fault, turn.fired, matched, dice.drawn), matched.now)
        except Exception as error:  # noqa: BLE001 (whatever it is, the session goes on)
            turn.taken -= not continues
            self.run.mistakes.append(f"fault {armed.fault.title}: {error!r}")
            return None
        return became


def _enters_input(act: Act) -> bool:
    """Return whether this goes into the one stream to the server."""
    first = act.frames[0] if isinstance(act, Send) and act.frames else None
    return first is not None and first.direction is C2S and first.exchange is None


def _changes(became: Sequence[Act], unit: Sequence[Frame]) -> bool:
    """Return whether these actions are anything but the message as it came, at once."""
    frames: list[Frame] = []
    for act in became:
        if not isinstance(act, Send) or act.after > 0:
            return True
        frames += act.frames
    return len(frames) != len(unit) or any(map(_differs, frames, unit))


def _differs(new: Frame, old: Frame) -> bool:
    """Return whether the receiver sees another frame. To lose `Content-Length` is no difference."""
    return new is not old and (
        new.raw != old.raw
        or (new.direction, new.exchange) != (old.direction, old.exchange)
        or uncounted(new).fact != uncounted(old).fact
    )
