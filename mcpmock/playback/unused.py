"""Describes the parts of a recording that a finished session did not use.

Used by `playback.player`; `playback.candidates` knows what was sent.
"""

from __future__ import annotations

from .candidates import Candidate
from .request_key import match_subject


def leftovers(candidate: Candidate) -> list[str]:
    """A line for each kind of unused message; empty if everything was used."""
    subjects = [match_subject(event.frame) for event in candidate.unused]
    methods = [subject.method for subject in subjects if subject is not None]
    unsent = candidate.unsent
    answers = sum(planned.answers for planned in unsent)
    counts = (
        (len(methods), f"recorded requests never came: {', '.join(sorted(set(methods)))}"),
        (answers, "requests were left without their recorded answer"),
        (len(unsent) - answers, "other recorded messages of the server were never due"),
    )
    return [f"{number} {words}" for number, words in counts if number]
