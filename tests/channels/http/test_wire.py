"""The connection under an exchange, over memory streams and real sockets."""

from __future__ import annotations

import socket

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from mcpmock.channels.http.wire import Wire

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


async def test_closed_once_it_was_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that another task closes in that moment was closed here, not reset there."""
    near, far = await connected()
    async with near, far:
        wire = Wire(near)

        async def close(_socket: object) -> None:
            wire.close()

        monkeypatch.setattr(trio.lowlevel, "wait_readable", close)
        with pytest.raises(trio.ClosedResourceError):
            await wire.read()


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
    """After an interrupted read the next one gets the bytes."""
    ours, theirs = memory_stream_pair()
    await interrupted(Wire(ours), theirs)


@pytest.mark.e2e
async def test_reading_from_a_socket_can_be_interrupted() -> None:
    """After an interrupted read of a socket the next one gets the bytes."""
    near, far = await connected()
    with trio.fail_after(LIMIT):
        await interrupted(Wire(near), far)
    await near.aclose()
    await far.aclose()


async def test_what_no_memory_stream_can_say() -> None:
    """It has no descriptor, and tells nothing of the other end."""
    ours, theirs = memory_stream_pair()
    wire = Wire(ours)
    await theirs.send_all(b"x")

    assert (None, 0, False, False) == (
        wire.fileno(), wire.unread(), wire.is_peer_open(), wire.readable(),
    )  # fmt: skip
    assert not wire.end_output()
    wire.reset_on_close()
    wire.close()
    await wait_all_tasks_blocked()
    with pytest.raises(trio.BrokenResourceError):
        await theirs.send_all(b"y")


@pytest.mark.e2e
async def test_the_ends_of_a_socket() -> None:
    """An end and a reset differ, and both are seen without a read."""
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
async def test_a_closed_socket_is_not_used() -> None:
    """A closed socket is not written, as its descriptor may have been reused, nor waited for."""
    near, far = await connected()
    await near.aclose()
    wire = Wire(near)

    with pytest.raises(trio.BrokenResourceError):
        wire.write_now(b"x")
    with pytest.raises(trio.ClosedResourceError):
        await wire.read()
    wire.interrupt()
    await far.aclose()


@pytest.mark.e2e
async def test_reading_can_be_cancelled() -> None:
    """A cancelled read loses no bytes."""
    near, far = await connected()
    with trio.fail_after(LIMIT):
        with trio.move_on_after(0.01) as scope:
            await Wire(near).read()
        assert scope.cancelled_caught
        await far.send_all(b"x")
        assert b"x" == await Wire(near).read()
    await near.aclose()
    await far.aclose()
