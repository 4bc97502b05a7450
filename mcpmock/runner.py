"""`run`: two ends of a conversation and one pipeline, the only place where IO and stages meet.

Pumps move frames from a channel through the pipeline to whichever end they leave at. Neither
direction waits for the other: each source has its own pump, and a pump stops reading only while
the end that it feeds holds too many bytes. The pipeline knows what a frame means, the channels know
how it travels, and `sessions` composes both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

import trio

from mcpmock.channels.channel import MAX_HELD_BYTES, ConversationEnd, Receive
from mcpmock.channels.short_wait import ShortWait
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.protocol.messages import C2S, Frame, ProcessExit, StreamEnd

IDLE_PUMPS = 16
"""How many idle tasks are kept for sources that open later."""
MAX_FOLLOWING_S = 0.005
"""How long one pump may take what follows from both ends before other tasks have their turn."""
FLUSH_TIMEOUT_S = 2.0
"""How long a session that was stopped waits for its client to read what is still held for it."""
DEAF_AFTER_S = 2.0
"""How long a client that is to leave room may read nothing, once the server of a stopped session
has ended.
"""


class LiveSession:
    """One conversation through a pipeline. `exit` is the exit of the server, once it is known."""

    def __init__(
        self, pipeline: Pipeline, client: ConversationEnd, server: ConversationEnd | None
    ) -> None:
        self.pipeline = pipeline
        self.exit: ProcessExit | None = None
        self.client, self.server = client, server
        self._gone: set[ConversationEnd] = set()
        self._input_ended = self._server_done = False
        self._over = trio.Event()
        self._done = False
        self._internal_error: Exception | None = None
        self._armed: float | None = None
        self._rearmed = trio.Event()
        self._flushing = trio.CancelScope()
        self._stopped = False
        sources = client.pipe_sources()
        if sources and server is not None:
            from_server = server.pipe_sources()
            sources = [*from_server, *sources] if from_server else ()
        self._short_wait = ShortWait(sources) if sources else None

    async def run(self) -> None:
        """Run until the server is done or the pipeline hangs up."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.client.run)
                nursery.start_soon(self._pump_client)
                if self.server is not None:
                    nursery.start_soon(self.server.run)
                    nursery.start_soon(self._pump_server, self.server)
                    nursery.start_soon(self._watch_client)
                nursery.start_soon(self._keep_time)
                self._deliver(self.pipeline.begin(trio.current_time()))
                self.client.deliver = self._take
                await self._over.wait()
                if self._internal_error is not None:
                    raise self._internal_error
                if self._stopped or not self.client.waits_for_reader:
                    self._flushing.deadline = trio.current_time() + FLUSH_TIMEOUT_S
                with self._flushing, suppress(trio.BrokenResourceError):
                    await self.client.flush()
                nursery.cancel_scope.cancel()
        finally:
            self._done = True
            self.client.deliver = None  # else the two keep each other until the next collection

    def client_left(self, how: str = "closed") -> None:
        """End the input of the session: the client is gone, or asked this process to stop."""
        if not self._input_ended:
            self._enter([Frame(C2S, b"", b"", StreamEnd(how))], trio.current_time())

    def note_stop(self) -> None:
        """Note that this process was asked to stop: a client that does not read has FLUSH_TIMEOUT_S
        from the end of the session on.
        """
        self._stopped = True

    def end(self) -> None:
        """End `run` as soon as the client has read what is held for it, or after FLUSH_TIMEOUT_S;
        if it is over already, at once.
        """
        if self._over.is_set():
            self._flushing.cancel()
        self.note_stop()
        self._over.set()

    async def _pump_client(self) -> None:
        await self._pump_all(self.client, self.server or self.client)
        self.client_left()

    async def _pump_server(self, server: ConversationEnd) -> None:
        """Pump all sources of the server; when they end, the session is over."""
        await self._pump_all(server, self.client)
        self._server_done = True
        self._end_if_done()

    async def _pump_all(self, channel: ConversationEnd, feeds: ConversationEnd) -> None:
        """Pump every source of an end. Sources do not wait for each other."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_Pumps(channel, partial(self._pump, feeds=feeds), nursery).work)

    async def _pump(self, receive: Receive, feeds: ConversationEnd) -> None:
        while True:
            try:
                frames = await receive()
            except trio.EndOfChannel:
                return
            if self._short_wait is not None:
                # The source may have been halted by what another pump took from it.
                await self._while_halted(frames)
            self._enter(frames, trio.current_time())
            if self._short_wait is not None:
                self._follow(frames, self._short_wait)
            await self._while_halted(frames)
            if feeds not in self._gone and feeds.held(frames[-1]) >= MAX_HELD_BYTES:
                try:
                    await self._wait_for_room(feeds, frames[-1])
                except trio.BrokenResourceError:
                    self._lost(feeds)

    async def _wait_for_room(self, feeds: ConversationEnd, frame: Frame) -> None:
        """Wait until an end has read. One that does not, when we were asked to stop and the server
        has ended, gets nothing more: what the server left in its pipes is recorded all the same.
        """
        while True:
            with trio.move_on_after(DEAF_AFTER_S) as waited:
                await feeds.room(frame)
            if not waited.cancelled_caught:
                return
            if self._stopped and self.exit is not None:
                self._gone.add(feeds)
                return

    async def _while_halted(self, frames: Sequence[Frame]) -> None:
        halted = self.pipeline.halted
        if halted and (until := halted.get(frames[-1].direction)) is not None:
            await trio.sleep_until(until)

    def _follow(self, frames: Sequence[Frame], short_wait: ShortWait) -> None:
        """Take what follows within milliseconds, from either end, while no task has other work."""
        if self._needs_loop(frames):
            return
        clock = trio.lowlevel.current_clock()
        until = clock.current_time() + MAX_FOLLOWING_S
        for following in short_wait.receive():
            now = clock.current_time()
            self._deliver(self.pipeline.enter(following, now))
            if now > until or self._needs_loop(following):
                return

    def _needs_loop(self, frames: Sequence[Frame]) -> bool:
        """Return whether the session is over, or something waits: a message in a stage, a source
        that is halted, bytes that an end still has to write.
        """
        like, pipeline, server = frames[-1], self.pipeline, self.server
        over = pipeline.hung_up or self._gone
        held = self.client.held(like) or (server is not None and server.held(like))
        return bool(over or pipeline.halted or pipeline.next_due is not None or held)

    def _take(self, frames: Sequence[Frame]) -> None:
        """Take the client's frames. An error here ends the session, not the channel."""
        if self._done or self._internal_error is not None:
            return
        try:
            self._enter(frames, trio.current_time())
        except Exception as error:  # noqa: BLE001 (`run` raises it)
            self._internal_error = error
            self._over.set()

    def _enter(self, frames: Sequence[Frame], now: float) -> None:
        if type(frames[-1].fact) is StreamEnd and frames[-1].direction is C2S:
            self._input_ended = True
        self._deliver(self.pipeline.enter(frames, now))

    def _deliver(self, batches: list[Sequence[Frame]]) -> None:
        for frames in batches:
            if frames[-1].fact is not None and frames[-1].exchange is None:
                exits = (frame.fact for frame in frames if isinstance(frame.fact, ProcessExit))
                self.exit = next(exits, self.exit)
            end = self.server if frames[0].direction is C2S else self.client
            if end is not None and end not in self._gone:
                try:
                    end.send_nowait(frames)
                except trio.BrokenResourceError:
                    self._lost(end)
        if self.pipeline.hung_up:
            # Before anything closes: a client that saw the end may ask again at once.
            self.client.hang_up()
            self._over.set()
        if self._server_done:
            self._end_if_done()
        if self.pipeline.next_due != self._armed:
            self._rearmed.set()

    def _end_if_done(self) -> None:
        """End where the server is gone: only messages that the pipeline holds back are left."""
        if self.pipeline.held_until is None:
            self._over.set()

    async def _watch_client(self) -> None:
        await self.client.left()
        self._lost(self.client)

    def _lost(self, end: ConversationEnd) -> None:
        """Note that an end no longer reads. A lost client ends the server's input."""
        self._gone.add(end)
        if end is self.client:
            self.client_left()
            if self.server is not None:
                self.server.abandon()
        # A server that no longer reads may still write; the end of its output ends the session.

    async def _keep_time(self) -> None:
        """Call the pipeline when something is due. Other traffic does not wake this task."""
        while True:
            self._armed = due = self.pipeline.next_due
            self._rearmed = trio.Event()
            with trio.move_on_at(due if due is not None else float("inf")):
                await self._rearmed.wait()
            if due is not None and trio.current_time() >= due:
                # The TypeScript SDKs lose progress that they read together with the answer, and on
                # a busy machine no number of milliseconds keeps the two apart.
                await self.client.drained()
                self._deliver(self.pipeline.advance(trio.current_time()))


class _Pumps:
    """The tasks that pump the sources of an end. One of them always waits for the next source, and
    a task whose source has ended waits again. So exchanges that follow one another need no task
    each, which would be an eighth of the cost of an exchange.
    """

    def __init__(
        self,
        channel: ConversationEnd,
        pump: Callable[[Receive], Awaitable[None]],
        nursery: trio.Nursery,
    ) -> None:
        self._channel, self._pump, self._nursery = channel, pump, nursery
        self._waiting = 0

    async def work(self) -> None:
        """Pump sources until no further one opens, or enough other tasks wait for one."""
        while self._waiting < IDLE_PUMPS:
            self._waiting += 1
            try:
                receive = await self._channel.accept()
            except trio.EndOfChannel:
                return
            finally:
                self._waiting -= 1
            if not self._waiting:
                self._nursery.start_soon(self.work)
            await self._pump(receive)


async def run(session: LiveSession) -> ProcessExit | None:
    """Run a session to its end and close both its channels. Gives the server's exit, where there
    was a process.
    """
    try:
        await session.run()
    finally:
        with trio.CancelScope(shield=True):
            if session.server is not None:
                await session.server.aclose()
            await session.client.aclose()
    return session.exit
