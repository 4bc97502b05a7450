"""`StandbyServer`: the real server behind a recording, for what was not recorded: `--on-miss live`,
and the record mode `new_episodes`, which records each session that needed the server, from its
beginning.

While the recording answers everything, no process is started, no connection made and no file
written. Such sessions are played as bare messages, also where exchanges were recorded: a missed
request must be able to reach the server over any transport.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import attrs
import trio

from mcpmock.channels.channel import ConversationEnd
from mcpmock.channels.deferred import DeferredChannel
from mcpmock.recording.deferred import DeferredRecorder

from .servers import Reach, Server
from .take import Recording, TakeRecording, open_take_recording


@attrs.define
class StandbyServer:
    """The server behind all sessions of a run, and the take of those that needed it."""

    server: Server
    recording: Recording | None
    transport: str
    """The transport that the recorder sees."""
    reach: Reach
    needed: bool = False
    """Whether any session needed the server."""
    _nursery: trio.Nursery = attrs.field(kw_only=True)
    _began: float = attrs.field(factory=trio.current_time)
    _take: TakeRecording | None = None
    _opening: trio.Lock = attrs.field(factory=trio.Lock)
    _over: trio.Event = attrs.field(factory=trio.Event)

    def session(self, number: int) -> tuple[DeferredRecorder, DeferredChannel]:
        """Return the recorder of one session, and the server's end."""
        recorder = DeferredRecorder()
        return recorder, DeferredChannel(partial(self._open, recorder, number))

    def close(self) -> None:
        """Begin no session any more: the take is closed."""
        self._over.set()

    async def _open(self, recorder: DeferredRecorder, session: int) -> ConversationEnd:
        """Open the server first: one that cannot be opened is no reason for a take."""
        self.needed = True
        channel = await self.server.open(self.reach)
        try:
            if self.recording is not None:
                recorder.release((await self._opened_take(self.recording)).recorder(session))
        except BaseException:
            with trio.CancelScope(shield=True):
                await channel.aclose()
            raise
        return channel

    async def _opened_take(self, recording: Recording) -> TakeRecording:
        async with self._opening:
            if self._take is None:
                self._take = await self._nursery.start(self._record, recording)
        return self._take

    async def _record(
        self,
        recording: Recording,
        task_status: trio.TaskStatus[TakeRecording] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        take = await open_take_recording(recording, self.reach.say)
        # Times count from the start of the run: sessions may have begun before the one that needed
        # the server.
        take.ledger.time(self._began)
        async with take.recorded(self.transport, self.server.described):
            self.server.watch_authorization(take.authorized)
            task_status.started(take)
            await self._over.wait()


@asynccontextmanager
async def standing_by(
    server: Server, recording: Recording | None, transport: str, reach: Reach
) -> AsyncIterator[StandbyServer]:
    """Keep the server for the time of the block. Raises at its end as `TakeRecording.recorded`
    does.
    """
    async with trio.open_nursery() as nursery:
        standby = StandbyServer(server, recording, transport, reach, nursery=nursery)
        yield standby
        standby.close()
