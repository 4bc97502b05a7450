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
from collections import defaultdict
from collections.abc import Iterable, Mapping

import attrs

from mcpmock.playback.plan.plan import Overlaps

from .timing import Pace

LEARNED_GRACE_S = 0.001
"""The grace of a session whose client sends one call after the other."""
GRACES_UNTIL_LEARNED = 3
"""How many graces in a row must pass, and none of them end because the awaited requests came."""


@attrs.define
class OverlapWaits:
    """`happened` has the client events that happened, with their times; it belongs to who follows
    the client. `ranks` has the ranks of client events with requests; only exchanges without a
    session need it.
    """

    pace: Pace
    happened: dict[int, float]
    ranks: Mapping[int, int] = attrs.field(factory=dict)
    stateless: bool = False
    """The exchanges belong to no session: only those that overlap wait for each other."""
    last_activity: float = 0.0
    """When the client last sent anything."""
    since_s: dict[int, float] = attrs.field(factory=dict)
    """The held messages, and since when they are held."""
    first_missing: int = 0
    """All requests of lower ranks have come."""
    _overlaps: dict[int, Overlaps] = attrs.field(factory=dict)
    """What each of them waits for."""
    _missing: dict[int, int] = attrs.field(factory=dict)
    """For how many things a message waits. The requests of a stretch count as one: the last of them
    that has not come.
    """
    _behind: dict[int, list[tuple[int, int]]] = attrs.field(factory=dict)
    """By the rank of a request: the messages of whose stretches it is the last that has not come. A
    heap, with the latest beginning of a stretch first (below 0).
    """
    # A counter in each message would need a step for each request of its stretch: 50,000 calls that
    # are all open together are 1.2e9 steps.
    _of_event: defaultdict[int, list[int]] = attrs.field(factory=lambda: defaultdict(list))
    """The messages that wait for a client event that is in no stretch."""
    _before: dict[int, int] = attrs.field(factory=dict)
    """By the higher ranks of requests that came: a lower one, and all between the two came too."""
    _deadlines: list[tuple[float, int]] = attrs.field(factory=list)
    """A heap of times at which a held message may leave, at the earliest. What the client does
    makes it later: that is found out when the time has come.
    """
    _graces_passed: int = 0
    """How many graces in a row passed."""

    def resume(self, former: OverlapWaits) -> None:
        """Go on with the graces of the session that another was keeping."""
        self.last_activity, self._graces_passed = former.last_activity, former._graces_passed
        self._deadlines = sorted((self._deadline(position), position) for position in self.since_s)

    def hold(self, position: int, overlaps: Overlaps, now: float) -> bool:
        """Return whether the message has to wait from now on."""
        events = [event for event in overlaps.others if event not in self.happened]
        for event in events:
            self._of_event[event].append(position)
        last = self._last_missing(overlaps.stop - 1)
        stretch = last >= overlaps.start
        if stretch:
            heapq.heappush(self._behind.setdefault(last, []), (-overlaps.start, position))
        if not (stretch or events):
            return False
        self._missing[position] = len(events) + stretch
        self._overlaps[position] = overlaps
        self.since_s[position] = now
        heapq.heappush(self._deadlines, (self._deadline(position), position))
        return True

    def pass_next(self) -> None:
        """Note that the first missing request has come, while nothing is held."""
        self.first_missing += 1
        while self._before and self._before.pop(self.first_missing, None) is not None:
            self.first_missing += 1

    def note_event(self, event: int, rank: int | None) -> dict[int, float]:
        """Note that a client event happened; `rank` is that of one with requests. Gives the
        messages that wait for nothing more, and since when they were held.
        """
        if rank is not None and self.since_s:
            self._graces_passed = 0
        over = [*self._of_event.pop(event, ()), *self._pass_request(rank)]
        for position in over:
            if position in self._missing:
                self._missing[position] -= 1
        return self._take([p for p in over if not self._missing.get(p, 1)])

    def take_expired(self, now: float) -> dict[int, float]:
        """Return the messages whose grace has passed, and since when they were held."""
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
        taken = self._take(expired)
        self._graces_passed += bool(taken)
        if taken and self._graces_passed == GRACES_UNTIL_LEARNED:
            self.resume(self)  # with another grace
        return taken

    def take_all(self) -> dict[int, float]:
        """Return all that are held, and since when."""
        return self._take([*self.since_s])

    def drop(self, position: int) -> None:
        """Forget a message: it is not sent."""
        self._take([position])

    def find_deadline(self) -> float | None:
        """Return when the first of them may leave, if nothing else happens."""
        while self._deadlines and self._deadlines[0][1] not in self.since_s:
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def _take(self, positions: Iterable[int]) -> dict[int, float]:
        taken = {
            position: self.since_s.pop(position)
            for position in positions
            if position in self.since_s
        }
        for position in taken:
            del self._missing[position], self._overlaps[position]
        return taken

    def _deadline(self, position: int) -> float:
        """Return when a held message leaves, if nothing else happens."""
        since_s, active = self.since_s[position], self.last_activity
        if self.stateless:
            # Clients without a session are independent: only the overlapping ones count.
            active = self._latest(self._overlaps[position], since_s)
        quiet = max(active, since_s) + self._grace
        return min(quiet, since_s + self.pace.overlap_limit)

    @property
    def _grace(self) -> float:
        if self.stateless or self._graces_passed < GRACES_UNTIL_LEARNED:
            return self.pace.overlap_grace
        return min(LEARNED_GRACE_S, self.pace.overlap_grace)

    def _latest(self, overlaps: Overlaps, since_s: float) -> float:
        """Return when the latest of these came; `since_s` if none came after that."""
        for event, time in reversed(self.happened.items()):
            if time <= since_s:
                break
            rank = self.ranks.get(event, -1)
            if overlaps.start <= rank < overlaps.stop or event in overlaps.others:
                return time
        return since_s

    def _pass_request(self, rank: int | None) -> Iterable[int]:
        """Return the messages whose whole stretch has come with this request."""
        if rank is None or rank < self.first_missing or rank in self._before:
            return ()
        if rank == self.first_missing:
            self.pass_next()
        else:
            self._before[rank] = rank - 1
        waiting, over = self._behind.pop(rank, []), list[int]()
        last = self._last_missing(rank) if waiting else -1
        while waiting and -waiting[0][0] > last:
            over.append(heapq.heappop(waiting)[1])
        if waiting:  # the others wait for an earlier one: the shorter heap goes into the longer
            shorter, longer = sorted((waiting, self._behind.get(last, [])), key=len)
            for one in shorter:
                heapq.heappush(longer, one)
            self._behind[last] = longer
        return over

    def _last_missing(self, rank: int) -> int:
        """Return the last request up to this one that has not come; -1 if all came."""
        found = rank
        while found in self._before:
            found = self._before[found]
        while rank != found:  # the next search takes the short way
            self._before[rank], rank = found, self._before[rank]
        return found if found >= self.first_missing else -1
