"""`shrink`: the smallest variant that still breaks the same: fewest changes, then the shortest
session. Pure: a generator that gives candidates and is sent whether each failed in the same way.

Exchanges are dropped by delta debugging (Zeller, Hildebrandt: "Simplifying and Isolating
Failure-Inducing Input", 2002): first half of them at once, then quarters, then one by one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence

import attrs

from mcpmock.cassette.model import Event

from .recorded_call import RecordedRequest
from .variant import Variant

MAX_CANDIDATES = 40
"""How many variants are tried for one failure."""
_OPENING = ("initialize", "server/discover")


def shrink(
    variant: Variant, events: Sequence[Event], requests: Sequence[RecordedRequest]
) -> Generator[Variant, bool, Variant]:
    """Yield candidates; the caller sends True for one that fails in the same way. Returns the
    smallest that did. `requests` may be dropped, all but the handshake and those that the changes
    need; none where the other side is a program that makes them itself.
    """
    best, tried = variant, 0
    for change in variant.changes if len(variant.changes) > 1 else ():
        left = tuple(one for one in best.changes if one is not change)
        candidate = attrs.evolve(best, changes=left)
        if left and (yield candidate):
            best = candidate
    needed = {n for change in best.changes for n in change.needs}
    droppable = [one for one in requests if one.method not in _OPENING and not one.events & needed]
    size = len(droppable)
    while droppable and size and tried < MAX_CANDIDATES:
        dropped_any = False
        for start in range(0, len(droppable), size):
            left_over = droppable[:start] + droppable[start + size :]
            candidate = _without(best, events, requests, left_over, needed)
            tried += 1
            if (yield candidate):
                best, droppable, dropped_any = candidate, left_over, True
                break
            if tried >= MAX_CANDIDATES:
                break
        if not dropped_any:
            size //= 2
        size = min(size, len(droppable))
    return best


def _without(
    variant: Variant,
    events: Sequence[Event],
    requests: Iterable[RecordedRequest],
    left: Sequence[RecordedRequest],
    needed: set[int],
) -> Variant:
    kept = {id(one) for one in left}
    gone = {
        n
        for one in requests
        if id(one) not in kept and one.method not in _OPENING and not one.events & needed
        for n in one.events
    }
    return attrs.evolve(variant, keep=tuple(event.n for event in events if event.n not in gone))
