"""A child process as a channel: an MCP server started by command, spoken to over its stdin and
stdout.

How a child ends is here: the ladder (end of input, 2 s, SIGTERM, 2 s, SIGKILL), and what to do
with a grandchild that keeps the pipes. Where mcpmock stands between a client and its server, it has
no ladder: the client decides. How it starts, with its own process group and its guard, is
`child_process`. Signals come from `sessions`; framing is `transports.lines`; nothing here looks
into a frame.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import trio

from mcpmock.platforms import KILL, TERMINATE, exit_descriptor
from mcpmock.protocol.messages import C2S, S2C, Frame, ProcessExit, Stderr, StreamEnd
from mcpmock.transports.lines import LineSplitter, join_lines

from .channel import MAX_HELD_BYTES, MessageChannel, Receive
from .child_process import ChildProcess
from .fd import Descriptor, DescriptorQueue, own, wait_in_thread
from .short_wait import PipeSource

STEP_TIMEOUT_S = 2.0
"""Seconds that a child is given at each step: to end after its input did, after SIGTERM, and to let
go of its pipes.
"""
SIGNALLED_STEP_TIMEOUT_S = 1.5
"""Less when we were signalled ourselves: the SDK clients send SIGKILL 2 s after their SIGTERM."""
ABANDONED_STEP_TIMEOUT_S = 10.0
"""The same for a child that stands behind us, once its client is gone: nothing else will end it."""


class ProcessChannel(MessageChannel):
    """A running child, which is the channel's from then on; `aclose` leaves nothing of its process
    group behind.
    """

    def __init__(self, child: ChildProcess) -> None:
        self._child = child
        self._in_place = False
        self._read_at = 0.0
        """When anything was read last."""
        self._exit = exit_descriptor(child.pid)
        self._waiting = trio.Lock()
        child.adopt()
        self._stdin = DescriptorQueue(own(child.stdin))
        self._stdout, self._stderr = own(child.stdout), own(child.stderr)
        self._splitter = LineSplitter(S2C)
        self._open_pipes = {self._stdout, self._stderr}
        self._pipes_ended = trio.Event()
        # Apart from each other: a server that floods stderr must not hold up its answers.
        self._sources: list[Receive] = [self.receive, self.receive_stderr, self.receive_exit]
        self.step_timeout = STEP_TIMEOUT_S
        """Of the ladder: how long the child may take to end, at each step."""
        self._exited = False
        self._gone = trio.Event()
        """Set once nothing more is to come from it."""
        self._replaced = False
        self._patience = trio.CancelScope()
        self._next_signals = [TERMINATE, KILL]

    @property
    def pid(self) -> int:
        """Of the child, and so of its session and its process group."""
        return self._child.pid

    async def accept(self) -> Receive:
        await trio.lowlevel.checkpoint_if_cancelled()
        if not self._sources:
            raise trio.EndOfChannel
        return self._sources.pop(0)

    async def receive(self) -> list[Frame]:
        """Receive standard output; its end is a StreamEnd of its own, after whatever line was left
        unfinished.
        """
        while (data := await self._read(self._stdout)) is not None:
            if not data:
                return [*self._splitter.end(), Frame(S2C, b"", b"", StreamEnd())]
            frames = self._splitter.feed(data)
            if frames:
                return frames
        raise trio.EndOfChannel

    async def receive_stderr(self) -> list[Frame]:
        """Receive standard error, as it is written: not in lines, or a prompt would wait for its
        line end.
        """
        data = await self._read(self._stderr)
        if not data:
            raise trio.EndOfChannel
        return _log_frames(data)

    async def receive_exit(self) -> list[Frame]:
        """Return the exit, once: after all output. What keeps the pipes of a process that is gone
        may be silent for STEP_TIMEOUT_S, and in front of a client that we end for at most so long
        in all.
        """
        if self._exited:
            raise trio.EndOfChannel
        await self._wait_exit()
        if self._replaced:  # nothing of the group may live beside what replaces it
            self._child.kill(KILL)
        self._read_at = trio.current_time()
        while not self._pipes_ended.is_set():
            until = self._read_at + STEP_TIMEOUT_S
            with trio.move_on_at(until) as waited:
                await self._pipes_ended.wait()
            if waited.cancelled_caught and (
                not self._in_place or self._read_at <= until - STEP_TIMEOUT_S
            ):
                break
        if not self._pipes_ended.is_set():
            # A grandchild sits on our pipes. One that let go of them is a daemon and left alone.
            self._child.kill(KILL)
            with trio.move_on_after(STEP_TIMEOUT_S / 4):
                await self._pipes_ended.wait()
        self._exited = True
        self._gone.set()
        code = self._child.process.returncode or 0
        exit_ = ProcessExit(signal=-code) if code < 0 else ProcessExit(code)
        return [Frame(S2C, b"", b"", exit_)]

    def pipe_sources(self) -> Sequence[PipeSource]:
        # What a server logs before it answers is read before the answer.
        return (
            PipeSource(self._stderr.fd, self._stderr.read, _log_frames),
            PipeSource(self._stdout.fd, self._stdout.read, self._splitter.feed),
        )

    def send_nowait(self, frames: Sequence[Frame]) -> None:
        data = join_lines(frames)
        if data:
            self._stdin.put(data)
        if type(frames[-1].fact) is StreamEnd:  # nothing comes behind it
            self._stdin.end()
            if not self._in_place:
                self._give(self.step_timeout)

    def held(self, like: Frame) -> int:  # noqa: ARG002 (all goes to stdin)
        return self._stdin.held

    async def room(self, like: Frame) -> None:  # noqa: ARG002 (all goes to stdin)
        await self._stdin.below(MAX_HELD_BYTES)

    async def flush(self) -> None:
        await self._stdin.below(1)

    async def run(self) -> None:
        await self._stdin.run()

    def interrupt(self, signum: int) -> bool:
        """Hand a signal that we got on to the child's process group, as often as it comes.

        Of a child that is ours alone the first decides that it must end, because nothing of ours
        may outlive a stop signal by 5 s (`mcpmock help reliability`, R16 and R17): SIGKILL follows
        it, and no further signal puts that off or brings it nearer.
        """
        self._child.kill(signum)
        if self._in_place:
            return True
        self._next_signals = [KILL]
        self._give(SIGNALLED_STEP_TIMEOUT_S)
        return False

    def leave_to_client(self) -> None:
        self._in_place = True

    def abandon(self) -> None:
        if self._in_place:
            self.step_timeout = ABANDONED_STEP_TIMEOUT_S
        self._give(self.step_timeout)

    async def replace(self) -> None:
        """End the child as a client does that leaves, and all that it has started, while its
        sources are received.
        """
        self._in_place, self._replaced = False, True
        try:
            self.send_nowait([Frame(C2S, b"", b"", StreamEnd())])
            await self._gone.wait()
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """End what still lives, at once, and leave no descriptor, zombie or guard."""
        with trio.CancelScope(shield=True):
            if not self._exited:
                self._exited = True
                self._child.kill(KILL)
                await self._wait()
            self._child.guard.dismiss()
            if self._exit is not None:
                os.close(self._exit)
                self._exit = None
        self._stdin.close()
        self._stdout.close()
        self._stderr.close()
        await trio.lowlevel.checkpoint()

    async def _read(self, pipe: Descriptor) -> bytes | None:
        """Return one read's worth; b"" once at the end, None after it."""
        if pipe not in self._open_pipes:
            return None
        data = None
        while data is None:
            await pipe.readable()
            data = pipe.read()
        self._read_at = trio.current_time()
        if not data:
            self._open_pipes.discard(pipe)
            if not self._open_pipes:
                self._pipes_ended.set()
        return data

    async def _wait_exit(self) -> None:
        """Wait for the child, climbing the ladder each time that its patience runs out."""
        while self._child.process.returncode is None:
            with self._patience:
                await self._wait()
            if self._child.process.returncode is None:
                self._child.kill(self._next_signals[0])
                del self._next_signals[:-1]
                self._patience = trio.CancelScope(deadline=trio.current_time() + self.step_timeout)

    def _give(self, seconds: float) -> None:
        self._patience.deadline = min(self._patience.deadline, trio.current_time() + seconds)

    async def _wait(self) -> None:
        async with self._waiting:  # one task may wait for a descriptor
            if self._exit is None:
                await wait_in_thread(self._child.process.wait)
            elif self._child.process.poll() is None:
                await trio.lowlevel.wait_readable(self._exit)
                self._child.process.wait()


def _log_frames(data: bytes) -> list[Frame]:
    return [Frame(S2C, data, b"", Stderr())]


async def start_process(command: Sequence[str]) -> ProcessChannel:
    """Start `command`. Raises CannotStart, as `ChildProcess` does."""
    # In a thread: a start waits until the kernel has read the program from the disk.
    child = await trio.to_thread.run_sync(ChildProcess, command)
    return ProcessChannel(child)
