"""`FaultEngine`: the stage that applies the faults of a run to one session.

        client end  <->  recorder  <->  FaultEngine  <->  ...  <->  server end

    frames -> `segments`: units -> `triggers`: an outcome -> `session_state`: what is sent, and when

    nothing to look at  --a fault that can be here-->  every unit is looked at
                        <--none, and no trace left--

* A recording has what the client sent and received, each receipt in front of what it is about.
* What no fault matches passes unchanged, in the batch in which it came.
* With nothing to look at, a message costs the note of which requests are open. Otherwise each unit,
  in this order: belongs to an exchange that is muted; answers a request of a fault; is lost; fires;
  passes behind what is held.
* The actions of one unit leave in the order: in front of the message, the message, behind it.
* Lives only here: the exchanges of a batch on which a fault acted, and whether a fault has asked
  anything itself. A trace is that, a frame that waits for the rest of its unit, and `SessionState`.
* Not known here: what a kind does, which messages it is for, whose turn it is; other sessions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import attrs

from mcpmock.pipeline.stage import PASS, Action, Hangup, Send, Stage
from mcpmock.protocol import messages as m
from mcpmock.protocol.http_reply import EVENT_STREAM

from .delay_queue import Keep
from .extra_posts import ExtraPosts
from .fault import OWN, Act, Fault
from .match import Subject
from .receipts import FaultRun, Note
from .responses import plain_response, uncounted
from .segments import On, Unit, UnitSplitter
from .session_state import Effect, SessionState
from .triggers import Outcome, Triggers

_OWN = m.encode(OWN)[:-1]


@attrs.define
class _Batch:
    """The actions for the frames of one read."""

    now: float
    whole: bool = False
    """Whether it ends with the end of an HTTP response."""
    actions: list[Action] = attrs.field(factory=list)
    altered: set[int] = attrs.field(factory=set)
    """The exchanges on which a fault acted: their `Content-Length` may be wrong now."""
    over: bool = False
    """Whether the session ends with these actions."""

    def add(self, actions: Iterable[Action]) -> None:
        """Add actions; frames that go the same way at once stay in one batch."""
        for action in actions:
            last = self.actions[-1] if self.actions else None
            if (
                isinstance(action, Send)
                and isinstance(last, Send)
                and last.frames[0].direction is action.frames[0].direction
            ):
                self.actions[-1] = Send([*last.frames, *action.frames])
            else:
                self.actions.append(action)
                self.over |= isinstance(action, Hangup) and not action.after

    def done(self) -> Sequence[Action]:
        return [self._uncounted(action) for action in self.actions]

    def _uncounted(self, action: Action) -> Action:
        if not isinstance(action, Send):
            return action
        frames = [uncounted(f) if f.exchange in self.altered else f for f in action.frames]
        return Send(frames, action.after)


@attrs.define
class FaultEngine(Stage):
    """The faults of `run`, in one session."""

    run: FaultRun
    session: int = 1
    transport: str = "stdio"
    note: Note = lambda _receipt, _now: None
    replayed: bool = False
    """Whether a recording answers, and no server."""
    _triggers: Triggers = attrs.field(init=False)
    _state: SessionState = attrs.field(factory=SessionState)
    _splitters: dict[m.Direction, UnitSplitter] = attrs.field(
        factory=lambda: {m.C2S: UnitSplitter(), m.S2C: UnitSplitter()}
    )
    _posts: ExtraPosts = attrs.field(factory=ExtraPosts)
    _has_asked: bool = False
    """Whether a fault has sent a request of its own: the response must not reach the server."""

    def __attrs_post_init__(self) -> None:
        self._triggers = Triggers(self.run, self.session, self.transport, self.replayed)
        self.run.spoken.add(self.transport)

    @property
    def held_until(self) -> float | None:
        ends = self._state.queue.until, self._state.open_until
        return max((end for end in ends if end is not None), default=None)

    def begin(self, now: float) -> Iterable[Action]:
        if self._triggers.began is None:
            self._triggers.began = now
        batch = _Batch(now)
        self._fire_without_frame(On.BEGIN, m.Frame(m.C2S), batch)
        return batch.actions

    def _fire_without_frame(self, on: On, nothing: m.Frame, batch: _Batch) -> None:
        if not any(on in one.fault.acts_on for one in self._triggers.faults):
            return
        unit, subject = Unit([nothing], on), Subject(nothing, None, None)
        outcome = self._fire(unit, subject, batch.now)
        if outcome is not None:
            outcome.carried = None
            self._do(unit, outcome, subject, batch)

    def feed(self, seen: Sequence[m.Frame], now: float) -> Iterable[Action]:
        if seen[0].exchange is not None:
            self._posts.learn(seen[0])
            seen = self._posts.unanswered(seen)
            if not seen:
                return ()
        if self.transport == "sse":
            self._learn_stream(seen)
        traces = self._state or self._has_asked or any(self._splitters.values())
        if not (traces or self._triggers.faults):
            self._triggers.calls.overhear(seen)
            return PASS
        batch = _Batch(now, whole=isinstance(seen[-1].fact, m.ExchangeEnd))
        for unit in self._splitters[seen[0].direction].feed(seen):
            if batch.over:
                break  # what came in the same read as the last message leaves no more
            self._take(unit, batch)
        return batch.done()

    def wake(self, now: float) -> Iterable[Action]:
        batch = _Batch(now)
        batch.add(self._state.queue.release(now))
        return batch.actions

    def _learn_stream(self, seen: Sequence[m.Frame]) -> None:
        for frame in seen:
            if isinstance(frame.fact, m.HttpResponse) and frame.fact.media_type == EVENT_STREAM:
                self._state.stream = frame.exchange

    def _take(self, unit: Unit, batch: _Batch) -> None:
        state, first = self._state, unit.frames[0]
        number, ended = first.exchange, isinstance(unit.frames[-1].fact, m.ExchangeEnd)
        if number is not None and state.exchanges.covers(first.direction, number, ended=ended):
            return
        if self._answers_a_fault(unit):
            batch.add([] if number is None else [Send(plain_response(number, 202))])
            return
        if state.is_lost(unit.frames, ended=ended):
            return
        subject = self._triggers.calls.subject(unit)
        self.run.hear(subject)
        if number is not None:
            self._watch(number, unit, subject, batch)
        outcome = self._fire(unit, subject, batch.now)
        if outcome is None:
            self._pass(unit, subject, batch)
        else:
            self._do(unit, outcome, subject, batch)
        if ended and number is not None:
            self._splitters[m.S2C].forget(number)
        if unit.on is On.END and self.replayed:
            self._fire_without_frame(On.HANGUP, m.Frame(m.S2C), batch)
        passed = outcome is None or outcome.carried is not None
        if passed and unit.on is On.END and not state.queue:
            self._triggers.input_ended = True
        if passed and unit.on is not None:
            batch.add(state.queue.passed(first.direction, unit.on))

    def _watch(self, number: int, unit: Unit, subject: Subject, batch: _Batch) -> None:
        """Watch an exchange whose request a fault may match: its response is then one unit. An
        event stream without its end loses its `Content-Length`, which may turn out wrong.
        """
        watched, first = self._splitters[m.S2C].watched, unit.frames[0]
        if first.direction is m.C2S:
            held = None if subject.call is None else self._triggers.holds(subject.call.request)
            if held is not None:
                watched[number] = held
        elif (
            number in watched
            and not batch.whole
            and isinstance(first.fact, m.HttpResponse)
            and first.fact.media_type == EVENT_STREAM
        ):
            batch.altered.add(number)

    def _answers_a_fault(self, unit: Unit) -> bool:
        """Return whether this is the response to a request that a fault has sent."""
        message = unit.frames[-1].content if self._has_asked and unit.on is On.RESPONSE else None
        return isinstance(message, m.Response) and (message.id or b"").startswith(_OWN)

    def _fire(self, unit: Unit, subject: Subject, now: float) -> Outcome | None:
        return self._triggers.fire(unit, subject, now, stream=self._state.stream, note=self.note)

    def _do(self, unit: Unit, outcome: Outcome, subject: Subject, batch: _Batch) -> None:
        """Carry out an outcome: the actions in front of the message, the message, those behind."""
        first = unit.frames[0]
        if first.exchange is not None:
            batch.altered.add(first.exchange)
        outcome.post_frames(partial(self._posts.posted, unit=unit.frames))
        sent = list(outcome.frames())
        self._state.exchanges.note_sent(unit, sent)
        self._has_asked |= any(frame.fact is None and _OWN in frame.raw for frame in sent)
        if outcome.carried is None:
            self._forget_requests(first, subject)
        for fault, action in outcome.first:
            batch.add(self._placed(action, subject, batch.now, [fault], extra=True))
        if outcome.carried is not None:
            batch.add(self._placed(outcome.carried, subject, batch.now, outcome.fired))
        for fault, action in outcome.then:
            batch.add(self._placed(action, subject, batch.now, [fault], extra=True))

    def _forget_requests(self, first: m.Frame, subject: Subject) -> None:
        """Forget the requests in a message that was withheld: they stay unanswered."""
        for item in (subject.message, *(one.message for one in subject.items)):
            if isinstance(item, m.Request):
                own = first.exchange if first.direction is m.C2S else None
                if own is not None:
                    self._triggers.calls.forget(own)
                    self._splitters[m.S2C].forget(own)

    def _placed(
        self,
        action: Act,
        subject: Subject,
        now: float,
        faults: Sequence[Fault],
        *,
        extra: bool = False,
    ) -> Iterable[Action]:
        """Order an action behind what is held; `extra` if it is not the message itself."""
        match action:
            case Keep():
                return self._state.queue.keep(action, now)
            case Effect(change):
                return change(self._state, now) or ()
            case Send():
                blocks = any(fault.blocks for fault in faults)
                return self._state.send(action, subject, now, blocks=blocks, extra=extra)
            case _:
                return (action,)

    def _pass(self, unit: Unit, subject: Subject, batch: _Batch) -> None:
        # A head that waited for its message is sent as if it had not: both in their own batches.
        parts = [unit.frames[:1], unit.frames[1:]] if unit.late else [unit.frames]
        for part in parts:
            if self._state.queue:
                batch.add(self._state.pass_on(part, subject, batch.now))
            elif unit.late:
                batch.actions.append(Send(part))
            else:
                batch.add([Send(part)])
