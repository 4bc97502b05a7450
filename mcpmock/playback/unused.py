"""What a performance still had when its session was over, in words for people.

Used by `player`; `performance` knows what was played.
"""

from __future__ import annotations

from .request_key import asked_of
from .schedule import Schedule


def leftovers(performance: Schedule) -> list[str]:
    """A line for each kind of thing that was left over; empty if all was used up."""
    unused = [asked_of(event.frame) for event in performance.unused]
    methods = [asked.method for asked in unused if asked is not None]
    unplayed = performance.unplayed
    answers = sum(cue.answers for cue in unplayed)
    told = (
        (len(methods), f"recorded requests never came: {', '.join(sorted(set(methods)))}"),
        (answers, "requests were left without their recorded answer"),
        (len(unplayed) - answers, "other recorded messages of the server were never due"),
    )
    return [f"{number} {words}" for number, words in told if number]
