"""An end that is opened by the first frame."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mcpmock.channels.channel import MAX_HELD_BYTES, MemoryChannel, MessageChannel, memory_pair
from mcpmock.channels.deferred import DeferredChannel
from tests.support import c2s, s2c

ONE, TWO = c2s(b"1"), c2s(b"2")


async def never() -> MessageChannel:
    raise AssertionError("unreachable because nothing is sent")


async def test_nobody_needs_it(autojump_clock: MockClock) -> None:
    """It is never opened, and closing it is no trouble."""
    lazy = DeferredChannel(never)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lazy.run)
        await trio.sleep(60)
        await lazy.flush()
        assert not lazy.interrupt(2)
        nursery.cancel_scope.cancel()
    await lazy.aclose()

    assert 0 == lazy.held(ONE)


@pytest.mark.parametrize("goes_on", [True, False])
async def test_what_was_sent_before(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock, goes_on: bool
) -> None:
    """It is held until the end is open, and goes first; then all is as with that end."""
    ends: list[MemoryChannel] = []
    monkeypatch.setattr(MemoryChannel, "interrupt", lambda _self, _signum: goes_on)

    async def open_it() -> MessageChannel:
        await trio.sleep(5)
        ours, other = memory_pair()
        ends.append(other)
        return ours

    lazy = DeferredChannel(open_it)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lazy.run)
        await wait_all_tasks_blocked()
        lazy.send_nowait([ONE])
        assert ONE.size == lazy.held(ONE)
        await lazy.room(ONE)
        lazy.send_nowait([TWO])
        assert [ONE, TWO] == await ends[0].receive()
        await lazy.flush()
        receive = await lazy.accept()
        ends[0].send_nowait([s2c(b"3"), s2c(b"4")])
        assert [s2c(b"3"), s2c(b"4")] == await receive()
        ends[0].send_nowait([s2c(b"5")])
        assert [s2c(b"5")] == await receive()
        with pytest.raises(trio.EndOfChannel):
            await lazy.accept()
        assert goes_on is lazy.interrupt(2)
        assert MAX_HELD_BYTES == lazy.held(ONE)  # a memory channel says so: wait for room
        await lazy.aclose()
        nursery.cancel_scope.cancel()


async def test_flushing(monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock) -> None:
    """It waits until the end is open, and until that is flushed."""
    ours, _ = memory_pair()

    async def open_it() -> MessageChannel:
        await trio.sleep(5)
        return ours

    async def flush() -> None:
        await trio.sleep(3)

    monkeypatch.setattr(ours, "flush", flush)
    lazy = DeferredChannel(open_it)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lazy.run)
        lazy.send_nowait([ONE])
        await lazy.flush()
        assert 8.0 == trio.current_time()
        nursery.cancel_scope.cancel()


async def test_it_cannot_be_opened() -> None:
    """That ends what runs it."""

    async def fail() -> MessageChannel:
        raise OSError("no")

    lazy = DeferredChannel(fail)
    lazy.send_nowait([ONE])
    with pytest.raises(OSError, match="no"):
        await lazy.run()
