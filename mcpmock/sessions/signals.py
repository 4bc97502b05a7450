"""Stop signals, and the exit statuses that follow from them."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import trio

from mcpmock.platforms import STOP_SIGNALS, TERMINATE


@contextmanager
def stop_requests(stop: trio.Event | None = None) -> Iterator[AsyncIterator[int]]:
    """Give the numbers of the signals that ask this process to stop. With `stop` no handler is
    installed, and the event counts as one TERMINATE.

    Handlers stay installed when the block is over: the exit status is settled then, and a late
    signal must neither change it nor print anything.
    """
    if stop is not None:
        yield _EventAsSignal(stop)
        return
    for signum in STOP_SIGNALS:
        signal.signal(signum, signal.SIG_IGN)
    with trio.open_signal_receiver(*STOP_SIGNALS) as signals:
        yield signals


class _EventAsSignal(AsyncIterator[int]):
    """One TERMINATE, when the event is set.

    Not an async generator: one that is abandoned halfway makes trio warn when it is collected.
    """

    def __init__(self, stop: trio.Event) -> None:
        self._stop = stop
        self._given = False

    async def __anext__(self) -> int:
        if self._given:
            raise StopAsyncIteration
        await self._stop.wait()
        self._given = True
        return TERMINATE


def status_of(signum: int) -> int:
    """Return the exit status by which a shell reports a signal."""
    return 128 + signum if signum else 0


def listener_status_of(signum: int) -> int:
    """Return the exit status of a listener: SIGTERM is its ordinary end, or Ctrl-Break
    on Windows.
    """
    return 0 if signum in (TERMINATE, signal.SIGTERM) else status_of(signum)
