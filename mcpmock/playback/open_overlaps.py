"""`OpenOverlaps`: which messages still wait for requests that overlapped them in the recording.

`playback.schedule` asks it about each message whose causes have happened, and tells it what the
client does. A request that arrives costs no more the more messages wait.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable

import attrs

from mcpmock.playback.plan.plan import ReplayPlan


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
    _behind: dict[int, list[tuple[int, int]]] = attrs.field(factory=dict)
    """By the rank of a request: the messages that wait for it and for what arrived before it, as a
    heap of the ranks at which their stretches start (negative: the last start comes first).
    """
    # All of them move on together when the request comes. A counter in each message would need a
    # step for each of them: 50,000 calls that are all open together are 1.2e9 steps.
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
            heapq.heappush(self._behind.setdefault(last, []), (-overlaps.start, position))
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
        behind = self._behind.pop(rank, None)
        if behind is None:
            return ()
        last, over = self._last_missing(rank), []
        while behind and -behind[0][0] > last:
            over.append(heapq.heappop(behind)[1])
        if behind:
            self._move(behind, last)
        return over

    def _move(self, behind: list[tuple[int, int]], rank: int) -> None:
        """Let these wait for an earlier request."""
        there = self._behind.get(rank, [])
        few, many = sorted((behind, there), key=len)
        for one in few:
            heapq.heappush(many, one)
        self._behind[rank] = many

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
