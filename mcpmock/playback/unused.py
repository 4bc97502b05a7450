"""Describes the parts of a recording that a finished session did not use.

Used by `playback.player` and `testing.unused`; `playback.candidates` knows what was sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcpmock.printable import first_of, many
from mcpmock.protocol.messages import encode
from mcpmock.redaction.placeholders import fill

from .candidates import Candidate
from .request_key import MatchSubject, match_subject

MAX_NAMED_REQUESTS = 10
"""How many unused requests are named; the others are counted."""
_MAX_ARGUMENTS_LENGTH = 80


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
            described[event.index] = f"{_describe(subject, texts)} (event {events[event.index].n})"
    return described


def list_requests(requests: Sequence[str]) -> str:
    """Return the first of them, and how many more there are."""
    return first_of(requests, MAX_NAMED_REQUESTS)


def _describe(subject: MatchSubject, texts: Mapping[str, str]) -> str:
    """Return a request in words, with these texts in the place of their placeholders."""
    params = subject.params
    name = params.get("name") if isinstance(params, dict) else None
    words = [subject.method]
    if isinstance(params, dict) and isinstance(name, str):
        words.append(name)
        params = params.get("arguments")
    if params:
        raw = params if isinstance(params, bytes) else encode(params)
        text = (fill(raw, texts) if texts else raw).decode("utf-8", "replace")
        cut = len(text) > _MAX_ARGUMENTS_LENGTH
        words.append(text[:_MAX_ARGUMENTS_LENGTH] + "..." if cut else text)
    return " ".join(words)
