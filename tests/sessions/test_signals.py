"""Stop signals."""

from __future__ import annotations

import os
import signal

import pytest
import trio

from mcpmock.sessions.signals import listener_status_of, status_of, stop_requests


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_signals_are_taken(signum: int) -> None:
    """Each of them arrives and ends nothing by itself."""
    with stop_requests() as signals:
        os.kill(os.getpid(), signum)
        with trio.fail_after(5):
            async for came in signals:
                assert signum == came
                break


async def test_they_stay_taken() -> None:
    """Behind the session a late signal changes nothing."""
    with stop_requests():
        pass
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize(
    ("signum", "session", "listener"),
    [(0, 0, 0), (signal.SIGTERM, 143, 0), (signal.SIGINT, 130, 130), (signal.SIGHUP, 129, 129)],
)
def test_statuses(signum: int, session: int, listener: int) -> None:
    """As a shell counts; a listener that is stopped by SIGTERM has done what it should."""
    assert (session, listener) == (status_of(signum), listener_status_of(signum))


async def test_inside_another_program() -> None:
    """Its signals are left alone, and an event stands for them."""
    before = signal.getsignal(signal.SIGTERM)
    stop = trio.Event()
    with stop_requests(stop) as signals:
        assert before is signal.getsignal(signal.SIGTERM)
        stop.set()
        assert [signal.SIGTERM] == [signum async for signum in signals]
