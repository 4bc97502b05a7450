"""The signals that tell us to stop, and what they make of the exit status.

They are ours where a process is: inside somebody else's program (`embedded`) nothing is taken, and
an event takes their place.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import trio

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_embedded: ContextVar[trio.Event | None] = ContextVar("_embedded", default=None)


@contextmanager
def embedded(stop: trio.Event) -> Iterator[None]:
    """Inside, the process is somebody else's (a test run, a program that uses the Python API), and
    `stop` is what a SIGTERM is elsewhere.
    """
    token = _embedded.set(stop)
    try:
        yield
    finally:
        _embedded.reset(token)


@contextmanager
def taking_signals() -> Iterator[AsyncIterator[int]]:
    """The signals that tell us to stop. They are taken for good: behind the session the exit status
    is settled, and a late one must neither change it nor print anything.
    """
    stop = _embedded.get()
    if stop is not None:
        yield _Stopped(stop)
        return
    for signum in _SIGNALS:
        signal.signal(signum, signal.SIG_IGN)
    with trio.open_signal_receiver(*_SIGNALS) as signals:
        yield signals


class _Stopped(AsyncIterator[int]):
    """One SIGTERM, when the event is set. No generator: one that is left in the middle warns."""

    def __init__(self, stop: trio.Event) -> None:
        self._stop = stop
        self._told = False

    async def __anext__(self) -> int:
        if self._told:
            raise StopAsyncIteration
        await self._stop.wait()
        self._told = True
        return signal.SIGTERM


def status_of(signum: int) -> int:
    """As a shell counts it."""
    return 128 + signum if signum else 0


def listener_status_of(signum: int) -> int:
    """A listener has no other end than to be stopped: with SIGTERM that is a success."""
    return 0 if signum == signal.SIGTERM else status_of(signum)
