"""`Schedule`: which messages of a plan are due when, in one session.

Each message goes through these states:

    waiting for causes -> held (overlaps) -> queued (pause) -> sent
             |                 |                |
             +-----------------+----------------+--> dropped

* It waits until all of its causes have happened. `causes_missing` counts them.
* It is held until the requests have come that overlapped it, or the grace is over (`overlaps`).
* It is queued until its recorded pause is over: the pause counts from when it was released, and
  from the message before it in its chain (a call, an exchange). What is due at one time leaves in
  the recorded order; an ending never before what the same stream still has to send.
* An answer is due `after_progress` behind the progress of its call, without pauses too.

It knows positions and times (seconds), and neither ids nor bytes: `candidates` says which client
events happened and renders what is sent, `plan.builder` decides who waits for whom. Pure: `now` is
an argument, and `next_due` says when to call again.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import attrs
from msgspec import Struct

from mcpmock.playback.plan.plan import NO_OVERLAPS, PlannedMessage, ReplayPlan
from mcpmock.protocol.messages import (
    ExchangeEnd,
    HttpResponse,
    ProcessExit,
    StreamEnd,
)

from .overlaps import OverlapWaits, StatelessWaits
from .timing import Pace

ENDINGS = (StreamEnd, ProcessExit, ExchangeEnd)


@attrs.define(eq=False, repr=False)
class _PacedTimes:
    """The earliest time of the next message: per chain (a call, an exchange), and per exchange."""

    pace: Pace
    paused: bool = attrs.field(init=False)
    chain_due: dict[int | None, float] = attrs.field(factory=dict)
    progress_due: dict[int | None, float] = attrs.field(factory=dict)
    _head_due: dict[int | None, float] = attrs.field(factory=dict)
    """When the head of each recorded exchange is due: nothing on the exchange is due earlier."""

    def __attrs_post_init__(self) -> None:
        self.paused = self.pace.timing.kind != "none"

    def plan_message(
        self, planned: PlannedMessage, since_s: float, now: float, floor: float
    ) -> float:
        """Return when a message is due whose causes have happened by `since_s`."""
        pause = self.pace.timing.pause(planned.gap_s) if self.paused else 0.0
        due = max(now, max(since_s, self.chain_due.get(planned.chain, since_s)) + pause)
        due = max(due, self.after_progress(planned))
        if pause:
            # Recorded times have microseconds: what was recorded together stays together.
            due = round(due, 6)
        elif not self.paused:
            due = max(due, floor)
        if planned.exchange is not None:
            due = max(due, self._head_due.get(planned.exchange, due))
            if isinstance(planned.frame.fact, HttpResponse):
                self._head_due[planned.exchange] = due
        self.chain_due[planned.chain] = due
        if planned.is_progress:
            self.progress_due[planned.chain] = due
        return due + self.pace.overlap_grace if planned.made_up else due

    def after_progress(self, planned: PlannedMessage) -> float:
        """Return the earliest time of an answer, given the progress notifications of its call."""
        # The TypeScript SDKs drop every progress callback of a call when progress and answer
        # arrive in one read.
        if not planned.answers or planned.chain not in self.progress_due:
            return -math.inf
        return self.progress_due[planned.chain] + self.pace.after_progress


class PendingMessages(Struct, frozen=True):
    """What another has still to send in a session, by the positions in a plan."""

    unsent: Mapping[int, float]
    """When those are due that wait for nothing more."""
    held: Set[int]
    waits: OverlapWaits[Any]
    chain_due: Mapping[int | None, float]
    """When the latest message of a chain is due, where that is later than now."""
    progress_due: Mapping[int | None, float]


@attrs.define(eq=False, repr=False)
class Schedule:
    """The queue of one plan in one session.

    `happened` and `done` belong to the candidate: the client events that happened, with their
    times, and the positions (in `plan.messages`) that are sent or will never be.
    """

    plan: ReplayPlan
    pace: Pace
    happened: dict[int, float]
    done: set[int]
    stateless: bool = False
    """The exchanges belong to no session: only those that overlap wait for each other."""
    held: OverlapWaits[int] = attrs.field(init=False)
    """Those that wait for overlapping requests only."""
    _times: _PacedTimes = attrs.field(init=False)
    _causes_missing: list[int] = attrs.field(init=False)
    """For each message, how many of its causes have not happened; below 0 once it is released."""
    _due: list[tuple[float, int]] = attrs.field(factory=list)
    """A heap of due times and positions."""
    _endings: dict[int | None, list[tuple[float, int]]] = attrs.field(factory=dict)
    """Endings that are due while an earlier message of the same stream is still to be sent, by
    exchange. They are looked at again when something of it is sent or dropped.
    """

    def __attrs_post_init__(self) -> None:
        self._times = _PacedTimes(self.pace)
        ranks = self.plan.request_ranks
        if self.stateless:
            self.held = StatelessWaits(self.pace, self.happened, ranks=ranks)
        else:
            self.held = OverlapWaits(self.pace, self.happened)
        for event in self.happened:
            self.held.note_event(event, ranks.get(event))
        self._causes_missing = [len(planned.causes) for planned in self.plan.messages]

    def begin(self, now: float) -> None:
        """Release the messages without causes."""
        self._release([i for i, missing in enumerate(self._causes_missing) if not missing], now)

    def resume(self, began: float, pending: PendingMessages) -> None:
        """Begin in the middle of a session: what has happened releases messages, and those that are
        not pending were sent.
        """
        self.begin(began)
        for event, time in [*self.happened.items()]:
            self.note_event(event, time)
        released = {*self.held.since_s, *(position for _, position in self._due)}
        self.done |= released - pending.unsent.keys() - pending.held
        for position in self.held.since_s.keys() - pending.held:
            self.held.drop(position)
        self._due = sorted((due, position) for position, due in pending.unsent.items())
        self.held.resume(pending.waits)
        self._times.chain_due |= pending.chain_due
        self._times.progress_due |= pending.progress_due

    def note_event(self, event: int, now: float) -> None:
        """Release the messages that waited for a client event that happened."""
        self.held.last_activity = now
        released = []
        for position in self.plan.by_cause.get(event, ()):
            self._causes_missing[position] -= 1
            if not self._causes_missing[position]:
                released.append(position)
        self._release(
            released, now, self.held.note_event(event, self.plan.request_ranks.get(event))
        )

    def end_streams(self, exchanges: Iterable[int], now: float) -> None:
        """End these recorded exchanges with the session: what their ends still wait for
        will not happen.
        """
        released = []
        for position in (p for x in exchanges for p in self.plan.by_exchange.get(x, ())):
            fact = self.plan.messages[position].frame.fact
            if isinstance(fact, ExchangeEnd) and self._causes_missing[position] > 0:
                self._causes_missing[position] = 0
                released.append(position)
        self._release(released, now)

    def stop_waiting(self, now: float) -> None:
        """Wait for no overlap: the client will send nothing more."""
        self._enqueue(self.held.take_all(), now)

    def drop(self, position: int) -> None:
        """Do not send this message, which is done."""
        self.held.drop(position)
        self._requeue_endings(position)

    def take_due(self, now: float) -> list[int]:
        """Return the positions of the due messages, in sending order."""
        if self.held.since_s:
            self._enqueue(self.held.take_expired(now), now)
        taken: list[int] = []
        if self.pace.timing.kind == "cap":
            self._keep_order(now)
        while self._due and self._due[0][0] <= now:
            due, position = heapq.heappop(self._due)
            if position in self.done:
                continue
            if self._is_early_ending(position):
                exchange = self.plan.messages[position].exchange
                self._endings.setdefault(exchange, []).append((due, position))
                continue
            self.done.add(position)
            taken.append(position)
            if self._endings:
                self._requeue_endings(position)
        return taken

    def put_back(self, positions: Iterable[int], now: float) -> None:
        """Put back positions that were taken but not sent: they are due now."""
        for position in positions:
            self.done.discard(position)
            heapq.heappush(self._due, (now, position))

    @property
    def next_due(self) -> float | None:
        """When the next message is due, if nothing else happens."""
        deadline = self.held.find_deadline()
        if not self._due or deadline is None:
            return self._due[0][0] if self._due else deadline
        return min(deadline, self._due[0][0])

    def _requeue_endings(self, position: int) -> None:
        """Look again at endings that came too early for this message, which was sent or dropped."""
        for exchange in {None, self.plan.messages[position].exchange}:
            for ending in self._endings.pop(exchange, ()):
                heapq.heappush(self._due, ending)

    def _keep_order(self, now: float) -> None:
        """Make messages that were recorded before a due message due with it: a cap shortens long
        pauses more than short ones, which would change the order.
        """
        messages = self.plan.messages
        last = max((position for due, position in self._due if due <= now), default=-1)
        early = (max(now, self._times.after_progress(messages[p])) for _, p in self._due)
        pairs = zip(self._due, early, strict=True)
        self._due = [(min(e, due) if p < last else due, p) for (due, p), e in pairs]
        heapq.heapify(self._due)

    def _is_early_ending(self, position: int) -> bool:
        """Return whether this is an ending while an earlier recorded message is still to be sent.
        The end of an exchange ends only what the exchange carries.
        """
        messages = self.plan.messages
        fact, exchange = messages[position].frame.fact, messages[position].exchange
        if fact is None or not isinstance(fact, ENDINGS):
            return False
        if exchange is None:
            ahead: Iterable[int] = (*self.held.since_s, *(other for _, other in self._due))
        else:
            carried = self.plan.by_exchange[exchange]
            ahead = (other for other in carried if self._causes_missing[other] < 0)
        return any(other < position and other not in self.done for other in ahead)

    def _release(
        self, positions: Sequence[int], now: float, unheld: Mapping[int, float] | None = None
    ) -> None:
        """Release these, whose causes happened: those that wait for no overlap go into the queue,
        and with them those that were held since some time.
        """
        ready = dict(unheld or {})
        for position in positions:
            self._causes_missing[position] = -1
            waits = self.plan.messages[position].overlaps
            if waits is NO_OVERLAPS or not self.held.hold(
                position, waits.start, waits.stop, now, waits.others
            ):
                ready[position] = now
        if ready:
            self._enqueue(ready, now)

    def _enqueue(self, ready: dict[int, float], now: float) -> None:
        """Queue what can be sent, with the time when its causes happened: pauses count from it."""
        # Without pauses, no message overtakes an earlier recorded one that became ready at the
        # same time only because that one waits out `after_progress`.
        floor = 0.0
        for position in sorted(ready):
            planned = self.plan.messages[position]
            due = self._times.plan_message(planned, ready[position], now, floor)
            floor = max(due, floor)
            heapq.heappush(self._due, (due, position))
