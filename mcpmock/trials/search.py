"""The search for what breaks: a failure is run again, and made smaller. A search is a generator
that yields a batch of trials and is sent the outcome of each, None where it did not fail in the
same way. `run_in_turn` drives one without an event loop, `sessions.explore` runs a batch at once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

Trial = TypeVar("Trial")
Outcome = TypeVar("Outcome")
Result = TypeVar("Result")
Part = TypeVar("Part")
Search = Generator[Sequence[Trial], Sequence[Outcome | None], Result]
Reruns = Search[Trial, Outcome, Sequence[Outcome | None]]
RERUNS = 5
"""How often a failure is run again."""


def run_again(trial: Trial, first: Trial | None = None) -> Reruns[Trial, Outcome]:
    """Run a trial so many times, the first time perhaps as another."""
    return (yield [first or trial, *[trial] * (RERUNS - 1)])


def drop_each(
    parts: Sequence[Part], made: Callable[[Sequence[Part]], Trial]
) -> Search[Trial, Outcome, tuple[Sequence[Part], Outcome | None]]:
    """Leave out one part after the other, but for the last. Returns what has to stay, and the
    outcome of the trial that `made` gave for it, None if that is everything.
    """
    best: tuple[Sequence[Part], Outcome | None] = parts, None
    for part in parts:
        left = [one for one in best[0] if one is not part]
        if left:
            [failed] = yield [made(left)]
            best = best if failed is None else (left, failed)
    return best


def drop_many(
    parts: Sequence[Part], made: Callable[[Sequence[Part]], Trial], most: int
) -> Search[Trial, Outcome, tuple[Sequence[Part], Outcome | None]]:
    """Leave out all parts at once, then halves, quarters, and so on to one by one, in at most so
    many trials (delta debugging: Zeller, Hildebrandt, "Simplifying and Isolating Failure-Inducing
    Input", 2002). Returns as `drop_each`.
    """
    best: tuple[Sequence[Part], Outcome | None] = parts, None
    size, tried = len(parts), 0
    while size and tried < most:
        for start in range(0, len(best[0]), size):
            left = [*best[0][:start], *best[0][start + size :]]
            tried += 1
            [failed] = yield [made(left)]
            if failed is not None:
                best = left, failed
                break
            if tried >= most:
                break
        else:
            size //= 2
        size = min(size, len(best[0]))
    return best


def run_in_turn(
    search: Search[Trial, Outcome, Result], run: Callable[[Trial], Outcome | None]
) -> Result:
    """Drive a search, one trial after the other; `run` returns None for what does not fail so."""
    try:
        batch = next(search)
        while True:
            batch = search.send([run(trial) for trial in batch])
    except StopIteration as done:
        result: Result = done.value
        return result
