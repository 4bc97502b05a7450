"""`ReplacedProcess`: a server that is a process, and one after the other that replaces it.

It says when a replacement is due and how it went (`RestartStep`), and replaces the process when
the session asks for it. What a restart means to the session is `transports.server_restart`;
`sessions.restarts` knows when one is due and how a server is started.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from math import inf

import trio

from mcpmock.errors import CannotStart
from mcpmock.protocol.messages import S2C, Frame, RestartStep, Stderr, StopSignal

from .channel import ConversationEnd, Receive
from .process import ProcessChannel
from .queues import FrameQueue


class ReplacedProcess(ConversationEnd):
    """The end of `first`. `start` starts another process, or raises CannotStart; `next_change`
    returns when one is due, and says why.
    """

    def __init__(
        self,
        first: ProcessChannel,
        start: Callable[[], Awaitable[ProcessChannel]],
        next_change: Callable[[], Awaitable[str]],
    ) -> None:
        self._process: ProcessChannel | None = first
        self._start, self._next_change = start, next_change
        self._said = FrameQueue()
        self._offer, self._offered = trio.open_memory_channel[Receive](inf)
        self._offer.send_nowait(self._said.receive)
        self._wanted = trio.Event()
        self._in_place = self._abandoned = False

    async def accept(self) -> Receive:
        return await self._offered.receive()

    def send_nowait(self, frames: Sequence[Frame]) -> None:
        if isinstance(frames[-1].fact, RestartStep):  # a cancel may come with it
            self._wanted.set()
        if self._process is not None:
            with suppress(trio.BrokenResourceError):  # the next one will read
                self._process.send_nowait(frames)

    def held(self, like: Frame) -> int:
        return 0 if self._process is None else self._process.held(like)

    async def room(self, like: Frame) -> None:
        if self._process is not None:
            with suppress(trio.BrokenResourceError):
                await self._process.room(like)

    async def flush(self) -> None:
        if self._process is not None:
            with suppress(trio.BrokenResourceError):
                await self._process.flush()

    def interrupt(self, signum: int) -> bool:
        self._say(StopSignal(signum))
        return self._process is not None and self._process.interrupt(signum)

    def leave_to_client(self) -> None:
        self._in_place = True
        if self._process is not None:
            self._process.leave_to_client()

    def abandon(self) -> None:
        self._abandoned = True
        if self._process is not None:
            self._process.abandon()

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            if self._process is not None:
                await self._adopt(self._process, nursery)
            nursery.start_soon(self._watch)
            while True:
                await self._wanted.wait()
                self._wanted = trio.Event()
                old, self._process = self._process, None
                if old is not None:
                    await old.replace()
                try:
                    new = await self._start()
                except CannotStart as error:
                    self._say(RestartStep("failed", str(error)))
                else:
                    self._say(RestartStep("started"))  # what it says itself comes later
                    await self._adopt(new, nursery)

    async def aclose(self) -> None:
        self._said.close()
        if self._process is not None:
            await self._process.aclose()
        else:
            await trio.lowlevel.checkpoint()

    async def _watch(self) -> None:
        while True:
            self._say(RestartStep("due", await self._next_change()))

    def _say(self, fact: RestartStep | StopSignal) -> None:
        self._said.put([Frame(S2C, b"", b"", fact)])

    async def _adopt(self, process: ProcessChannel, nursery: trio.Nursery) -> None:
        self._process = process
        if self._in_place:
            process.leave_to_client()
        if self._abandoned:
            process.abandon()
        nursery.start_soon(process.run)
        with suppress(trio.EndOfChannel):
            while True:
                receive = partial(self._receive, process, await process.accept())
                self._offer.send_nowait(receive)

    async def _receive(self, process: ProcessChannel, receive: Receive) -> list[Frame]:
        """Receive from one source. Of a replaced process only its standard error counts."""
        while True:
            frames = await receive()
            if process is self._process or isinstance(frames[0].fact, Stderr):
                return frames
