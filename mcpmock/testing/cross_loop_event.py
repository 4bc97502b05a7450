"""`CrossLoopEvent`: an event that any thread may set, and that any event loop, or none, can wait
for.

`races` uses it. No other module knows of event loops besides trio's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import trio

YIELDS_BEFORE_RETURN = 50
"""How often a waiter yields to the other tasks of its loop before it returns: a client in the same
loop has processed by then what it received.
"""


class CrossLoopEvent:
    """As `threading.Event`, with an async wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = threading.Event()
        self._wake: list[Callable[[], object]] = []

    def set(self) -> None:
        """Set it, from any thread, and more than once if need be."""
        with self._lock:
            self._set.set()
            wake, self._wake = self._wake, []
        for one in wake:
            one()

    def wait(self, seconds: float) -> bool:
        """Block the thread for at most `seconds`. Returns whether the event is set."""
        return self._set.wait(seconds)

    async def wait_async(self, seconds: float) -> bool:
        """Return the same under trio or asyncio, where only the task waits."""
        if trio.lowlevel.in_trio_run():
            return await self._wait_in_trio(seconds)
        return await self._wait_in_asyncio(seconds)

    async def _wait_in_trio(self, seconds: float) -> bool:
        event, token = trio.Event(), trio.lowlevel.current_trio_token()
        self._on_set(lambda: token.run_sync_soon(event.set))
        with trio.move_on_after(seconds):
            await event.wait()
        for _ in range(YIELDS_BEFORE_RETURN):
            await trio.lowlevel.checkpoint()
        return self._set.is_set()

    async def _wait_in_asyncio(self, seconds: float) -> bool:
        import asyncio  # noqa: TID251 (users' tests run on it)

        event, loop = asyncio.Event(), asyncio.get_running_loop()
        self._on_set(lambda: loop.call_soon_threadsafe(event.set))
        try:
            await asyncio.wait_for(event.wait(), seconds)
        except TimeoutError:
            pass
        for _ in range(YIELDS_BEFORE_RETURN):
            await asyncio.sleep(0)
        return self._set.is_set()

    def _on_set(self, wake: Callable[[], object]) -> None:
        """Call `wake` when the event is set; at once if it is set already."""
        with self._lock:
            if not self._set.is_set():
                self._wake.append(wake)
                return
        wake()
