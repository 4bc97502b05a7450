"""A child process as a channel: an MCP server started by command, spoken to over its stdin and
stdout.

Everything about the life and death of the child is here: its own session and process group, the
ladder that ends it (end of input, 2 s, SIGTERM, 2 s, SIGKILL), what to do with a grandchild that
keeps the pipes, and the guard for the case that we are killed ourselves. Signals come from
`sessions`; framing is `transports.lines`; nothing here looks into a frame.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

import trio

from mcpmock.errors import CannotStart
from mcpmock.protocol.messages import S2C, Frame, ProcessExit, Stderr, StreamEnd
from mcpmock.transports.lines import LineSplitter, join_lines

from .channel import MAX_HELD_BYTES, MessageChannel, Receive
from .fd import Descriptor, DescriptorQueue, own
from .process_watchdog import ProcessWatchdog

STEP_TIMEOUT_S = 2.0
"""Seconds that a child is given at each step: to end after its input did, after SIGTERM, and to let
go of its pipes.
"""
SIGNALLED_STEP_TIMEOUT_S = 1.5
"""Less when we were signalled ourselves: the SDK clients send SIGKILL 2 s after their SIGTERM."""


class ProcessChannel(MessageChannel):
    """A running child. Made by `start_process`; `aclose` leaves nothing of its process group
    behind.
    """

    def __init__(
        self, process: trio.Process, stdin: Descriptor, stdout: Descriptor, stderr: Descriptor
    ) -> None:
        self._process = process
        self._stdin = DescriptorQueue(stdin)
        self._stdout, self._stderr = stdout, stderr
        self._splitter = LineSplitter(S2C)
        self._open_pipes = {stdout, stderr}
        self._pipes_ended = trio.Event()
        # Apart from each other: a server that floods stderr must not hold up its answers.
        self._sources: list[Receive] = [self.receive, self.receive_stderr, self.receive_exit]
        self._exited = False
        self._patience = trio.CancelScope()
        self._next_signals = [signal.SIGTERM, signal.SIGKILL]
        self._guard = ProcessWatchdog(process.pid)

    async def accept(self) -> Receive:
        await trio.lowlevel.checkpoint_if_cancelled()
        if not self._sources:
            raise trio.EndOfChannel
        return self._sources.pop(0)

    async def receive(self) -> list[Frame]:
        """Standard output; its end is a StreamEnd of its own, after whatever line was left
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
        """Standard error, as it is written: not in lines, or a prompt would wait for its
        line end.
        """
        data = await self._read(self._stderr)
        if not data:
            raise trio.EndOfChannel
        return [Frame(S2C, data, b"", Stderr())]

    async def receive_exit(self) -> list[Frame]:
        """The exit, once: after all output, which is waited for as long as STEP_TIMEOUT_S after the
        process is gone.
        """
        if self._exited:
            raise trio.EndOfChannel
        await self._wait_exit()
        with trio.move_on_after(STEP_TIMEOUT_S) as waited:
            await self._pipes_ended.wait()
        if waited.cancelled_caught:
            # A grandchild sits on our pipes. One that let go of them is a daemon and left alone.
            self._kill_group(signal.SIGKILL)
            with trio.move_on_after(STEP_TIMEOUT_S / 4):
                await self._pipes_ended.wait()
        self._exited = True
        code = self._process.returncode or 0
        exit_ = ProcessExit(signal=-code) if code < 0 else ProcessExit(code)
        return [Frame(S2C, b"", b"", exit_)]

    def send_nowait(self, frames: Sequence[Frame]) -> None:
        data = join_lines(frames)
        if data:
            self._stdin.put(data)
        if type(frames[-1].fact) is StreamEnd:  # nothing comes behind it
            self._stdin.end()
            self._give(STEP_TIMEOUT_S)

    def held(self, like: Frame) -> int:  # noqa: ARG002 (all goes to stdin)
        return self._stdin.held

    async def room(self, like: Frame) -> None:  # noqa: ARG002 (all goes to stdin)
        await self._stdin.below(MAX_HELD_BYTES)

    async def flush(self) -> None:
        await self._stdin.below(1)

    async def run(self) -> None:
        await self._stdin.run()

    def interrupt(self, signum: int) -> None:
        """Hands a signal that we got on to the child's process group, as often as it comes. With
        the first we decide that the child must end, so SIGKILL follows it.
        """
        self._kill_group(signum)
        if self._next_signals[0] != signal.SIGKILL:
            self._next_signals = [signal.SIGKILL]
            self._give(SIGNALLED_STEP_TIMEOUT_S)

    async def aclose(self) -> None:
        """Ends what still lives, at once, and leaves no descriptor, zombie or guard."""
        with trio.CancelScope(shield=True):
            if not self._exited:
                self._exited = True
                self._kill_group(signal.SIGKILL)
                await self._process.wait()
            self._guard.dismiss()
        self._stdin.close()
        self._stdout.close()
        self._stderr.close()
        await trio.lowlevel.checkpoint()

    async def _read(self, pipe: Descriptor) -> bytes | None:
        """One read's worth; b"" once at the end, None after it."""
        if pipe not in self._open_pipes:
            return None
        data = None
        while data is None:
            await pipe.readable()
            data = pipe.read()
        if not data:
            self._open_pipes.discard(pipe)
            if not self._open_pipes:
                self._pipes_ended.set()
        return data

    async def _wait_exit(self) -> None:
        """Waits for the child, climbing the ladder each time that its patience runs out."""
        while self._process.returncode is None:
            with self._patience:
                await self._process.wait()
            if self._process.returncode is None:
                self._kill_group(self._next_signals[0])
                del self._next_signals[:-1]
                self._patience = trio.CancelScope(deadline=trio.current_time() + STEP_TIMEOUT_S)

    def _give(self, seconds: float) -> None:
        self._patience.deadline = min(self._patience.deadline, trio.current_time() + seconds)

    def _kill_group(self, signum: int) -> None:
        try:
            os.killpg(self._process.pid, signum)
        except ProcessLookupError:
            pass  # it was quicker
        except PermissionError:
            pass  # it changed its user: then only the end of its input reaches it


def _pipes(count: int) -> list[tuple[int, int]]:
    """All of them or none: where descriptors run out, none may be lost."""
    made: list[tuple[int, int]] = []
    try:
        for _ in range(count):
            made.append(os.pipe())  # noqa: PERF401 (those made before an error must be known)
    except OSError:
        for pair in made:
            _close(*pair)
        raise
    return made


def _close(*fds: int) -> None:
    for fd in fds:
        os.close(fd)


async def start_process(command: Sequence[str]) -> ProcessChannel:
    """Starts `command` (never through a shell) with our environment and working folder.

    Raises CannotStart, as a shell would fail: 127 where there is no such command, 126 where it is
    not executable.
    """
    try:
        return await _start(command)
    except OSError as error:
        found = not isinstance(error, FileNotFoundError)
        raise CannotStart(command[0], os.strerror(error.errno or 0), found=found) from error


async def _start(command: Sequence[str]) -> ProcessChannel:
    (their_in, our_in), (our_out, their_out), (our_err, their_err) = _pipes(3)
    try:
        process = await trio.lowlevel.open_process(
            list(command),
            stdin=their_in,
            stdout=their_out,
            stderr=their_err,
            # A process group of its own: npx and uvx start the server as a grandchild, and only the
            # group reaches that too. A Ctrl-C for us does not, so `interrupt` hands it on.
            start_new_session=True,
        )
    except OSError:
        _close(our_in, our_out, our_err)
        raise
    finally:
        _close(their_in, their_out, their_err)
    try:
        return ProcessChannel(process, own(our_in), own(our_out), own(our_err))
    except OSError:  # nothing is started without its guard
        _close(our_in, our_out, our_err)
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
        raise
