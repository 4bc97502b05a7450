"""`DeferredChannel`: an end that is opened by the first frame that is sent to it.

Until then nothing is started and nothing dialled. `sessions.standby` stands above: a real
server behind a
recording that may know everything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import trio

from mcpmock.protocol.messages import Frame

from .channel import ConversationEnd, Receive


class DeferredChannel(ConversationEnd):
    """The channel that `open_it` gives, once it is needed. What goes wrong in `open_it` is raised
    by `run`, and so ends the session.
    """

    def __init__(self, open_it: Callable[[], Awaitable[ConversationEnd]]) -> None:
        self._open_it = open_it
        self._wanted, self._opened = trio.Event(), trio.Event()
        self._inner: ConversationEnd | None = None
        self._held: list[Sequence[Frame]] = []

    @property
    def needed(self) -> bool:
        """Whether anything was sent."""
        return self._wanted.is_set()

    async def accept(self) -> Receive:
        return await (await self._inside()).accept()

    def send_nowait(self, frames: Sequence[Frame]) -> None:
        if self._inner is not None:
            self._inner.send_nowait(frames)
            return
        self._held.append(frames)
        self._wanted.set()

    def held(self, like: Frame) -> int:
        if self._inner is not None:
            return self._inner.held(like)
        return sum(frame.size for frames in self._held for frame in frames)

    async def room(self, like: Frame) -> None:
        await (await self._inside()).room(like)

    async def flush(self) -> None:
        if self.needed:
            await (await self._inside()).flush()
        else:
            await trio.lowlevel.checkpoint()

    def interrupt(self, signum: int) -> bool:
        return self._inner is not None and self._inner.interrupt(signum)

    async def run(self) -> None:
        await self._wanted.wait()
        inner = await self._open_it()
        self._inner = inner
        held, self._held = self._held, []
        for frames in held:
            inner.send_nowait(frames)
        self._opened.set()
        await inner.run()

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()
        else:
            await trio.lowlevel.checkpoint()

    async def _inside(self) -> ConversationEnd:
        await self._opened.wait()
        assert self._inner is not None
        return self._inner
