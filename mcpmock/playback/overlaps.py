"""`OverlapWaits`: the messages of one session that wait for requests which overlapped them in the
recording, and for how long.

A held message leaves when those requests have come. So that a client which never sends them is not
stuck, it leaves as well when the session has been quiet for a grace. A client that lets three
graces in a row pass sends its calls one by one: from then on its grace is a millisecond, until two
of its calls overlap again.

Used by `schedule`, which knows plans, and by `known_answers`, which does without. Only numbers come
in: of client events, of messages, and the ranks of requests by their arrival in the recording.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Generic, TypeVar

import attrs

from .timing import Pace

LEARNED_GRACE_S = 0.001
"""The grace of a session whose client sends one call after the other."""
GRACES_UNTIL_LEARNED = 3
"""How many graces in a row must pass, and none of them end because the awaited requests came."""

Held = TypeVar("Held", bound=int | tuple[int, ...])
"""What stands for a held message. Of two, the lower one is the earlier."""


@attrs.define(eq=False, repr=False)
class OverlapWaits(Generic[Held]):
    """`happened` has the client events that happened, with their times; it belongs to who follows
    the client.
    """

    pace: Pace
    happened: dict[int, float]
    last_activity: float = 0.0
    """When the client last sent anything."""
    # The first key of a plain dict takes a step for each that was deleted before it.
    since_s: OrderedDict[Held, float] = attrs.field(factory=OrderedDict)
    """The held messages, and since when they are held: the longest first."""
    first_missing: int = 0
    """All requests of lower ranks have come."""
    _missing: dict[Held, int] = attrs.field(factory=dict)
    """For how many things a message waits, where it is more than one. The requests of a stretch
    count as one: the last of them that has not come.
    """
    _behind: dict[int, list[tuple[int, Held]]] = attrs.field(factory=dict)
    """By the rank of a request: the beginnings of the stretches of which it is the last that has
    not come, sorted, each with its message.
    """
    # A counter in each message would need a step for each request of its stretch: 50,000 calls that
    # are all open together are 1.2e9 steps.
    _of_event: defaultdict[int, list[Held]] = attrs.field(factory=lambda: defaultdict(list))
    """The messages that wait for a client event that is in no stretch."""
    _before: dict[int, int] = attrs.field(factory=dict)
    """By the higher ranks of requests that came: a lower one, and all between the two came too."""
    _graces_passed: int = 0
    """How many graces in a row passed."""

    def resume(self, former: OverlapWaits[Any]) -> None:
        """Go on with the graces of the session that another was keeping."""
        self.last_activity, self._graces_passed = former.last_activity, former._graces_passed

    def hold(
        self, position: Held, start: int, stop: int, now: float, others: Collection[int] = ()
    ) -> bool:
        """Return whether the message has to wait from now on: for the requests with ranks from
        `start` to `stop`, and for other client events.
        """
        missing = 0
        for event in others:
            if event not in self.happened:
                self._of_event[event].append(position)
                missing += 1
        last = self._last_missing(stop - 1) if stop > self.first_missing else -1
        if last >= start:
            _insert(self._behind.setdefault(last, []), (start, position))
            missing += 1
        if missing:
            self.since_s[position] = now
        if missing > 1:
            self._missing[position] = missing
        return missing > 0

    def note_event(self, event: int, rank: int | None) -> dict[Held, float]:
        """Note that a client event happened; `rank` is that of one with requests. Gives the
        messages that wait for nothing more, and since when they were held.
        """
        if rank is not None and self.since_s:
            self._graces_passed = 0
        over = self._pass_request(rank)
        if self._of_event:
            over = [*self._of_event.pop(event, ()), *over]
        if self._missing:
            over = [one for one in over if self._is_last(one)]
        return self._take(over) if over else {}

    def take_expired(self, now: float) -> dict[Held, float]:
        """Return the messages whose grace has passed, and since when they were held."""
        expired = []
        for position in self.since_s:
            if self._deadline(position) > now:
                break
            expired.append(position)
        self._graces_passed += bool(expired)
        return self._take(expired)

    def take_all(self) -> dict[Held, float]:
        """Return all that are held, and since when."""
        return self._take([*self.since_s])

    def drop(self, position: Held) -> None:
        """Forget a message: it is not sent."""
        self._take([position])

    def find_deadline(self) -> float | None:
        """Return when the first of them may leave, if nothing else happens."""
        return self._deadline(next(iter(self.since_s))) if self.since_s else None

    def _take(self, positions: Iterable[Held]) -> dict[Held, float]:
        held = self.since_s
        return {position: held.pop(position) for position in positions if position in held}

    def _is_last(self, position: Held) -> bool:
        """Return whether what happened is the last thing that a message waited for."""
        missing = self._missing.pop(position, 1)
        if missing > 2:
            self._missing[position] = missing - 1
        return missing == 1

    def _deadline(self, position: Held) -> float:
        """Return when a held message leaves, if nothing else happens."""
        since_s = self.since_s[position]
        quiet = max(self._last_heard(position), since_s) + self._grace
        return min(quiet, since_s + self.pace.overlap_limit)

    def _last_heard(self, position: Held) -> float:  # noqa: ARG002
        """Return when the client last sent what keeps a message waiting: anything."""
        return self.last_activity

    @property
    def _grace(self) -> float:
        if self._graces_passed < GRACES_UNTIL_LEARNED:
            return self.pace.overlap_grace
        return min(LEARNED_GRACE_S, self.pace.overlap_grace)

    def _pass_request(self, rank: int | None) -> list[Held]:
        """Return the messages whose whole stretch has come with this request."""
        if rank is None or rank < self.first_missing or rank in self._before:
            return []
        waiting = self._behind.pop(rank, [])
        if rank == self.first_missing:
            self.first_missing += 1
            while self._before and self._before.pop(self.first_missing, None) is not None:
                self.first_missing += 1
            return [position for _, position in waiting]
        self._before[rank] = rank - 1
        last, over = self._last_missing(rank) if waiting else -1, list[Held]()
        while waiting and waiting[-1][0] > last:
            over.append(waiting.pop()[1])
        if waiting:  # the others wait for an earlier one: the shorter list goes into the longer
            shorter, longer = sorted((waiting, self._behind.get(last, [])), key=len)
            for one in shorter:
                _insert(longer, one)
            self._behind[last] = longer
        return over

    def _last_missing(self, rank: int) -> int:
        """Return the last request up to this one, from `first_missing` on, that is missing."""
        found = rank
        while found in self._before:
            found = self._before[found]
        while rank != found:  # the next search takes the short way
            self._before[rank], rank = found, self._before[rank]
        return found


@attrs.define(eq=False, repr=False)
class StatelessWaits(OverlapWaits[Held]):
    """The same for exchanges that belong to no session: only those that overlap wait for each
    other. `ranks` has the ranks of client events with requests.
    """

    ranks: Mapping[int, int] = attrs.field(factory=dict)
    _overlaps: dict[Held, tuple[int, int, Collection[int]]] = attrs.field(factory=dict)
    """What the held messages were to wait for."""
    _deadlines: list[tuple[float, Held]] = attrs.field(factory=list)
    """A heap of times at which a held message may leave, at the earliest. What the clients do makes
    it later: that is found out when the time has come.
    """

    def hold(
        self, position: Held, start: int, stop: int, now: float, others: Collection[int] = ()
    ) -> bool:
        held = super().hold(position, start, stop, now, others)
        if held:
            self._overlaps[position] = start, stop, others
            heapq.heappush(self._deadlines, (self._deadline(position), position))
        return held

    def take_expired(self, now: float) -> dict[Held, float]:
        expired = []
        while self._deadlines and self._deadlines[0][0] <= now:
            _, position = heapq.heappop(self._deadlines)
            if position not in self.since_s:
                continue
            deadline = self._deadline(position)
            if deadline <= now:
                expired.append(position)
            else:
                heapq.heappush(self._deadlines, (deadline, position))
        return self._take(expired)

    def find_deadline(self) -> float | None:
        while self._deadlines and self._deadlines[0][1] not in self.since_s:
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def _take(self, positions: Iterable[Held]) -> dict[Held, float]:
        taken = super()._take(positions)
        for position in taken:
            del self._overlaps[position]
        return taken

    @property
    def _grace(self) -> float:
        return self.pace.overlap_grace

    def _last_heard(self, position: Held) -> float:
        since_s, (start, stop, others) = self.since_s[position], self._overlaps[position]
        for event, time in reversed(self.happened.items()):
            if time <= since_s:
                break
            if start <= self.ranks.get(event, -1) < stop or event in others:
                return time
        return since_s


def _insert(found: list[tuple[int, Held]], one: tuple[int, Held]) -> None:
    """Put one into a sorted list; mostly it is the last."""
    if not found or found[-1] < one:
        found.append(one)
    else:
        insort(found, one)
