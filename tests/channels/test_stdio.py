"""Our own stdio as a channel: over pipes and sockets, and once over the real one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from mcpmock.channels import fd
from mcpmock.channels.channel import MAX_HELD_BYTES
from mcpmock.channels.fd import Descriptor, borrow
from mcpmock.channels.stdio import StdioChannel
from mcpmock.protocol.messages import C2S, S2C, Frame
from tests.support import c2s, hangs_up, logs, s2c, seen

pytestmark = pytest.mark.e2e

LIMIT = 20.0
BIG = b"x" * (2 * MAX_HELD_BYTES)
TALKER = """
import os, sys, trio
from mcpmock.channels.stdio import take_stdio
from mcpmock.protocol.messages import S2C, Frame

async def main():
    channel = take_stdio()
    print("a stray print")
    os.write(1, b"a stray write\\n")
    channel.send_nowait([Frame(S2C, frame.raw.upper()) for frame in await channel.receive()])

trio.run(main)
"""


@attrs.define
class Client:
    """The client's ends of the three, blocking, and the channel that has the others."""

    stdin: int
    stdout: int
    stderr: int
    channel: StdioChannel

    def close(self, name: str) -> None:
        """Goes away at this end."""
        fd = getattr(self, name)
        if fd >= 0:
            os.close(fd)
            setattr(self, name, -1)


def pipe() -> tuple[int, int]:
    return os.pipe()


def sockets() -> tuple[int, int]:
    readable, writable = socket.socketpair()
    return readable.detach(), writable.detach()


Ends = Callable[[], tuple[int, int]]


@asynccontextmanager
async def conversation(make: Ends = pipe, *, only: bool = False) -> AsyncIterator[Client]:
    """A client and the channel that it talks to; what was borrowed is given back unchanged."""
    (stdin, to_us), (from_us, stdout), (log, stderr) = make(), make(), make()
    given = (stdin, stdout, stderr)
    borrowed = borrow(stdin, os.O_RDONLY), *(borrow(fd, os.O_WRONLY) for fd in (stdout, stderr))
    channel = StdioChannel(*borrowed, only=only)
    client = Client(to_us, from_us, log, channel)
    with trio.fail_after(LIMIT):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(channel.run)
            yield client
            nursery.cancel_scope.cancel()
    await channel.aclose()
    assert [True] * 3 == [os.get_blocking(number) for number in given]
    for number in given:
        os.close(number)
    for name in ("stdin", "stdout", "stderr"):
        client.close(name)


both = pytest.mark.parametrize("make", [pipe, sockets])


async def test_a_signal_that_came_first_is_heard_first() -> None:
    """Ctrl-C reaches us before our client, which it also reaches, has closed its ends."""
    for leaves in ("stdin", "stdout"):
        for _ in range(20):
            async with conversation() as client:
                heard: list[str] = []

                async def hear_end(client: Client, leaves: str, heard: list[str]) -> None:
                    await (client.channel.receive() if leaves == "stdin" else client.channel.left())
                    heard.append("end")

                with trio.open_signal_receiver(signal.SIGUSR1) as signals:
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(hear_end, client, leaves, heard)
                        await wait_all_tasks_blocked()
                        os.kill(os.getpid(), signal.SIGUSR1)
                        client.close(leaves)
                        async for _ in signals:
                            heard.append("signal")
                            break
            assert ["signal", "end"] == heard


async def test_a_signal_that_came_with_the_end_is_heard_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both came while we did not run: the kernel names the end, then the handler runs."""

    def read(_: Descriptor) -> bytes:
        os.kill(os.getpid(), signal.SIGUSR1)
        return b""

    monkeypatch.setattr(Descriptor, "read", read)
    for _ in range(20):  # trio shuffles the tasks of a turn
        async with conversation() as client:
            heard: list[str] = []

            async def hear_end(client: Client, heard: list[str]) -> None:
                await client.channel.receive()
                heard.append("end")

            with trio.open_signal_receiver(signal.SIGUSR1) as signals:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(hear_end, client, heard)
                    await wait_all_tasks_blocked()
                    client.close("stdin")
                    await anext(signals)
                    heard.append("signal")
        assert ["signal", "end"] == heard


async def test_only_the_only_client_is_waited_for_without_the_loop() -> None:
    """Where there are others, they would wait too."""
    async with conversation(only=True) as client:
        [source] = client.channel.pipe_sources()
        assert source.read() is None
        os.write(client.stdin, b"1\n2\n3")
        assert [c2s(b"1"), c2s(b"2")] == source.feed(source.read() or b"")
    async with conversation() as client:
        assert () == client.channel.pipe_sources()


def shown(frames: list[Frame]) -> list[object]:
    return [seen(frame) for frame in frames]


@both
async def test_what_the_client_says_comes_in(make: Ends) -> None:
    """Whole lines come as frames, an unfinished one with the end, and then nothing more."""
    async with conversation(make) as client:
        os.write(client.stdin, b"a\nb\r\ntorn")
        assert shown([c2s(b"a"), c2s(b"b", b"\r\n")]) == shown(await client.channel.receive())
        client.close("stdin")
        assert shown([c2s(b"torn", b""), hangs_up(C2S)]) == shown(await client.channel.receive())

        with pytest.raises(trio.EndOfChannel):
            await client.channel.receive()


@both
async def test_what_the_server_says_goes_out(make: Ends) -> None:
    """Messages go to stdout, logs to stderr, both at once; nothing else is written to either."""
    async with conversation(make) as client:
        client.channel.send_nowait([s2c(b"a"), logs("log"), s2c(b"torn", b"")])

        assert b"a\ntorn" == os.read(client.stdout, 100)
        assert b"log" == os.read(client.stderr, 100)


@both
async def test_the_servers_end_closes_stdout(make: Ends) -> None:
    """A StreamEnd of the server ends our channel's way out, not its log, and nothing follows."""
    async with conversation(make) as client:
        client.channel.send_nowait([s2c(b"a"), hangs_up(S2C), logs("late")])

        with pytest.raises(trio.BrokenResourceError):
            client.channel.send_nowait([s2c(b"more")])
        assert b"a\n" == os.read(client.stdout, 100)
        assert b"late" == os.read(client.stderr, 100)


async def test_a_client_that_is_gone() -> None:
    """Without a reader of stdout, sending is a broken resource."""
    async with conversation() as client:
        client.close("stdout")

        with pytest.raises(trio.BrokenResourceError):
            client.channel.send_nowait([s2c(b"a")])


async def test_a_log_that_nobody_reads_is_no_reason_to_end() -> None:
    """With standard error closed at the other end, logs go nowhere and messages arrive."""
    async with conversation() as client:
        client.close("stderr")
        client.channel.send_nowait([logs("log"), s2c(b"a")])
        await client.channel.room(logs(""))

        assert b"a\n" == os.read(client.stdout, 100)


async def test_a_reader_that_goes_while_its_log_is_held() -> None:
    """Who waits for room to log goes on when the reader of the log is gone."""
    async with conversation() as client:
        client.channel.send_nowait([Frame(S2C, BIG, b"", logs("").fact)])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.channel.room, logs(""))
            await wait_all_tasks_blocked()
            client.close("stderr")


async def test_a_slow_reader_of_one_does_not_hold_up_the_other() -> None:
    """There is room for logs while stdout is full, and none for messages until it is read."""
    async with conversation() as client:
        client.channel.send_nowait([s2c(BIG)])
        assert client.channel.held(logs("log")) < MAX_HELD_BYTES < client.channel.held(s2c(b""))
        await client.channel.room(logs("log"))
        done = trio.Event()

        async def wait_for_room() -> None:
            await client.channel.room(s2c(b""))
            done.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait_for_room)
            await wait_all_tasks_blocked()
            assert not done.is_set()
            await read_exactly(client.stdout, len(BIG) + 1)


async def read_exactly(fd: int, count: int) -> None:
    while count:
        await trio.lowlevel.wait_readable(fd)
        count -= len(os.read(fd, min(count, 1 << 16)))


@both
async def test_drained_when_all_is_read(make: Ends) -> None:
    """`drained` returns when the client has read the last byte, and not before."""
    async with conversation(make) as client:
        client.channel.send_nowait([s2c(b"abc")])
        done = trio.Event()

        async def wait() -> None:
            await client.channel.drained()
            done.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await wait_all_tasks_blocked()
            assert not done.is_set()
            assert b"abc\n" == os.read(client.stdout, 100)
        await client.channel.drained()


async def test_a_reader_that_does_not_read_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`drained` gives up after DRAIN_TIMEOUT_S seconds."""
    monkeypatch.setattr(fd, "DRAIN_TIMEOUT_S", 0.05)
    async with conversation() as client:
        client.channel.send_nowait([s2c(b"abc")])
        await client.channel.drained()

        assert b"abc\n" == os.read(client.stdout, 100)


async def test_reading_after_closing() -> None:
    """Who reads a closed channel gets trio's error."""
    async with conversation() as client:
        await client.channel.aclose()
        await client.channel.aclose()

        with pytest.raises(trio.ClosedResourceError):
            await client.channel.receive()


def test_stray_prints_go_to_standard_error() -> None:
    """Once our stdio is taken, only what the channel sends is on stdout."""
    done = subprocess.run(
        [sys.executable, "-c", TALKER], input=b"hello\n", capture_output=True, timeout=LIMIT
    )

    assert (0, b"HELLO\n") == (done.returncode, done.stdout)
    assert sorted(done.stderr.splitlines()) == [b"a stray print", b"a stray write"]


@both
async def test_a_reader_that_leaves_is_noticed_without_writing(make: Ends) -> None:
    """Its end of standard output is closed; nothing was sent."""
    async with conversation(make) as client, trio.open_nursery() as nursery:
        nursery.start_soon(client.channel.left)
        await wait_all_tasks_blocked()
        client.close("stdout")


async def test_a_file_has_no_reader_to_miss(tmp_path: Path) -> None:
    """Nor has /dev/null."""
    for path in (tmp_path / "out", Path(os.devnull)):
        with path.open("r+b" if path.exists() else "w+b") as file:
            out = borrow(file.fileno(), os.O_WRONLY)
            channel = StdioChannel(borrow(file.fileno(), os.O_RDONLY), out, out)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(channel.left)
                await wait_all_tasks_blocked()
                assert 1 == len(nursery.child_tasks)
                nursery.cancel_scope.cancel()
