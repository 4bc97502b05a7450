"""Work that is shared out; threads stand for the workers."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from itertools import count, islice
from threading import Barrier
from typing import Any

import pytest

from mcpmock.batch.executors import AHEAD, run_in_order
from mcpmock.errors import CassetteError, WorkerLost


def half(number: int) -> int:
    if number % 2:
        raise CassetteError(number, "is odd")
    return number // 2


class Refusing(Executor):
    """Its workers are lost with this error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def submit(self, *_work: Any, **_more: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(self.error)
        return future


class KilledWorker(Exception):
    """As Dask's is named."""


def test_results_come_in_order() -> None:
    """Whoever is done first; an error is raised where the result is asked for."""
    both = Barrier(2)

    def work(number: int) -> int:
        if number < 2:
            both.wait(10)  # passes only if two work at once
        return number * number

    with ThreadPoolExecutor(2) as executor:
        found = [(item, result()) for item, result in run_in_order(work, range(1000), executor)]

    assert [(number, number * number) for number in range(1000)] == found


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_belongs_to_its_item(workers: int) -> None:
    """With workers or without."""
    with ThreadPoolExecutor(max(workers, 1)) as pool:
        results = dict(run_in_order(half, [4, 5, 6], pool if workers else None))
        with pytest.raises(CassetteError, match="5: is odd"):
            results[5]()

        assert (2, 3) == (results[4](), results[6]())


def test_no_more_is_given_out_than_can_wait() -> None:
    """The list of files may be endless, and the caller may stop."""
    items = count()
    with ThreadPoolExecutor(2) as executor:
        results = run_in_order(half, items, executor)
        assert [0, 2, 4] == [item for item, _ in islice(results, 0, 5, 2)]
        results.close()

    assert AHEAD + 5 >= next(items)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (BrokenExecutor("x"), "a worker was killed before a.jsonl was done; use fewer --jobs"),
        (KilledWorker("x"), "every worker that read a.jsonl died"),
        (ModuleNotFoundError("x", name="mcpmock"), "a worker has no mcpmock; install"),
    ],
)
def test_a_worker_that_is_lost(error: Exception, words: str) -> None:
    """The error says what to do."""
    [(_, result)] = run_in_order(half, ["a.jsonl"], Refusing(error))  # type: ignore[arg-type]
    with pytest.raises(WorkerLost, match=words):
        result()


def test_a_mistake_of_ours_is_raised_as_it_is() -> None:
    """So that its traceback shows."""
    [(_, result)] = run_in_order(half, [1], Refusing(ZeroDivisionError("x")))
    with pytest.raises(ZeroDivisionError):
        result()
