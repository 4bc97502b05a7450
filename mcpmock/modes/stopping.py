"""The signals that tell us to stop, and what they make of the exit status."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import trio

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def taking_signals() -> Iterator[AsyncIterator[int]]:
    """The signals that tell us to stop. They are taken for good: behind the session the exit status
    is settled, and a late one must neither change it nor print anything.
    """
    for signum in _SIGNALS:
        signal.signal(signum, signal.SIG_IGN)
    with trio.open_signal_receiver(*_SIGNALS) as signals:
        yield signals


def status_of(signum: int) -> int:
    """As a shell counts it."""
    return 128 + signum if signum else 0


def listener_status_of(signum: int) -> int:
    """A listener has no other end than to be stopped: with SIGTERM that is a success."""
    return 0 if signum == signal.SIGTERM else status_of(signum)
