"""A listening socket in memory, for HTTP under the mock clock."""

from __future__ import annotations

import trio
from trio.testing import memory_stream_pair

from tests.support.http_caller import Caller

PORT = 4711


class Door(trio.abc.Listener[trio.abc.Stream]):
    """A listening socket in memory."""

    def __init__(self) -> None:
        self._come, self._next = trio.open_memory_channel[trio.abc.Stream](100)
        self.socket = self

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", PORT

    async def accept(self) -> trio.abc.Stream:
        return await self._next.receive()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()

    def connect(self) -> trio.abc.Stream:
        """The other end of a connection."""
        ours, theirs = memory_stream_pair()
        self._come.send_nowait(theirs)
        return ours

    def client(self, target: str = "/mcp") -> Caller:
        """Somebody who has connected."""
        return Caller(self.connect(), f"127.0.0.1:{PORT}", target)
