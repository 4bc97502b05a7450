"""`MessageChannel`: one duplex end of a conversation, carrying frames in batches; and its twin in
memory.

A channel moves frames and reads no meaning into them. The runner stands above; `process` and
`stdio` implement it for descriptors, `memory_pair` for tests and for use inside one process. Errors
are trio's own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence

import trio

from mcpmock.protocol.messages import Frame, StreamEnd

ROOM = 1 << 20
"""How many bytes a channel holds for a slow reader before the pump that fills it stops reading its
own source.
"""

DRAIN = 1.0
"""Seconds that `drained` waits for a reader that does not read."""

Receive = Callable[[], Awaitable[list[Frame]]]
Deliver = Callable[[Sequence[Frame]], None]


class MessageChannel(trio.abc.Channel[list[Frame]]):
    """A duplex end of a conversation.

    Sending never waits: what the other side does not take at once is held, and moved on by `run`.
    Who sends much asks for `room` before producing more; that is the whole of back pressure. A
    `StreamEnd` that is sent closes the way out behind all that was sent before it.
    """

    deliver: Deliver | None = None
    """Takes frames at once, as soon as the runner has set it. A channel may use it for what is
    whole: whoever is to be stopped when nobody takes what he sends has to be received from.
    """

    @property
    def receivers(self) -> Sequence[Receive]:
        """What is read independently of each other, from the start: a process has three (stdout,
        stderr, exit), most channels one.
        """
        return (self.receive,)

    async def another_receiver(self) -> Receive:
        """The next thing to be read independently of all others that opens later: HTTP opens one
        with every exchange. Raises trio.EndOfChannel when there will be none any more.
        """
        raise trio.EndOfChannel

    @abstractmethod
    async def receive(self) -> list[Frame]:
        """The frames of one read, at least one. Raises trio.EndOfChannel once nothing more can
        come.
        """

    @abstractmethod
    def send_nowait(self, frames: Sequence[Frame]) -> None:
        """Hands over frames, in order. Raises trio.BrokenResourceError if the other side
        is gone.
        """

    def held(self, like: Frame) -> int:  # noqa: ARG002
        """How many bytes wait on the way that `like` goes; with fewer than ROOM nobody needs to
        wait for `room`.
        """
        return ROOM

    @abstractmethod
    async def room(self, like: Frame) -> None:
        """Returns when less than ROOM bytes are held on the way that `like` goes; raises as
        `send_nowait` does.
        """

    @abstractmethod
    async def flush(self) -> None:
        """Returns when nothing is held any more; raises as `send_nowait` does."""

    async def drained(self) -> None:
        """Returns when the other side has read all that was sent, or after DRAIN seconds; at once
        where nobody can tell.

        What is sent after that cannot come in one read with what was sent before.
        """

    def interrupt(self, signum: int) -> None:
        """We were told to end, by this signal: a process is told the same."""

    async def run(self) -> None:
        """Moves what is held. The runner keeps it going for the life of the session."""

    async def send(self, value: list[Frame]) -> None:
        """`send_nowait` and `flush`, for callers with nothing better to do meanwhile."""
        self.send_nowait(value)
        await self.flush()


class _Lane:
    """One way of a memory pair: frames sent and not yet received."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.held = 0
        self.ended = False
        self.broken = False
        self.changed = trio.lowlevel.ParkingLot()

    def put(self, frames: Sequence[Frame]) -> None:
        if self.broken or self.ended:
            raise trio.BrokenResourceError
        self.frames += frames
        self.held += sum(frame.size for frame in frames)
        self.ended = any(type(frame.fact) is StreamEnd for frame in frames)
        self.changed.unpark_all()

    async def take(self) -> list[Frame]:
        await trio.lowlevel.checkpoint()
        while not self.frames:
            if self.ended or self.broken:
                raise trio.EndOfChannel
            await self.changed.park()
        frames, self.frames, self.held = self.frames, [], 0
        self.changed.unpark_all()
        return frames

    async def below(self, bound: int) -> None:
        await trio.lowlevel.checkpoint()
        while self.held >= bound:
            if self.broken:
                raise trio.BrokenResourceError
            await self.changed.park()

    def close(self) -> None:
        self.broken = True
        self.changed.unpark_all()


class MemoryChannel(MessageChannel):
    """One end of `memory_pair`."""

    def __init__(self, out: _Lane, back: _Lane) -> None:
        self._out, self._back = out, back
        self._closed = False

    async def receive(self) -> list[Frame]:
        if self._closed:
            raise trio.ClosedResourceError
        return await self._back.take()

    def send_nowait(self, frames: Sequence[Frame]) -> None:
        self._out.put(frames)

    async def room(self, like: Frame) -> None:  # noqa: ARG002 (both kinds go one way)
        await self._out.below(ROOM)

    async def flush(self) -> None:
        await self._out.below(1)

    async def aclose(self) -> None:
        self._closed = True
        self._out.close()
        self._back.close()
        await trio.lowlevel.checkpoint()


def memory_pair() -> tuple[MemoryChannel, MemoryChannel]:
    """Two connected ends: what is sent into one is received from the other. No bytes, no tasks,
    exact on a mock clock.
    """
    there, back = _Lane(), _Lane()
    return MemoryChannel(there, back), MemoryChannel(back, there)
