"""The contract of a channel, on its twin in memory, exact on a mock clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MockClock, assert_checkpoints, wait_all_tasks_blocked

from mcpmock.channels.channel import MAX_HELD_BYTES, MessageChannel, memory_pair
from mcpmock.protocol.messages import C2S
from tests.support import c2s, hangs_up

Pair = Callable[[], tuple[MessageChannel, MessageChannel]]
BIG = c2s(b"x" * (MAX_HELD_BYTES // 4 - 1))


async def check_channel(make: Pair) -> None:
    """What every channel promises. Each part has a pair of its own."""
    parts: list[Callable[[MessageChannel, MessageChannel], Awaitable[None]]] = [
        check_order,
        check_both_ways,
        check_end,
        check_room,
        check_flush,
        check_gone,
        check_closed,
        check_cancelled,
    ]
    for part in parts:
        one, other = make()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one.run)
            nursery.start_soon(other.run)
            with trio.fail_after(60):
                await part(one, other)
            await one.aclose()
            await other.aclose()
            nursery.cancel_scope.cancel()


async def raws(channel: MessageChannel, count: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < count:
        found += [frame.raw for frame in await channel.receive()]
    return found


async def check_order(one: MessageChannel, other: MessageChannel) -> None:
    one.send_nowait([c2s(b"a"), c2s(b"b")])
    one.send_nowait([c2s(b"c")])

    assert [b"a", b"b", b"c"] == await raws(other, 3)


async def check_both_ways(one: MessageChannel, other: MessageChannel) -> None:
    one.send_nowait([c2s(b"there")])
    other.send_nowait([c2s(b"back")])

    assert [b"back"] == await raws(one, 1)
    assert [b"there"] == await raws(other, 1)


async def check_end(one: MessageChannel, other: MessageChannel) -> None:
    one.send_nowait([c2s(b"last"), hangs_up(C2S)])
    assert [b"last", b""] == await raws(other, 2)
    with pytest.raises(trio.EndOfChannel):
        await other.receive()
    with pytest.raises(trio.BrokenResourceError):
        one.send_nowait([c2s(b"more")])

    other.send_nowait([c2s(b"late")])
    assert [b"late"] == await raws(one, 1)


async def check_room(one: MessageChannel, other: MessageChannel) -> None:
    for _ in range(4):
        await one.room(BIG)
        one.send_nowait([BIG])
    with trio.move_on_after(1) as waited:
        await one.room(BIG)
    assert waited.cancelled_caught

    await other.receive()
    await one.room(BIG)


async def check_flush(one: MessageChannel, other: MessageChannel) -> None:
    await one.flush()
    one.send_nowait([BIG])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.flush)
        await wait_all_tasks_blocked()
        await raws(other, 1)


async def check_gone(one: MessageChannel, other: MessageChannel) -> None:
    other.send_nowait([c2s(b"last words")])
    await other.aclose()
    with pytest.raises(trio.BrokenResourceError):
        one.send_nowait([BIG])

    assert [b"last words"] == await raws(one, 1)
    with pytest.raises(trio.EndOfChannel):
        await one.receive()


async def check_closed(one: MessageChannel, other: MessageChannel) -> None:
    await one.aclose()
    await one.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await one.receive()
    with pytest.raises((trio.ClosedResourceError, trio.BrokenResourceError)):
        one.send_nowait([BIG])


async def check_cancelled(one: MessageChannel, other: MessageChannel) -> None:
    with trio.move_on_after(1) as waited:
        await other.receive()
    assert waited.cancelled_caught
    one.send_nowait([c2s(b"a")])
    with trio.CancelScope() as scope:
        scope.cancel()
        await other.receive()

    assert [b"a"] == await raws(other, 1)


async def test_the_memory_pair_is_a_channel(autojump_clock: MockClock) -> None:
    """The pair in memory keeps all that a channel promises."""
    await check_channel(memory_pair)


async def test_sending_waits_until_it_is_taken(autojump_clock: MockClock) -> None:
    """`send` returns when the other side took the frames, exactly then."""
    one, other = memory_pair()

    async def take_later() -> None:
        await trio.sleep(5)
        await other.receive()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take_later)
        await one.send([c2s(b"a")])

    assert 5.0 == trio.current_time()


async def test_a_wait_ends_when_the_other_side_goes(autojump_clock: MockClock) -> None:
    """Who waits for frames gets the end, and who waits for room an error, when the other side
    closes.
    """
    one, other = memory_pair()
    for _ in range(4):
        one.send_nowait([BIG])

    async def no_room() -> None:
        with pytest.raises(trio.BrokenResourceError):
            await one.room(BIG)

    async def no_frames() -> None:
        with pytest.raises(trio.EndOfChannel):
            await one.receive()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(no_room)
        nursery.start_soon(no_frames)
        await wait_all_tasks_blocked()
        await other.aclose()


async def test_everything_that_may_wait_is_a_checkpoint() -> None:
    """Receiving, room, flush and closing are checkpoints also when there is nothing to wait for."""
    one, other = memory_pair()
    one.send_nowait([c2s(b"a")])
    for step in (other.receive, lambda: one.room(BIG), one.flush, one.aclose, other.aclose):
        with assert_checkpoints():
            await step()


async def test_one_source() -> None:
    """A channel is its own source, and the only one."""
    one, _ = memory_pair()

    assert one.receive == await one.accept()
    with pytest.raises(trio.EndOfChannel):
        await one.accept()
