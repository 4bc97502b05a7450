"""Describes the parts of a recording that a finished session did not use.

Used by `playback.player` and `testing.unused`; `playback.candidates` knows what was sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcpmock.printable import first_of, many
from mcpmock.protocol.messages import decode, encode
from mcpmock.redaction.placeholders import fill

from .candidates import Candidate
from .miss import request_words
from .request_key import match_subject

MAX_NAMED_REQUESTS = 10
"""How many unused requests are named; the others are counted."""


def leftovers(candidate: Candidate) -> list[str]:
    """Return a line for each kind of unused message; empty if everything was used."""
    unsent, unused = candidate.unsent, list(unused_requests(candidate).values())
    answers = sum(planned.answers for planned in unsent)
    counts = (
        (len(unused), "recorded request", f" never came: {list_requests(unused)}"),
        (answers, "recorded answer", " never went out"),
        (len(unsent) - answers, "other recorded message", " of the server never became due"),
    )
    return [f"{many(number, noun)}{words}" for number, noun, words in counts if number]


def unused_requests(candidate: Candidate) -> dict[int, str]:
    """Return the requests that never came, by their place in the recorded session: method, tool,
    arguments and number of the event.
    """
    events, variables = candidate.plan.episode.events, candidate.matcher.index.variables
    texts = {} if variables is None else variables.recorded
    described: dict[int, str] = {}
    for event in candidate.unused:
        subject = match_subject(event.frame)
        if subject is not None:
            # What is nested too deeply to be decoded has no words.
            params = None if isinstance(subject.params, bytes) else subject.params
            params = decode(fill(encode(params), texts)) if texts else params
            request = f"{subject.method} {request_words(subject.method, params)}".rstrip()
            described[event.index] = f"{request} (event {events[event.index].n})"
    return described


def list_requests(requests: Sequence[str]) -> str:
    """Return the first of them, and how many more there are."""
    return first_of(requests, MAX_NAMED_REQUESTS)
