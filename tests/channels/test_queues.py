"""The two queues of a channel, over memory streams and real sockets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from mcpmock.channels.http.wire import Wire
from mcpmock.channels.queues import FrameQueue, WriteQueue
from tests.support import c2s

from .http.test_wire import connected

TIMEOUT_S = 20.0


async def test_frames_are_received_together(autojump_clock: MockClock) -> None:
    """All that was put is received in one batch; behind the end nothing comes."""
    queue = FrameQueue()
    queue.put([c2s(b"1")])
    queue.put([c2s(b"2")])
    assert [b"1", b"2"] == [frame.raw for frame in await queue.receive()]

    queue.put([c2s(b"3")])
    queue.end()
    queue.put([c2s(b"4")])
    assert [b"3"] == [frame.raw for frame in await queue.receive()]
    with pytest.raises(trio.EndOfChannel):
        await queue.receive()


async def test_a_frame_queue_has_a_bound(autojump_clock: MockClock) -> None:
    """A source waits until the frames are received, or until the queue is closed."""
    queue = FrameQueue()
    waited: list[float] = []

    async def fill() -> None:
        for _ in range(2):
            queue.put([c2s(b"x" * 9)])
            await queue.below(10)
            waited.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fill)
        await trio.sleep(1)
        await queue.receive()
        await trio.sleep(1)
        queue.close()

    assert [1.0, 2.0] == waited


async def test_what_waits_goes_out_together(autojump_clock: MockClock) -> None:
    """Whatever is put before it can be moved is one write."""
    ours, theirs = memory_stream_pair()
    emptied: list[int] = []
    out = WriteQueue(emptied=lambda: emptied.append(out.held))
    out.put(b"a")
    out.attach(Wire(ours))
    out.put(b"b")
    assert 2 == out.held
    async with trio.open_nursery() as nursery:
        nursery.start_soon(out.run)
        assert b"ab" == await theirs.receive_some()
        await wait_all_tasks_blocked()
        assert (0, [0], False) == (out.held, emptied, out.done)
        out.put(b"c")
        out.end()

    assert b"c" == await theirs.receive_some()
    assert out.done


@pytest.mark.parametrize("lossy", [False, True])
async def test_a_reader_that_is_gone(autojump_clock: MockClock, lossy: bool) -> None:
    """What it has not read is dropped. A sender learns of it, unless the queue is lossy."""
    ours, theirs = memory_stream_pair()
    out = WriteQueue(Wire(ours), lossy=lossy)
    await theirs.aclose()
    out.put(b"a")
    await out.run()
    if lossy:
        out.put(b"b")
        await out.below(1)
    else:
        with pytest.raises(trio.BrokenResourceError):
            out.put(b"b")
        with pytest.raises(trio.BrokenResourceError):
            await out.below(1)
    out.end()
    await out.below(1)

    assert (0, False) == (out.held, out.done)


class Leaving:
    """A reader that is gone at the first write, or leaves `while_writing`."""

    def __init__(self, while_writing: Callable[[], None] | None = None) -> None:
        self.while_writing = while_writing
        self.writes = 0

    def write_now(self, data: bytes) -> int:
        self.writes += 1
        if self.while_writing is None:
            raise trio.BrokenResourceError("gone")
        return 0

    async def write(self, data: memoryview) -> int:
        assert self.while_writing is not None
        self.while_writing()
        await trio.lowlevel.checkpoint()
        return len(data)


@pytest.mark.parametrize("lossy", [False, True])
async def test_a_reader_that_is_gone_at_once(autojump_clock: MockClock, lossy: bool) -> None:
    """It is written to once: `run` returns, and a sender learns the reason of the first failure."""
    sink, emptied = Leaving(), list[int]()
    out = WriteQueue(sink, lambda: emptied.append(out.held), lossy=lossy)
    for _ in range(2):
        with nullcontext() if lossy else pytest.raises(trio.BrokenResourceError):
            out.put(b"a")
    with trio.fail_after(1):
        await out.run()
    out.drop(trio.BrokenResourceError("later"))
    with nullcontext() if lossy else pytest.raises(trio.BrokenResourceError, match="gone"):
        await out.below(1)
    out.end()

    assert (1, 0, []) == (sink.writes, out.held, emptied)


async def test_what_is_dropped_while_it_is_written(autojump_clock: MockClock) -> None:
    """It counts as held no longer, and its end is no emptied queue."""
    emptied: list[int] = []
    out = WriteQueue(Leaving(lambda: out.drop()), lambda: emptied.append(out.held), lossy=True)
    out.put(b"abc")
    await out.run()
    out.end()

    assert (0, []) == (out.held, emptied)


@pytest.mark.e2e
async def test_a_socket_is_written_at_once() -> None:
    """What a socket takes is not held; what it does not take is moved when it does."""
    near, far = await connected()
    out = WriteQueue(Wire(near))
    with trio.fail_after(TIMEOUT_S):
        out.put(b"abc")
        assert (0, b"abc") == (out.held, await Wire(far).read())

        out.put(b"x" * 30_000_000)
        out.end()
        assert 0 < out.held < 30_000_000
        got = 0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(out.run)
            while got < 30_000_000:
                got += len(await Wire(far).read())
        assert out.done
    await near.aclose()
    await far.aclose()
