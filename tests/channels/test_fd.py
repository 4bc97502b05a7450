"""Real descriptors: what is shared with others stays as it was, and nothing waits."""

from __future__ import annotations

import fcntl
import os
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from mcpmock.channels.fd import (
    MAX_LOG_BYTES,
    Descriptor,
    DescriptorQueue,
    ThreadDescriptor,
    borrow,
    log_queue,
    own,
)

Ends = Callable[[], AbstractContextManager[tuple[int, int]]]
pytestmark = pytest.mark.e2e


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for fd in ends:
            try:
                os.close(fd)
            except OSError:
                pass  # the test closed it


@contextmanager
def sockets() -> Iterator[tuple[int, int]]:
    one, other = socket.socketpair()
    with one, other:
        yield one.fileno(), other.fileno()


def flags(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_GETFL)


@pytest.mark.parametrize("make", [pipe, sockets])
async def test_borrowing_leaves_the_shared_flags(make: Ends) -> None:
    """Neither borrowing nor reading, writing and closing changes what others share."""
    with make() as (readable, writable):
        before = flags(readable), flags(writable)
        source, target = borrow(readable, os.O_RDONLY), borrow(writable, os.O_WRONLY)
        assert None is source.read()
        assert 2 == target.write_now(memoryview(b"x\n"))
        await source.readable()
        assert b"x\n" == source.read()
        assert before == (flags(readable), flags(writable))
        source.close()
        target.close()

        assert before == (flags(readable), flags(writable))
        assert 0 == before[0] & os.O_NONBLOCK


async def test_a_terminal() -> None:
    """A terminal is read and written without changing it for the shell."""
    master, terminal = os.openpty()
    before = flags(terminal)
    source, target = borrow(terminal, os.O_RDONLY), borrow(terminal, os.O_WRONLY)
    assert None is source.read()
    os.write(master, b"x\n")
    await source.readable()

    assert b"x\n" == source.read()
    assert 1 == target.write_now(memoryview(b"y"))
    assert before == flags(terminal)
    for each in (source, target):
        each.close()
    os.close(terminal)
    os.close(master)


async def test_threads_wait_where_nothing_tells() -> None:
    """A wait that is cancelled loses no byte, and a queue moves more than a pipe holds."""
    ends = os.pipe()  # a thread closes them
    source, queue = map(ThreadDescriptor, ends)
    data, read = os.urandom(1 << 20), bytearray()
    sink = DescriptorQueue(queue)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(source.readable)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    sink.put(data)
    sink.end()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sink.run)
        while True:
            await source.readable()
            if not (piece := source.read()):
                break
            read += piece
    source.close()
    with pytest.raises(trio.ClosedResourceError):
        await source.readable()

    assert data == read


async def test_borrowing_leaves_the_given_descriptor_open() -> None:
    """Closing what was borrowed does not close what was given."""
    with pipe() as (readable, writable):
        borrow(readable, os.O_RDONLY).close()
        os.write(writable, b"x")

        assert b"x" == os.read(readable, 1)


@pytest.mark.parametrize("make", [pipe, sockets])
async def test_a_full_one_takes_nothing_and_does_not_wait(make: Ends) -> None:
    """Writing into what is full takes nothing, at once."""
    with make() as (_, writable):
        target = borrow(writable, os.O_WRONLY)
        data = memoryview(bytes(1 << 20))
        while target.write_now(data):
            pass

        assert 0 == target.write_now(data)
        target.close()


async def test_regular_files(tmp_path: Path) -> None:
    """A regular file is read to its end and written where it stands, without waiting."""
    path = tmp_path / "in"
    path.write_bytes(b"abc")
    with path.open("rb+") as file:
        source, target = borrow(file.fileno(), os.O_RDONLY), borrow(file.fileno(), os.O_WRONLY)
        await source.readable()
        assert [b"abc", b""] == [source.read(), source.read()]
        await target.writable()
        assert 1 == target.write_now(memoryview(b"d"))
        source.close()
        target.close()

    assert b"abcd" == path.read_bytes()


async def test_dev_null() -> None:
    """/dev/null is at its end at once and takes everything."""
    fd = os.open("/dev/null", os.O_RDWR)
    source, target = borrow(fd, os.O_RDONLY), borrow(fd, os.O_WRONLY)
    await source.readable()
    await target.writable()

    assert (b"", 3) == (source.read(), target.write_now(memoryview(b"abc")))
    for each in (source, target):
        each.close()
    os.close(fd)


async def test_the_writer_is_gone() -> None:
    """When the writer is gone, reading says the end."""
    with pipe() as (readable, writable):
        source = borrow(readable, os.O_RDONLY)
        os.close(writable)

        assert b"" == source.read()
        source.close()


@pytest.mark.parametrize("make", [pipe, sockets])
async def test_the_reader_is_gone(make: Ends) -> None:
    """When the reader is gone, writing is a broken resource."""
    with make() as (readable, writable):
        target = borrow(writable, os.O_WRONLY)
        if make is pipe:
            os.close(readable)
        else:
            shut(readable)

        with pytest.raises(trio.BrokenResourceError, match=r"^Broken pipe$"):
            target.write_now(memoryview(b"x"))
        target.close()


def shut(fd: int) -> None:
    with socket.socket(fileno=os.dup(fd)) as one:
        one.shutdown(socket.SHUT_RDWR)


async def test_what_cannot_be_opened_anew_writes_in_small_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where /proc is of no use, writes stay within PIPE_BUF and the flags as they are."""

    def no_proc(*_arguments: object) -> int:
        raise FileNotFoundError

    with pipe() as (_, writable):
        monkeypatch.setattr(os, "open", no_proc)
        target = borrow(writable, os.O_WRONLY)
        monkeypatch.undo()

        assert select.PIPE_BUF == target.write_now(memoryview(bytes(10 * select.PIPE_BUF)))
        assert 0 == flags(writable) & os.O_NONBLOCK
        target.close()


async def test_closing_wakes_who_waits() -> None:
    """Who waits for a descriptor that is closed gets trio's error."""
    with pipe() as (readable, _):
        source = borrow(readable, os.O_RDONLY)

        async def wait() -> None:
            with pytest.raises(trio.ClosedResourceError):
                await source.readable()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await wait_all_tasks_blocked()
            source.close()
            source.close()


def queue() -> tuple[DescriptorQueue, Descriptor]:
    readable, writable = os.pipe()
    return DescriptorQueue(own(writable)), own(readable)


async def drained(source: Descriptor) -> bytes:
    data = b""
    while True:
        await source.readable()
        some = source.read()
        if some == b"":
            return data
        data += some or b""


async def test_a_queue_holds_what_is_not_taken() -> None:
    """What the reader does not take at once is held, in order, and the way is closed behind it."""
    out, source = queue()
    parts = [bytes([n]) * 100_000 for n in range(10)]
    for part in parts:
        out.put(part)
    out.end()
    assert out.held > 0
    with pytest.raises(trio.BrokenResourceError):
        out.put(b"more")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(out.run)
        with trio.fail_after(10):
            assert b"".join(parts) == await drained(source)
            await out.below(1)
        nursery.cancel_scope.cancel()
    source.close()


async def test_a_log_that_nobody_reads() -> None:
    """It is held up to a bound, and what comes behind that is dropped; with its reader gone, all
    of it.
    """
    readable, writable = os.pipe()
    out, source = log_queue(own(writable)), own(readable)
    for _ in range(100):
        out.put(bytes(100_000))
    assert MAX_LOG_BYTES <= out.held < MAX_LOG_BYTES + 100_000

    source.close()
    out.close()
    out.put(b"more")
    assert 0 == out.held


async def test_a_queue_without_a_reader() -> None:
    """When the reader goes, what is held is dropped and whoever waits is told."""
    out, source = queue()
    out.put(bytes(1 << 20))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(out.run)
        await wait_all_tasks_blocked()
        source.close()
        with trio.fail_after(10), pytest.raises(trio.BrokenResourceError):
            await out.below(1)
    assert 0 == out.held
    out.close()
