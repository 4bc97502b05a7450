"""Who does the work: this process, several processes (`processes`), or the workers of a Dask
cluster (`scheduler`). To `run_in_order` they are all one: any `concurrent.futures.Executor`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from functools import partial
from threading import Thread
from typing import TypeVar

from mcpmock.errors import CannotReach, MissingExtra, WorkerLost

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 256
"""How many cassettes may be given out before the first of them is done: enough for the workers of
a cluster, and a bound on the results that wait for their turn.
"""


def run_in_order(
    work: Callable[[Item], Result], items: Iterable[Item], executor: Executor | None
) -> Generator[tuple[Item, Callable[[], Result]], None, None]:
    """Yield each item with a function that returns the result of `work` for it, or raises its
    error; in the order of the items. Without an executor the work is done when that function is
    called.
    """
    if executor is None:
        for item in items:
            yield item, partial(work, item)
        return
    given_out: deque[tuple[Item, Future[Result]]] = deque()
    try:
        for item in items:
            given_out.append((item, _submitted(executor, work, item)))
            if len(given_out) == AHEAD:
                yield _taken(given_out)
        while given_out:
            yield _taken(given_out)
    finally:
        for _, future in given_out:
            future.cancel()


def _submitted(executor: Executor, work: Callable[[Item], Result], item: Item) -> Future[Result]:
    """Report a pool that a worker's death broke, and that takes no more, like the death itself."""
    try:
        return executor.submit(work, item)
    except BrokenExecutor as error:
        future = Future[Result]()
        future.set_exception(error)
        return future


def _taken(
    given_out: deque[tuple[Item, Future[Result]]],
) -> tuple[Item, Callable[[], Result]]:
    item, future = given_out.popleft()
    return item, partial(_result_of, item, future)


def _result_of(item: object, future: Future[Result]) -> Result:
    try:
        return future.result()
    except BrokenExecutor as error:
        # All that was given out is lost with it: which file it was that killed it is not known.
        raise WorkerLost(f"a worker was killed before {item} was done; use fewer --jobs") from error
    except ModuleNotFoundError as error:
        raise WorkerLost(f"a worker has no {error.name}; install mcpmock there too") from error
    except Exception as error:
        if type(error).__name__ == "KilledWorker":  # of a library that may not be installed
            raise WorkerLost(f"every worker that read {item} died") from error
        raise


@contextmanager
def processes(jobs: int) -> Iterator[Executor | None]:
    """Open an executor of so many processes; None for one job, which this process can do itself."""
    if jobs == 1:
        yield None
        return

    import multiprocessing  # 20 ms, which most commands need not wait for
    from concurrent.futures import ProcessPoolExecutor

    # Forked, they have at once what this process has imported: else each would take 0.2 s for that.
    # There are no threads yet that a fork could break.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin_worker)
    try:
        if sys.platform == "linux":
            # A Ctrl-C waits until a worker is ready for it: Python's handlers at a fork swallow
            # what is raised, and a worker that goes on waits for ever for the lock of the queue,
            # which another one held when it died.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                pool.submit(int)  # starts all workers
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _begin_worker() -> None:
    """Prepare a new worker: Ctrl-C, which a terminal sends to all processes, ends it without a
    traceback; and it ends with its parent, however that ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None, "a worker was started by a process"
    parent.join()
    os._exit(1)


@contextmanager
def scheduler(address: str) -> Iterator[Executor]:
    """Open the executor of the Dask cluster whose scheduler has this address (`tcp://HOST:8786`).
    It gives the work of a worker that is killed to another one.
    """
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise MissingExtra("--scheduler", "dask") from error
    try:
        client = Client(address)
    except (OSError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise CannotReach(address, reason, "--scheduler") from error
    with client:
        # Not pure: the same name may stand for another file when it is read next.
        yield client.get_executor(pure=False)
