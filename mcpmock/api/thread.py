"""`Thread`: an async function that runs under trio in a thread of its own, for callers with any
event loop or none.

The start takes less than a millisecond. Errors in the thread are raised in the caller, by `start`
and `stop`.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

import trio

from mcpmock.errors import McpMockError

STOP_TIMEOUT_S = 5.0
"""How long a thread may take to stop before it is cancelled, and again after that."""
ThreadPlace = TypeVar("ThreadPlace")
Main = Callable[[Callable[[ThreadPlace], None], trio.Event], Awaitable[None]]
"""Runs until the event is set; calls the function with its place once it serves."""


def require_trio(name: str) -> None:
    """Raise RuntimeError outside of trio, for a function that only works there."""
    if not trio.lowlevel.in_trio_run():
        raise RuntimeError(
            f"mcpmock.{name} only works under trio; elsewhere use `serve`, `connect` or a command"
        )


class Thread(Generic[ThreadPlace]):
    """`main` in a thread: `start` gives the place where it serves, `stop` ends it.

    Both block for a moment and need no event loop.
    """

    def __init__(self, main: Main[ThreadPlace]) -> None:
        self._main = main
        self._ready: SimpleQueue[ThreadPlace | BaseException] = SimpleQueue()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="mcpmock", daemon=True)
        self._token: trio.lowlevel.TrioToken | None = None
        self._scope = trio.CancelScope()
        self._stop: trio.Event | None = None

    def start(self) -> ThreadPlace:
        """Raise what `main` raises before it serves."""
        self._thread.start()
        place = self._ready.get()
        if isinstance(place, BaseException):
            self._thread.join()
            self._error = None
            if isinstance(place, McpMockError):
                raise place.with_traceback(None)  # an error of the user: the message is enough
            raise place
        return place

    def stop(self) -> None:
        """Stop the thread. Raises what `main` raised."""
        if self._stop is not None:
            self._call_soon(self._stop.set)
        self._thread.join(STOP_TIMEOUT_S)
        if self._thread.is_alive():
            self._call_soon(self._scope.cancel)
            self._thread.join(STOP_TIMEOUT_S)
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _call_soon(self, act: Callable[[], object]) -> None:
        # Not `trio.from_thread`: the caller may run under a trio of its own.
        try:
            if self._token is not None:
                self._token.run_sync_soon(act)
        except trio.RunFinishedError:
            pass

    def _run(self) -> None:
        try:
            trio.run(self._serve)
        except BaseException as error:  # noqa: BLE001 (raised again in the caller)
            self._error = error
            self._ready.put(error)

    async def _serve(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._stop = trio.Event()
        with self._scope:
            await self._main(self._ready.put, self._stop)
