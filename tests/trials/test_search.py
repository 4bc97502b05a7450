"""The search for what breaks: what is run again, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from mcpmock.trials.search import Reruns, Search, drop_each, drop_many, run_again, run_in_turn

Dropped = Search[Sequence[int], int, tuple[Sequence[int], int | None]]


def dropped(search: Dropped, needed: set[int]) -> tuple[list[int], int | None, int]:
    """What stays of a search where trials fail if they have all of `needed`; the outcome, which is
    the size of the trial; and how many were run.
    """
    tried: list[Sequence[int]] = []

    def run(trial: Sequence[int]) -> int | None:
        tried.append(trial)
        return len(trial) if needed <= {*trial} else None

    left, outcome = run_in_turn(search, run)
    return list(left), outcome, len(tried)


def test_run_again() -> None:
    """Five times; the first one may be another trial."""
    tried: list[str] = []

    def run(trial: str) -> int | None:
        tried.append(trial)
        return len(tried) if len(tried) % 2 else None

    reruns: Reruns[str, int] = run_again("a", first="b")
    assert [1, None, 3, None, 5] == run_in_turn(reruns, run)
    assert ["b", "a", "a", "a", "a"] == tried


@pytest.mark.parametrize(
    ("needed", "left", "outcome", "tried"),
    [({1, 3}, [1, 3], 2, 4), (set(), [3], 1, 3), ({0, 1, 2, 3}, [0, 1, 2, 3], None, 4)],
)
def test_one_by_one(needed: set[int], left: list[int], outcome: int | None, tried: int) -> None:
    """One part is left in any case; None is the outcome where all are needed."""
    search: Dropped = drop_each(range(4), lambda parts: parts)

    assert (left, outcome, tried) == dropped(search, needed)


@pytest.mark.parametrize("needed", [{5}, {0, 15}, {7, 8, 9}, set()])
def test_many_at_once(needed: set[int]) -> None:
    """What is needed is left, and nothing else."""
    search: Dropped = drop_many(range(16), lambda parts: parts, 100)

    left, outcome, _ = dropped(search, needed)
    assert (sorted(needed), len(needed)) == (left, outcome)


def test_at_most() -> None:
    """The smallest of so many trials."""
    made: Callable[[Sequence[int]], Sequence[int]] = list
    search: Dropped = drop_many(range(1000), made, 3)

    left, outcome, tried = dropped(search, {999})
    assert ([*range(500, 1000)], 500, 3) == (left, outcome, tried)
