"""Work of a call in a thread: a long one holds up neither pings nor other calls."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from threading import BoundedSemaphore, Lock, Thread
from typing import Any, TypeVar

import attrs

from mcpmock.errors import McpMockError
from mcpmock.printable import printable
from mcpmock.stubs.call import Steps, StubCall, StubFailure

MAX_AT_ONCE = 4
MAX_WAITING = 64
_FIRST_PAUSE_S, _MAX_PAUSE_S = 0.001, 0.05
_PROGRESS_S = 1.0
_Outcome = TypeVar("_Outcome")


def _start_thread(work: Callable[[], None]) -> None:
    """Start a thread that ends with the process: `concurrent.futures` would wait for it."""
    Thread(target=work, daemon=True).start()


@attrs.define
class Workers:
    """What works for calls, a few at once."""

    start: Callable[[Callable[[], None]], None] = _start_thread
    """Called with what is to be done beside the caller."""
    _turns: BoundedSemaphore = attrs.field(factory=lambda: BoundedSemaphore(MAX_AT_ONCE))
    _counting: Lock = attrs.field(factory=Lock)
    _waiting: int = 0

    def steps(self, call: StubCall, work: Callable[[], Any]) -> Steps:
        """Do the work of a call, with progress each second. Raises StubFailure for what the user
        can mend, and if too many calls wait.
        """
        done, pause, waited, told = self._begin(work), _FIRST_PAUSE_S, 0.0, 0
        while not done.done():
            yield pause
            waited, pause = waited + pause, min(2 * pause, _MAX_PAUSE_S)
            if waited >= (told + 1) * _PROGRESS_S:
                told += 1
                call.progress(told, message="working")
        try:
            return done.result()
        except (McpMockError, ValueError) as error:
            raise StubFailure(printable(str(error))) from error
        except Exception as error:  # its text may quote what was recorded
            text = f"internal error (please report): {type(error).__name__}"
            raise StubFailure(text) from error

    def _begin(self, work: Callable[[], _Outcome]) -> Future[_Outcome]:
        with self._counting:
            if self._waiting >= MAX_WAITING:
                raise StubFailure(f"{MAX_WAITING} calls are open already; ask again later")
            self._waiting += 1
        done: Future[_Outcome] = Future()
        self.start(partial(self._work, done, work))
        return done

    def _work(self, done: Future[_Outcome], work: Callable[[], _Outcome]) -> None:
        try:
            with self._turns:
                outcome = work()
        except BaseException as error:  # noqa: BLE001 (raised where the call is answered)
            done.set_exception(error)
        else:
            done.set_result(outcome)
        finally:
            with self._counting:
                self._waiting -= 1
