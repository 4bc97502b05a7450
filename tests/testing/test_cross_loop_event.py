"""What comes once, and is waited for anywhere."""

from __future__ import annotations

import asyncio  # noqa: TID251 (tests of others run on it)
from collections.abc import Awaitable, Callable
from threading import Thread
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from mcpmock.testing.cross_loop_event import CrossLoopEvent

RUNS: list[Callable[[Callable[[], Awaitable[Any]]], Any]] = [
    lambda main: trio.run(main),
    lambda main: asyncio.run(main()),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("run", RUNS, ids=["trio", "asyncio"])
def test_in_a_loop(run: Callable[[Callable[[], Awaitable[Any]]], Any]) -> None:
    """It wakes a task, whether it comes from another thread or has come already."""
    moment = CrossLoopEvent()

    async def main() -> None:
        thread = Thread(target=moment.set)
        thread.start()
        assert await moment.wait_async(20)
        assert await moment.wait_async(20)
        thread.join()

    run(main)


def test_without_a_loop() -> None:
    """It wakes a thread."""
    moment = CrossLoopEvent()
    assert not moment.wait(0)
    Thread(target=moment.set).start()

    assert moment.wait(20)


async def test_it_does_not_come(autojump_clock: MockClock) -> None:
    """That is told when patience is over."""
    assert not await CrossLoopEvent().wait_async(30)
    assert 30.0 == trio.current_time()


def test_it_does_not_come_under_asyncio() -> None:
    """The same."""
    assert not asyncio.run(CrossLoopEvent().wait_async(0))
