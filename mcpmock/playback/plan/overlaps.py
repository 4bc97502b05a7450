"""`Overlaps`: the requests that arrived before a server message was sent, and for which its replay
waits for a limited time.

They are a stretch of all requests in the order of their arrival. `plan.builder` finds them with an
`OverlapFinder`, `playback.open_overlaps` waits for them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import attrs
import msgspec


# A stretch and no list: of 50,000 calls that were open together, every answer would have a list of
# up to 50,000.
class Overlaps(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The client events `requests[start:stop]`, and `others`."""

    requests: list[int]
    """The client events with requests, in the order of their arrival; shared by a whole plan."""
    start: int = 0
    stop: int = 0
    others: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return self.start < self.stop or bool(self.others)

    def __iter__(self) -> Iterator[int]:
        yield from self.requests[self.start : self.stop]
        yield from self.others

    def with_other(self, event: int) -> Overlaps:
        """Return these and one more client event."""
        return Overlaps(self.requests, self.start, self.stop, (*self.others, event))


NO_OVERLAPS = Overlaps([])


@attrs.define
class OverlapFinder:
    """The requests of an episode, as far as they have arrived."""

    requests: list[int] = attrs.field(factory=list)
    ranks: dict[int, int] = attrs.field(factory=dict)
    """The place in `requests`, by client event."""
    _latest: int = -1
    _disordered_until: int = -1

    def add(self, event: int) -> None:
        """Add a client event with requests. Its number is that of the body, which may have been
        recorded after the next request.
        """
        if event < self._latest:
            self._disordered_until = self._latest
        self._latest = max(self._latest, event)
        self.ranks[event] = len(self.requests)
        self.requests.append(event)

    def all(self) -> Overlaps:
        """Return all requests so far."""
        return Overlaps(self.requests, 0, len(self.requests))

    def after(self, event: int) -> Overlaps:
        """Return the requests so far that were recorded after this one."""
        if event > self._disordered_until:
            start, stop = self.ranks[event] + 1, len(self.requests)
            return Overlaps(self.requests, start, stop) if start < stop else NO_OVERLAPS
        ordered = sorted(self.requests)
        others = tuple(ordered[bisect_right(ordered, event) :])
        return Overlaps(self.requests, others=others) if others else NO_OVERLAPS
