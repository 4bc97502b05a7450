"""The end of a conversation where no client is: a stage speaks in its place.

It never says anything, and of what comes it keeps nothing but a server's standard error, which goes
to ours: a server that cannot start says why there. `sessions.drive` stands above.
"""

from __future__ import annotations

from collections.abc import Sequence

import trio

from mcpmock.protocol.messages import Frame, Stderr

from .channel import MessageChannel
from .fd import DescriptorQueue


class NullClient(MessageChannel):
    """`stderr` is where standard error goes, None for nowhere; closing this does not close it."""

    def __init__(self, stderr: DescriptorQueue | None = None) -> None:
        self._stderr = stderr
        self._closed = trio.Event()

    async def receive(self) -> list[Frame]:
        """Wait, and return nothing, for as long as it is open."""
        await self._closed.wait()
        raise trio.EndOfChannel

    def send_nowait(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            if self._stderr is not None and type(frame.fact) is Stderr:
                self._stderr.put(frame.raw)

    def held(self, like: Frame) -> int:  # noqa: ARG002 (a full log is dropped)
        return 0

    async def room(self, like: Frame) -> None:  # noqa: ARG002
        await trio.lowlevel.checkpoint()

    async def flush(self) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        self._closed.set()
        await trio.lowlevel.checkpoint()
