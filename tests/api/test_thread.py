"""Something under trio in a thread: start, stop, and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

from mcpmock.api import thread
from mcpmock.api.thread import Thread, require_trio


async def serves(ready: Callable[[str], None], stop: trio.Event) -> None:
    ready("there")
    await stop.wait()


def test_start_and_stop() -> None:
    """It tells where it serves, from plain code."""
    running: Thread[str] = Thread(serves)

    assert "there" == running.start()
    running.stop()


async def test_inside_another_trio() -> None:
    """The caller's event loop does not matter."""
    running: Thread[str] = Thread(serves)
    running.start()
    running.stop()


def test_it_cannot_start() -> None:
    """The caller hears why, once."""

    async def fails(_ready: Callable[[str], None], _stop: trio.Event) -> None:
        raise OSError("no")

    running: Thread[str] = Thread(fails)
    with pytest.raises(OSError, match="no"):
        running.start()
    running.stop()


def test_it_goes_wrong_later() -> None:
    """The caller hears it where it stops."""

    async def fails(ready: Callable[[str], None], stop: trio.Event) -> None:
        await serves(ready, stop)
        raise ValueError("late")

    running: Thread[str] = Thread(fails)
    running.start()
    with pytest.raises(ValueError, match="late"):
        running.stop()


def test_it_does_not_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is cancelled."""
    monkeypatch.setattr(thread, "STOP_TIMEOUT_S", 0.01)

    async def hangs(ready: Callable[[str], None], _stop: trio.Event) -> None:
        ready("there")
        await trio.sleep_forever()

    running: Thread[str] = Thread(hangs)
    running.start()
    running.stop()
    running._thread.join()


def test_only_under_trio() -> None:
    """What runs there alone says so elsewhere, and what to use."""
    with pytest.raises(RuntimeError, match=r"mcpmock.replay only works under trio; elsewhere use"):
        require_trio("replay")
