"""`Expectations`: what the client waits for before its next line, and for how long.

Answers get as long as they may reasonably take, other messages only a moment: neither a
notification that a server no longer sends nor a server that never stops sending may stop the run.
The cost of each call does not depend on how much was sent before. Pure; used by `client.driver`.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable

import attrs
from msgspec import Struct

from .script import SERVER_END, ClientScript, ExpectedEvent, ScriptLine


class Patience(Struct, frozen=True):
    """How long the driver waits, in seconds: for an answer at least `answer`, and `times` the
    recorded time; for other messages `event` after the last activity, or, while a call is open,
    `times` the recorded time.
    """

    answer: float = 10.0
    times: float = 5.0
    event: float = 0.5
    silences: int = 3
    """The run gives up after so many missing answers in a row without any other message."""


@attrs.define(eq=False, repr=False)
class Expectations:
    """What one run waits for. `start_line` names the next line; `awaited` and `missing` say what it
    still waits for.
    """

    script: ClientScript
    patience: Patience
    ready_at: float | None = None
    """When all that the next line waits for had come."""
    awaited: set[int] = attrs.field(factory=set)
    """The calls whose answers the next line waits for."""
    missing: Counter[ExpectedEvent] = attrs.field(factory=Counter)
    """The events that the next line waits for."""
    not_sent: Counter[ExpectedEvent] = attrs.field(factory=Counter)
    """The events that were waited for in vain, and have not come since."""
    _open: dict[int, float] = attrs.field(factory=dict)
    """The calls without an answer, and since when."""
    _given_up: list[int] = attrs.field(factory=list)
    _surplus: Counter[ExpectedEvent] = attrs.field(factory=Counter)
    """Events that came and that no line has waited for yet."""
    _kinds: frozenset[ExpectedEvent] = attrs.field(init=False)
    _latest: list[tuple[float, int]] = attrs.field(factory=list)
    """Max-heap of the answer deadlines (stored negated)."""
    _longest: float = 0.0
    _active_at: float = 0.0
    """When either side last sent anything."""
    _answered_at: float = 0.0
    """When the last answer came or the line before was sent: from then on only events are missing.
    """

    def __attrs_post_init__(self) -> None:
        events = (event for line in self.script.lines for event in line.events)
        self._kinds = frozenset(events)

    def start_line(self, line: ScriptLine, now: float) -> None:
        """Take this line as the next; what the one before still missed is not waited for again."""
        self.ready_at, self._answered_at = None, now
        self._longest = max(self.patience.event, self.patience.times * line.wait)
        self.awaited = {call for call in line.answers if call in self._open}
        self._latest = [(-self._deadline(call), call) for call in self.awaited]
        heapq.heapify(self._latest)
        self.missing = Counter(line.events)
        for event in line.events:
            if self._surplus[event]:
                self._take(self._surplus, event)
                self._take(self.missing, event)
        self._check(now)

    def note_activity(self, now: float, calls: Iterable[int] = ()) -> None:
        """Note that either side sent something; `calls` are the calls that were made."""
        self._active_at = now
        self._open.update(dict.fromkeys(calls, now))

    def answered(self, call: int, now: float) -> float | None:
        """Note that the answer came. Gives the seconds that it took, None if the call was not
        open.
        """
        sent_at = self._open.pop(call, None)
        if sent_at is None:
            return None
        self._answered_at = now
        self.awaited.discard(call)
        self._check(now)
        return now - sent_at

    def cancelled(self, call: int) -> bool:
        """Note that the client no longer waits for it: an answer may come and need not. Gives
        whether it was open.
        """
        return self._open.pop(call, None) is not None

    def forget(self, call: int, now: float) -> None:
        """Let no line wait for this answer any more."""
        self.awaited.discard(call)
        self._check(now)

    @property
    def quiet_at(self) -> float:
        """When both sides have sent nothing for a moment."""
        return self._active_at + self.patience.event

    def note_event(self, event: ExpectedEvent, now: float) -> None:
        """Note an event. Events that no line waits for are not counted: a server may invent any
        number of names.
        """
        if self.missing[event]:
            self._take(self.missing, event)
            self._check(now)
        elif self.not_sent[event]:
            self._take(self.not_sent, event)
        elif event in self._kinds:
            self._surplus[event] += 1

    def until(self) -> float:
        """Return when the next line stops waiting."""
        while self._latest and self._latest[0][1] not in self.awaited:
            heapq.heappop(self._latest)
        if self._latest:
            return -self._latest[0][0]
        patience = self._longest if self._open else self.patience.event
        if SERVER_END in self.missing:
            patience = max(self._longest, self.patience.answer)
        return min(
            self._active_at + patience, self._answered_at + max(self.patience.answer, patience)
        )

    def give_up(self) -> None:
        """Let the next line no longer wait, nor any other for the same."""
        for call in self.awaited:
            self._open.pop(call, None)
        self._given_up += self.awaited
        self.awaited.clear()
        self.missing.clear()

    def unanswered(self) -> list[int]:
        """Return the calls that were answered in the recording and are not, whether still awaited
        or given up.
        """
        still_open = (call for call in self._open if call in self.script.latencies)
        return [*self._given_up, *still_open]

    def _deadline(self, call: int) -> float:
        took = self.script.latencies.get(call, 0.0)
        return self._open[call] + max(self.patience.answer, self.patience.times * took)

    def _check(self, now: float) -> None:
        if self.ready_at is None and not self.awaited and not self.missing:
            self.ready_at = now

    @staticmethod
    def _take(events: Counter[ExpectedEvent], event: ExpectedEvent) -> None:
        events[event] -= 1
        if not events[event]:
            del events[event]
