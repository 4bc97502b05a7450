"""The queues of an exchange, and its connection, over memory streams and real sockets."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from mcpmock.channels.http.flow import Inbox, Outflow, Wire
from mcpmock.protocol.messages import Frame
from tests.support import c2s

LIMIT = 20.0


async def connected() -> tuple[trio.SocketStream, trio.SocketStream]:
    """Two ends of a TCP connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    with listener:
        near = await trio.open_tcp_stream(*listener.getsockname())
        far, _ = listener.accept()
    return near, trio.SocketStream(trio.socket.from_stdlib_socket(far))


async def write_on(wire: Wire) -> None:
    while True:
        wire.write_now(b"x" * 1000)
        await trio.sleep(0.01)


async def test_the_inbox_gives_all_there_is(autojump_clock: MockClock) -> None:
    """What was put is received together; behind the end nothing comes."""
    inbox = Inbox()
    inbox.put([c2s(b"1")])
    inbox.put([c2s(b"2")])
    assert [b"1", b"2"] == [frame.raw for frame in await inbox.receive()]

    inbox.put([c2s(b"3")])
    inbox.end()
    inbox.put([c2s(b"4")])
    assert [b"3"] == [frame.raw for frame in await inbox.receive()]
    with pytest.raises(trio.EndOfChannel):
        await inbox.receive()


async def test_the_inbox_has_a_bound(autojump_clock: MockClock) -> None:
    """Who fills it waits until somebody takes, or until nobody will."""
    inbox = Inbox()
    waited: list[float] = []

    async def fill() -> None:
        for _ in range(2):
            inbox.put([c2s(b"x" * 9)])
            await inbox.below(10)
            waited.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fill)
        await trio.sleep(1)
        await inbox.receive()
        await trio.sleep(1)
        inbox.end()

    assert [1.0, 2.0] == waited


async def test_the_inbox_delivers(autojump_clock: MockClock) -> None:
    """Where somebody takes frames at once nothing is held; and nothing comes behind the end."""
    inbox, got = Inbox(), list[Sequence[Frame]]()
    inbox.deliver = got.append
    inbox.put([c2s(b"1"), c2s(b"2")])
    inbox.put([])
    await inbox.below(1)
    inbox.end()
    inbox.put([c2s(b"3")])

    assert [[b"1", b"2"]] == [[frame.raw for frame in frames] for frames in got]
    with pytest.raises(trio.EndOfChannel):
        await inbox.receive()


async def interrupted(wire: Wire, other: trio.abc.Stream) -> None:
    """Reads, is interrupted, and reads on."""
    got: list[bytes | bytearray | None] = []

    async def read() -> None:
        got.append(await wire.read_on())

    wire.interrupt()  # nobody reads: nothing happens
    for expected in (None, b"x"):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await wait_all_tasks_blocked()
            if expected is None:
                wire.interrupt()
            else:
                await other.send_all(expected)
        assert expected == got.pop()


async def test_reading_can_be_interrupted(autojump_clock: MockClock) -> None:
    """What comes next is read by whoever reads next."""
    ours, theirs = memory_stream_pair()
    await interrupted(Wire(ours), theirs)


@pytest.mark.e2e
async def test_reading_from_a_socket_can_be_interrupted() -> None:
    """In the same way."""
    near, far = await connected()
    with trio.fail_after(LIMIT):
        await interrupted(Wire(near), far)
    await near.aclose()
    await far.aclose()


async def test_what_waits_goes_out_together(autojump_clock: MockClock) -> None:
    """Whatever is put before it can be moved is one write."""
    ours, theirs = memory_stream_pair()
    emptied: list[int] = []
    out = Outflow(lambda: emptied.append(out.held))
    wire = Wire(ours)
    out.put(b"a")
    out.attach(wire)
    out.put(b"b")
    assert 2 == out.held
    async with trio.open_nursery() as nursery:
        nursery.start_soon(out.run, wire)
        assert b"ab" == await theirs.receive_some()
        await wait_all_tasks_blocked()
        assert (0, [0], False) == (out.held, emptied, out.done)
        out.put(b"c")
        out.end()

    assert b"c" == await theirs.receive_some()
    assert out.done


async def test_nobody_takes_it(autojump_clock: MockClock) -> None:
    """What goes to somebody who is gone is dropped, and nobody waits for it."""
    ours, theirs = memory_stream_pair()
    wire = Wire(ours)
    out = Outflow()
    out.attach(wire)
    await theirs.aclose()
    out.put(b"a")
    await out.run(wire)
    out.put(b"b")
    out.end()
    await out.below(1)

    assert (0, False) == (out.held, out.done)


@pytest.mark.e2e
async def test_a_socket_is_written_at_once() -> None:
    """What a socket takes is not held; what it does not take is moved when it does."""
    near, far = await connected()
    wire = Wire(near)
    out = Outflow()
    out.attach(wire)
    with trio.fail_after(LIMIT):
        out.put(b"abc")
        assert (0, b"abc") == (out.held, await Wire(far).read())

        out.put(b"x" * 30_000_000)
        out.end()
        assert 0 < out.held < 30_000_000
        got = 0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(out.run, wire)
            while got < 30_000_000:
                got += len(await Wire(far).read())
        assert out.done
    await near.aclose()
    await far.aclose()


@pytest.mark.e2e
async def test_the_ends_of_a_socket() -> None:
    """An end is an end, a reset breaks, and both can be seen before anybody reads."""
    with trio.fail_after(LIMIT):
        for reset in (False, True):
            near, far = await connected()
            wire, other = Wire(near), Wire(far)
            assert not wire.readable()
            if reset:
                other.reset_on_close()
            await far.aclose()
            await trio.lowlevel.wait_readable(near.socket)
            assert wire.readable()
            if reset:
                with pytest.raises(trio.BrokenResourceError):
                    await wire.read()
            else:
                assert b"" == await wire.read()
            with pytest.raises(trio.BrokenResourceError):
                await write_on(wire)
            await near.aclose()


@pytest.mark.e2e
async def test_a_closed_socket_is_not_written() -> None:
    """Its descriptor may be somebody else's by then."""
    near, far = await connected()
    await near.aclose()

    with pytest.raises(trio.BrokenResourceError):
        Wire(near).write_now(b"x")
    await far.aclose()


@pytest.mark.e2e
async def test_reading_can_be_cancelled() -> None:
    """Nothing is lost by that."""
    near, far = await connected()
    with trio.fail_after(LIMIT):
        with trio.move_on_after(0.01) as scope:
            await Wire(near).read()
        assert scope.cancelled_caught
        await far.send_all(b"x")
        assert b"x" == await Wire(near).read()
    await near.aclose()
    await far.aclose()
