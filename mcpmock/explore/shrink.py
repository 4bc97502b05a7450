"""`shrink`: the smallest variant that still breaks the same: fewest changes, then the shortest
session. `trials.search` tries the candidates.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mcpmock.cassette.model import Event
from mcpmock.trials.search import Outcome, Search, drop_each, drop_many

from .recorded_call import RecordedRequest
from .variant import Variant, VariantChange

MAX_CANDIDATES = 40
"""How many shorter sessions are tried for one failure."""
Shrinking = Search[Variant, Outcome, tuple[Variant, Outcome | None]]
_OPENING = ("initialize", "server/discover")


def shrink(
    variant: Variant, events: Sequence[Event], requests: Sequence[RecordedRequest]
) -> Shrinking[Outcome]:
    """Return the smallest variant that still fails, and its outcome, None if it is the variant
    itself. `requests` may be dropped, all but the handshake and those that the changes need; none
    where the other side is a program that makes them itself.
    """

    def with_changes(changes: Sequence[VariantChange]) -> Variant:
        return attrs.evolve(variant, changes=tuple(changes))

    changes, fewer = yield from drop_each(variant.changes, with_changes)
    needed = {n for change in changes for n in change.needs}
    droppable = [one for one in requests if one.method not in _OPENING and not one.events & needed]

    def with_requests(kept: Sequence[RecordedRequest]) -> Variant:
        if len(kept) == len(droppable):
            return with_changes(changes)
        left = set(map(id, kept))
        gone = {n for one in droppable if id(one) not in left for n in one.events}
        keep = tuple(event.n for event in events if event.n not in gone)
        return attrs.evolve(with_changes(changes), keep=keep)

    kept, shorter = yield from drop_many(droppable, with_requests, MAX_CANDIDATES)
    return with_requests(kept), shorter or fewer
