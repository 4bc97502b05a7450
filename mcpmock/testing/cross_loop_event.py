"""`CrossLoopEvent`: something that comes once, in any thread, and is waited for in any event loop
or none.

`races` stands above. Only here does anything of ours know that there are other loops than trio's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import trio

_ROUNDS = 50
"""How often all other tasks are let go on before a moment is said to have come: a client in the
same loop has taken in by then what it was given.
"""


class CrossLoopEvent:
    """Comes with `set`. Whoever waits is woken."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._come = threading.Event()
        self._wake: list[Callable[[], object]] = []

    def set(self) -> None:
        """It has come. May be called from any thread, and again."""
        with self._lock:
            self._come.set()
            wake, self._wake = self._wake, []
        for one in wake:
            one()

    def wait(self, patience: float) -> bool:
        """Blocks the thread, at most so many seconds; whether it has come."""
        return self._come.wait(patience)

    async def waited(self, patience: float) -> bool:
        """The same under trio or asyncio, where only the task waits."""
        if trio.lowlevel.in_trio_run():
            come = await self._in_trio(patience)
        else:
            come = await self._in_asyncio(patience)
        return come

    async def _in_trio(self, patience: float) -> bool:
        event, token = trio.Event(), trio.lowlevel.current_trio_token()
        self._tell(lambda: token.run_sync_soon(event.set))
        with trio.move_on_after(patience):
            await event.wait()
        for _ in range(_ROUNDS):
            await trio.lowlevel.checkpoint()
        return self._come.is_set()

    async def _in_asyncio(self, patience: float) -> bool:
        import asyncio  # noqa: TID251 (the tests of others run on it)

        event, loop = asyncio.Event(), asyncio.get_running_loop()
        self._tell(lambda: loop.call_soon_threadsafe(event.set))
        try:
            await asyncio.wait_for(event.wait(), patience)
        except TimeoutError:
            pass
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)
        return self._come.is_set()

    def _tell(self, wake: Callable[[], object]) -> None:
        """At once if it has come already."""
        with self._lock:
            if not self._come.is_set():
                self._wake.append(wake)
                return
        wake()
