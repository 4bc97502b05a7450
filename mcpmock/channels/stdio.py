"""Our own stdin, stdout and stderr as a channel: the client that started us, seen from where its
server would sit.

stdout is the protocol and nothing else: `take_stdio` keeps it for the channel and points descriptor
1 at standard error, so that no stray print of anybody ever lands between two frames. `process` is
the other end of the same transport.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Sequence

import trio

from mcpmock.protocol.messages import C2S, Frame, Stderr, StreamEnd
from mcpmock.transports.lines import LineSplitter, join_lines

from .channel import DRAIN_TIMEOUT_S, MAX_HELD_BYTES, MessageChannel
from .fd import Descriptor, DescriptorQueue, borrow, log_queue
from .short_wait import PipeSource


class StdioChannel(MessageChannel):
    """The client's end of a stdio conversation: what it sends comes in, what the server says and
    logs goes out. An `only` client is the only one of this process.
    """

    def __init__(
        self, stdin: Descriptor, stdout: Descriptor, stderr: Descriptor, *, only: bool = False
    ) -> None:
        self._stdin = stdin
        self._reader = stdout
        self._splitter = LineSplitter(C2S)
        self._stdout, self._stderr = DescriptorQueue(stdout), log_queue(stderr)
        self._ended = False
        self._only = only

    async def receive(self) -> list[Frame]:
        if self._ended:
            raise trio.EndOfChannel
        while True:
            await self._stdin.readable()
            data = self._stdin.read()
            if data == b"":
                self._ended = True
                await _let_signals_go_first()
                return [*self._splitter.end(), Frame(C2S, b"", b"", StreamEnd())]
            if data and (frames := self._splitter.feed(data)):
                return frames

    def pipe_sources(self) -> Sequence[PipeSource]:
        # Other clients would have to wait together with this one. Windows waits for no pipes so.
        if not self._only or sys.platform == "win32":
            return ()
        return (PipeSource(self._stdin.fd, self._stdin.read, self._splitter.feed),)

    def send_nowait(self, frames: Sequence[Frame]) -> None:
        data = join_lines(frames)
        if data:
            self._stdout.put(data)
        for frame in frames:
            if frame.fact is None:
                continue
            if type(frame.fact) is Stderr:
                self._stderr.put(frame.raw)
            elif type(frame.fact) is StreamEnd:
                self._stdout.end()

    def held(self, like: Frame) -> int:
        return self._stderr.held if type(like.fact) is Stderr else self._stdout.held

    async def room(self, like: Frame) -> None:
        queue = self._stderr if type(like.fact) is Stderr else self._stdout
        await queue.below(MAX_HELD_BYTES)

    async def flush(self) -> None:
        await self._stdout.below(1)
        with trio.move_on_after(DRAIN_TIMEOUT_S):  # a log without a reader delays nothing
            await self._stderr.below(1)

    async def left(self) -> None:
        """Return when the reader of standard output has closed it. A file has none."""
        if sys.platform != "linux":
            await trio.sleep_forever()  # the next write finds out
        errors = select.epoll()
        try:
            # With no events asked for, the kernel reports errors and hang-ups alone; and an epoll
            # is itself readable while it has something to report.
            errors.register(self._reader.fd, 0)
            await trio.lowlevel.wait_readable(errors.fileno())
            await _let_signals_go_first()
        except OSError:  # a file, /dev/null, or closed by now
            await trio.sleep_forever()
        finally:
            errors.close()

    @property
    def waits_for_reader(self) -> bool:
        return self._only

    async def drained(self) -> None:
        await self._stdout.drained()

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._stdout.run)
            nursery.start_soon(self._stderr.run)

    async def aclose(self) -> None:
        self._stdin.close()
        self._stdout.close()
        self._stderr.close()
        await trio.lowlevel.checkpoint()


async def _let_signals_go_first() -> None:
    """Let tasks run that wait for a signal which has come.

    Ctrl-C reaches us and our client at once, so its end comes behind the signal. A server that
    heard of the end first would end by it, with another exit status than without us.
    """
    # Where both came while we did not run, the kernel names the end, and only then does the handler
    # of the signal wake trio.
    await trio.lowlevel.checkpoint()  # the loop hears of that
    await trio.lowlevel.checkpoint()  # trio's task that takes what signal handlers queued
    await trio.lowlevel.checkpoint()  # the tasks that it wakes


def take_stdio() -> StdioChannel:
    """Return our stdio as a channel. From here on a print goes to standard error."""
    channel = StdioChannel(
        borrow(0, os.O_RDONLY), borrow(1, os.O_WRONLY), borrow(2, os.O_WRONLY), only=True
    )
    os.dup2(2, 1)
    return channel
