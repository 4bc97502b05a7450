"""`ConversationEnd`, what the runner pumps frames from and to; `MessageChannel`, an end with one
source; and its twin in memory.

An end moves frames and reads no meaning into them. The runner stands above; `process`, `stdio` and
`http` implement it, `memory_pair` is for tests and for use inside one process. Errors are trio's
own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence

import trio

from mcpmock.protocol.messages import Frame, StreamEnd

from .queues import FrameQueue
from .short_wait import PipeSource

MAX_HELD_BYTES = 1 << 20
"""How much a channel holds for a slow reader before the pump that fills it stops reading its own
source.
"""
DRAIN_TIMEOUT_S = 1.0
"""How long `drained` waits for a reader that does not read."""

Receive = Callable[[], Awaitable[list[Frame]]]
"""Gives the frames of one read, at least one. Raises trio.EndOfChannel once no more can come."""
Deliver = Callable[[Sequence[Frame]], None]


class ConversationEnd(trio.abc.AsyncResource):
    """One end of a conversation: where frames come from and go to.

    Frames come from one or more sources, each read independently of the others. An end with a
    single source is a `MessageChannel`.

    Sending never waits: what the other side does not take at once is held, and moved by `run`.
    A sender of much asks for `room` before it produces more; that is the whole of back pressure. A
    `StreamEnd` that is sent closes the way out behind all that was sent before it.
    """

    deliver: Deliver | None = None
    """Set by the runner: takes frames of a source that `accept` has not given. An end uses it only
    for what has come as a whole, since it has no back pressure.
    """
    # HTTP needs it.
    # speed: a request that goes through a queue and a waiting task instead costs two task switches,
    # 15 to 35 us, and makes the p50 of a call 4 to 9 % (record) and 6 to 13 % (replay) longer
    # (tools/bench.py, http-record and http-replay)

    @abstractmethod
    async def accept(self) -> Receive:
        """Return the next source: a process has three (stdout, stderr, exit), HTTP has one for
        every exchange. Raises trio.EndOfChannel when no more will come.
        """

    @abstractmethod
    def send_nowait(self, frames: Sequence[Frame]) -> None:
        """Hand over frames, in order. Raises trio.BrokenResourceError if the other side
        is gone.
        """

    def held(self, like: Frame) -> int:  # noqa: ARG002
        """Return how many bytes wait on the way that `like` goes; below MAX_HELD_BYTES there is no
        need to wait for `room`.
        """
        return MAX_HELD_BYTES

    @abstractmethod
    async def room(self, like: Frame) -> None:
        """Return when fewer than MAX_HELD_BYTES are held on the way that `like` goes; raises as
        `send_nowait` does.
        """

    @abstractmethod
    async def flush(self) -> None:
        """Return when nothing is held any more; raises as `send_nowait` does."""

    async def drained(self) -> None:
        """Return when the other side has read all that was sent, or after DRAIN_TIMEOUT_S; at once
        where that cannot be known.

        What is sent after that cannot come in one read with what was sent before.
        """

    def pipe_sources(self) -> Sequence[PipeSource]:
        """Return its sources, if they may be waited for together without the event loop: all of
        them are pipes of another process, and nothing else has to run in this one meanwhile.
        """
        return ()

    def hang_up(self) -> None:
        """End the session here: whatever comes for it later is refused."""

    def interrupt(self, signum: int) -> bool:  # noqa: ARG002
        """Send a process the signal that mcpmock itself got. Gives whether the process decides what
        becomes of it: otherwise the session ends.
        """
        return False

    def leave_to_client(self) -> None:
        """Stand in the place of this process from now on: its end is the affair of the client,
        which ends its input, sends signals, and may wait as long as it likes.
        """

    def abandon(self) -> None:
        """End in the time that a server has once its client is gone, even where it does not see
        that.
        """

    async def left(self) -> None:
        """Return when the other side can read nothing any more, if that can be known without
        writing to it.
        """
        await trio.sleep_forever()

    @property
    def waits_for_reader(self) -> bool:
        """Whether a session that is over waits until the other side has read all, however long
        that takes.
        """
        return False

    async def run(self) -> None:
        """Move what is held. The runner keeps it going for the life of the session."""


class MessageChannel(ConversationEnd, trio.abc.Channel[list[Frame]]):
    """A duplex end that carries lists of frames, each what one read returned. `receive` raises
    trio.EndOfChannel after the last frame, `send` and `send_nowait` raise trio.BrokenResourceError
    once the other side is gone. It is its own source, and the only one unless it says otherwise.

    >>> async def main():
    ...     async with mcpmock.replay("weather.jsonl") as server:
    ...         async with server.open() as session:
    ...             ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    ...             await session.send([mcpmock.Frame(mcpmock.C2S, ping)])
    ...             return isinstance(session, mcpmock.MessageChannel), await session.receive()
    >>> is_channel, [frame] = trio.run(main)
    >>> is_channel, frame.direction is mcpmock.S2C, frame.raw
    (True, True, b'{"jsonrpc":"2.0","id":1,"result":{}}')
    """

    _accepted = False

    async def accept(self) -> Receive:
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._accepted:
            raise trio.EndOfChannel
        self._accepted = True
        return self.receive

    @abstractmethod
    async def receive(self) -> list[Frame]:
        """Receive frames, as `Receive` says."""

    async def send(self, value: list[Frame]) -> None:
        """`send_nowait` and `flush`, for callers with nothing better to do meanwhile."""
        self.send_nowait(value)
        await self.flush()


class MemoryChannel(MessageChannel):
    """One end of `memory_pair`."""

    def __init__(self, out: FrameQueue, back: FrameQueue) -> None:
        self._out, self._back = out, back
        self._closed = False

    async def receive(self) -> list[Frame]:
        if self._closed:
            raise trio.ClosedResourceError
        await trio.lowlevel.checkpoint()
        return await self._back.receive()

    def send_nowait(self, frames: Sequence[Frame]) -> None:
        if self._out.ended:
            raise trio.BrokenResourceError
        self._out.put(frames)
        if any(type(frame.fact) is StreamEnd for frame in frames):
            self._out.end()

    async def room(self, like: Frame) -> None:  # noqa: ARG002 (both kinds go one way)
        await self._below(MAX_HELD_BYTES)

    async def flush(self) -> None:
        await self._below(1)

    async def aclose(self) -> None:
        self._closed = True
        self._out.close()
        self._back.close()
        await trio.lowlevel.checkpoint()

    async def _below(self, bound: int) -> None:
        await trio.lowlevel.checkpoint()
        await self._out.below(bound)
        if self._out.held >= bound:
            raise trio.BrokenResourceError


def memory_pair() -> tuple[MemoryChannel, MemoryChannel]:
    """Return two connected ends: what is sent into one is received from the other. No bytes, no
    tasks, exact on a mock clock.
    """
    there, back = FrameQueue(), FrameQueue()
    return MemoryChannel(there, back), MemoryChannel(back, there)
