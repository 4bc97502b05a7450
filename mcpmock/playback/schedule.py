"""`Schedule`: which messages of a plan are due when, in one session.

A message waits for its causes, then for the requests that overlapped it in the recording, then for
its recorded pause. `Schedule` knows times and positions only: `playback.candidates` reports which
client events happened and fills in the live ids, and `playback.plan.builder` decides who waits for
whom. Pure: `now` is an argument, and `next_due` says when to call again.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import attrs

from mcpmock.playback.plan.plan import NO_OVERLAPS, PlannedMessage, ReplayPlan
from mcpmock.protocol.messages import (
    ExchangeEnd,
    HttpResponse,
    ProcessExit,
    StreamEnd,
)

from .timing import Pace


@attrs.define
class OpenOverlaps:
    """The waiting messages of one plan in one session, by their positions in `plan.messages`."""

    plan: ReplayPlan
    happened: dict[int, float]
    """The client events that happened. It belongs to the candidate."""
    _missing: dict[int, int] = attrs.field(factory=dict)
    """How many things a message waits for. The requests of a stretch count as one: the last of them
    that has not come.
    """
    _behind: defaultdict[int, list[int]] = attrs.field(factory=lambda: defaultdict(list))
    """By the rank of a request: the messages of whose stretches it is the last that has not come.
    """
    # A counter in each message would need a step for each request of its stretch: 50,000 calls that
    # are all open together are 1.2e9 steps.
    _of_event: defaultdict[int, list[int]] = attrs.field(factory=lambda: defaultdict(list))
    """The messages that wait for a client event that is in no stretch."""
    _before: dict[int, int] = attrs.field(factory=dict)
    """By the rank of a request that came: a lower one, and all between the two came too."""

    def __attrs_post_init__(self) -> None:
        for event in self.happened:
            self._pass_request(event)

    def wait(self, position: int) -> bool:
        """Return whether the message has to wait; if so, `note_event` says when that is over."""
        overlaps = self.plan.messages[position].overlaps
        if not overlaps:
            return False
        events = [event for event in overlaps.others if event not in self.happened]
        missing = len(events)
        for event in events:
            self._of_event[event].append(position)
        last = self._last_missing(overlaps.stop - 1)
        if last >= overlaps.start:
            self._behind[last].append(position)
            missing += 1
        self._missing[position] = missing
        return missing > 0

    def note_event(self, event: int) -> list[int]:
        """Return a client event happened. Gives the messages that wait for nothing more."""
        over = self._of_event.pop(event, [])
        over += self._pass_request(event)
        return [position for position in over if self._is_over(position)]

    def latest(self, position: int, since: float) -> float:
        """Return when the latest of the message's overlaps came; `since` if none came after
        that.
        """
        overlaps = self.plan.messages[position].overlaps
        for event, time in reversed(self.happened.items()):
            if time <= since:
                break
            rank = self.plan.request_ranks.get(event, -1)
            if overlaps.start <= rank < overlaps.stop or event in overlaps.others:
                return time
        return since

    def _pass_request(self, event: int) -> Iterable[int]:
        """Return the messages whose whole stretch has come with this event."""
        rank = self.plan.request_ranks.get(event)
        if rank is None or rank in self._before:
            return ()
        self._before[rank] = rank - 1
        behind = self._behind.pop(rank, ())
        if not behind:
            return ()
        last, over = self._last_missing(rank), list[int]()
        for position in behind:
            waits = self.plan.messages[position].overlaps.start <= last
            (self._behind[last] if waits else over).append(position)
        return over

    def _last_missing(self, rank: int) -> int:
        """Return the last request up to this one that has not come; -1 if all came."""
        found = rank
        while found in self._before:
            found = self._before[found]
        while rank != found:  # the next search takes the short way
            self._before[rank], rank = found, self._before[rank]
        return found

    def _is_over(self, position: int) -> bool:
        self._missing[position] -= 1
        if self._missing[position]:
            return False
        del self._missing[position]
        return True


ENDINGS = (StreamEnd, ProcessExit, ExchangeEnd)


@attrs.define
class _PacedTimes:
    """The earliest time of the next message: per chain (a call, an exchange), and per exchange."""

    pace: Pace
    paused: bool = attrs.field(init=False)
    _chain_due: dict[int | None, float] = attrs.field(factory=dict)
    _progress_due: dict[int | None, float] = attrs.field(factory=dict)
    _head_due: dict[int | None, float] = attrs.field(factory=dict)
    """When the head of each recorded exchange is due: nothing on the exchange is due earlier."""

    def __attrs_post_init__(self) -> None:
        self.paused = self.pace.timing.kind != "none"

    def plan_message(
        self, planned: PlannedMessage, since: float, now: float, floor: float
    ) -> float:
        """Return when a message is due whose causes have happened by `since`."""
        pause = self.pace.timing.pause(planned.gap) if self.paused else 0.0
        due = max(now, max(since, self._chain_due.get(planned.chain, since)) + pause)
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
        self._chain_due[planned.chain] = due
        if planned.is_progress:
            self._progress_due[planned.chain] = due
        return due + self.pace.overlap_grace if planned.made_up else due

    def after_progress(self, planned: PlannedMessage) -> float:
        """Return the earliest time of an answer, given the progress notifications of its call."""
        # The TypeScript SDKs drop every progress callback of a call when progress and answer
        # arrive in one read.
        if not planned.answers or planned.chain not in self._progress_due:
            return -math.inf
        return self._progress_due[planned.chain] + self.pace.after_progress


@attrs.define
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
    last_activity: float = 0.0
    """When the client last sent anything."""
    _times: _PacedTimes = attrs.field(init=False)
    _causes_missing: list[int] = attrs.field(init=False)
    """For each message, how many of its causes have not happened; below 0 once it is released."""
    _due: list[tuple[float, int]] = attrs.field(factory=list)
    """A heap of due times and positions."""
    _endings: list[tuple[float, int]] = attrs.field(factory=list)
    """Endings that are due while an earlier message of the same stream is still to be sent."""
    _held: dict[int, float] = attrs.field(factory=dict)
    """Answers that wait for overlapping requests only, and since when."""
    _overlaps: OpenOverlaps = attrs.field(init=False)
    _deadlines: list[tuple[float, int]] = attrs.field(factory=list)
    """A heap of times at which a held answer may stop waiting, at the earliest. What the client
    does makes it later: that is found out when the time has come.
    """

    def __attrs_post_init__(self) -> None:
        self._times = _PacedTimes(self.pace)
        self._overlaps = OpenOverlaps(self.plan, self.happened)
        self._causes_missing = [len(planned.causes) for planned in self.plan.messages]

    def begin(self, now: float) -> None:
        """Release the messages without causes."""
        self.last_activity = now
        self._release([i for i, missing in enumerate(self._causes_missing) if not missing], now)

    def note_event(self, event: int, now: float) -> None:
        """Release the messages that waited for a client event that happened."""
        self.last_activity = now
        released = []
        for position in self.plan.by_cause.get(event, ()):
            self._causes_missing[position] -= 1
            if not self._causes_missing[position]:
                released.append(position)
        self._release(released, now, self._overlaps.note_event(event))

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
        self._enqueue(dict(self._held), now)
        self._held.clear()

    def drop(self, position: int) -> None:
        """Do not send this message."""
        self._held.pop(position, None)

    def take_due(self, now: float) -> list[int]:
        """Return the positions of the due messages, in sending order."""
        if self._held:
            self._enqueue(self._take_expired(now), now)
        taken: list[int] = []
        if self._endings:
            self._requeue_endings()
        if self.pace.timing.kind == "cap":
            self._keep_order(now)
        while self._due and self._due[0][0] <= now:
            due, position = heapq.heappop(self._due)
            if position in self.done:
                continue
            if self._is_early_ending(position):
                self._endings.append((due, position))
                continue
            if self._endings:
                self._requeue_endings()
            self.done.add(position)
            taken.append(position)
        return taken

    def put_back(self, positions: Iterable[int], now: float) -> None:
        """Put back positions that were taken but not sent: they are due now."""
        for position in positions:
            self.done.discard(position)
            heapq.heappush(self._due, (now, position))

    @property
    def next_due(self) -> float | None:
        """When the next message is due, if nothing else happens."""
        while self._deadlines and self._deadlines[0][1] not in self._held:
            heapq.heappop(self._deadlines)
        if not self._deadlines:
            return self._due[0][0] if self._due else None
        deadline = self._deadlines[0][0]
        return min(deadline, self._due[0][0]) if self._due else deadline

    def _requeue_endings(self) -> None:
        """Look again at endings that came too early: a message was sent or dropped
        since.
        """
        while self._endings:
            heapq.heappush(self._due, self._endings.pop())

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
            ahead: Iterable[int] = (*self._held, *(other for _, other in self._due))
        else:
            carried = self.plan.by_exchange[exchange]
            ahead = (other for other in carried if self._causes_missing[other] < 0)
        return any(other < position and other not in self.done for other in ahead)

    def _release(self, positions: Sequence[int], now: float, unheld: Sequence[int] = ()) -> None:
        """Release these, whose causes happened: those that wait for no overlap go into the queue,
        and with them the held ones that no longer wait.
        """
        ready = {
            position: self._held.pop(position) for position in unheld if position in self._held
        }
        for position in positions:
            self._causes_missing[position] = -1
            overlaps = self.plan.messages[position].overlaps
            if overlaps is not NO_OVERLAPS and self._overlaps.wait(position):
                self._held[position] = now
                heapq.heappush(self._deadlines, (self._overlap_deadline(position), position))
            else:
                ready[position] = now
        if ready:
            self._enqueue(ready, now)

    def _take_expired(self, now: float) -> dict[int, float]:
        """Return the held answers that stop waiting."""
        expired = {}
        while self._deadlines and self._deadlines[0][0] <= now:
            _, position = heapq.heappop(self._deadlines)
            if position not in self._held:
                continue
            deadline = self._overlap_deadline(position)
            if deadline <= now:
                expired[position] = self._held.pop(position)
            else:
                heapq.heappush(self._deadlines, (deadline, position))
        return expired

    def _enqueue(self, ready: dict[int, float], now: float) -> None:
        """Put messages that can be sent into the queue, with the time since when their causes have
        happened: pauses count from there.
        """
        # Without pauses, no message overtakes an earlier recorded one that became ready at the
        # same time only because that one waits out `after_progress`.
        floor = 0.0
        for position in sorted(ready):
            planned = self.plan.messages[position]
            due = self._times.plan_message(planned, ready[position], now, floor)
            if not self._times.paused:
                floor = max(due, floor)
            heapq.heappush(self._due, (due, position))

    def _overlap_deadline(self, position: int) -> float:
        """Return when a held answer stops waiting for the requests that overlapped it."""
        since, active = self._held[position], self.last_activity
        if self.stateless:
            # Clients without a session are independent: only the overlapping ones count.
            active = self._overlaps.latest(position, since)
        quiet = max(active, since) + self.pace.overlap_grace
        return min(quiet, since + self.pace.overlap_limit)
