"""Replays with the real server behind them, for what was not recorded: `--on-miss live`, and the
record mode `new_episodes`, which records each session that needed the server, from its beginning.

While the recording has it all, nothing is started, dialled or written. Such sessions are played as
bare messages, also where exchanges were recorded: a missed request is to reach the server over any
transport.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import attrs
import trio

from mcpmock.cassette.model import Cassette
from mcpmock.channels.channel import ConversationEnd
from mcpmock.channels.deferred import DeferredChannel
from mcpmock.channels.http.server import HttpServerChannel
from mcpmock.errors import CannotReach, McpMockError
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Stage
from mcpmock.playback.passthrough import Live
from mcpmock.playback.plan.flatten_http import bare
from mcpmock.playback.player import Player, Report
from mcpmock.playback.session_selection import ReplayOptions, SessionSelection
from mcpmock.protocol.transport_facts import NO_SESSION
from mcpmock.recording.deferred import DeferredRecorder
from mcpmock.runner import LiveSession, run
from mcpmock.transports.session_router import TransportKind

from .ends import (
    BODY_LIMIT,
    PATHS,
    Listening,
    Reach,
    Server,
    Url,
    mint,
    numbers,
    serve,
    server_rules,
)
from .fault_stages import with_faults
from .http import BREATHS, kind_of
from .observers import Watch, watching
from .signals import taking_signals
from .stdio import as_messages, run_stdio
from .take_recording import Recording, Say, TakeRecording, open_taking

if TYPE_CHECKING:
    from mcpmock.faults.receipts import FaultRun


@attrs.define
class StandBy:
    """The real server behind all sessions of a run, and the take that is made of those that need
    it. Made by `standing_by`.
    """

    server: Server
    recording: Recording | None
    transport: str
    """What the recorder stands in front of."""
    reach: Reach
    _nursery: trio.Nursery
    _began: float = attrs.field(factory=trio.current_time)
    _taking: TakeRecording | None = None
    _opening: trio.Lock = attrs.field(factory=trio.Lock)
    _over: trio.Event = attrs.field(factory=trio.Event)

    def end(self, late: DeferredRecorder, session: int) -> DeferredChannel:
        """The server's end of a session."""
        return DeferredChannel(partial(self._open, late, session))

    def over(self) -> None:
        """No session begins any more: the take is closed."""
        self._over.set()

    async def _open(self, late: DeferredRecorder, session: int) -> ConversationEnd:
        """The server first: one that cannot be had is no reason for a take."""
        channel = await self.server.open(self.reach)
        try:
            if self.recording is not None:
                late.release((await self._take_of(self.recording)).recorder(session))
        except BaseException:
            with trio.CancelScope(shield=True):
                await channel.aclose()
            raise
        return channel

    async def _take_of(self, recording: Recording) -> TakeRecording:
        async with self._opening:
            if self._taking is None:
                self._taking = await self._nursery.start(self._record, recording)
        return self._taking

    async def _record(
        self,
        recording: Recording,
        task_status: trio.TaskStatus[TakeRecording] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        taking = await open_taking(recording, self.reach.say)
        taking.ledger.time(self._began)  # of sessions that began before the one that needed it
        async with taking.recorded(self.transport, self.server.described):
            task_status.started(taking)
            await self._over.wait()


@asynccontextmanager
async def standing_by(
    server: Server, recording: Recording | None, transport: str, say: Say
) -> AsyncIterator[StandBy]:
    """The server, for the time of the block. Raises at its end as `taking.recorded` does."""
    async with trio.open_nursery() as nursery:
        by = StandBy(server, recording, transport, Reach(say), nursery)
        yield by
        by.over()


def rows(
    by: StandBy,
    player: Player,
    session: int,
    *,
    ahead: list[Stage],
    rules: list[Stage],
    faults: FaultRun | None,
) -> tuple[list[Stage], DeferredChannel]:
    """The stages of a session and its server's end. `ahead` is what stands next to the client,
    `rules` make bare messages of what a recorder sees.
    """
    late = DeferredRecorder()
    noted = with_faults([late], faults, session=session, transport=by.transport)
    stages = [*ahead, *noted, *rules, Live(player), *by.server.rules(numbers())]
    return stages, by.end(late, session)


async def live_on_stdio(
    cassette: Cassette,
    playing: ReplayOptions,
    report: Report,
    server: Server,
    *,
    recording: Recording | None,
    say: Say,
    faults: FaultRun | None = None,
) -> tuple[int, Player]:
    """As `stdio.replay`, with the server behind it. Gives the exit status (the server's, where that
    was needed) and the player.
    """
    player = Player(SessionSelection(as_messages(cassette), playing), report, mint=mint)
    with taking_signals() as signals:
        async with standing_by(server, recording, "stdio", say) as by:
            stages, end = rows(by, player, 1, ahead=[], rules=[], faults=faults)
            pipeline = Pipeline(stages)
            status = await run_stdio(pipeline, signals, server=end)
            if isinstance(server, Url) and end.needed and pipeline.hung_up:
                by.reach.lose(server.upstream, pipeline.hung_up.why)
    return status or (CannotReach.exit_code if by.reach.failing else 0), player


async def live_listening(
    cassette: Cassette,
    playing: ReplayOptions,
    report: Report,
    server: Server,
    listening: Listening,
    *,
    recording: Recording | None,
    say: Say,
    faults: FaultRun | None = None,
    watch: Watch | None = None,
) -> int:
    """As `http.replay_listening`, with the server behind it, until we are told to stop."""
    kind = listening.kind or kind_of({take.transport for take in cassette.takes})
    casting = casting_over(kind, cassette, playing)
    with taking_signals() as signals:
        async with (
            listening.opened(kind, PATHS[kind], body_limit=BODY_LIMIT) as front,
            standing_by(server, recording, kind.value, say) as by,
        ):

            async def converse(client: HttpServerChannel) -> None:
                number = client.conversation
                stateless = number == NO_SESSION
                player = Player(casting, report, stateless=stateless, mint=mint)
                rules = server_rules(kind, PATHS[kind], stateless=stateless)
                ahead = watching(watch, number, player)
                stages, end = rows(by, player, number, ahead=ahead, rules=rules, faults=faults)
                await converse_with(LiveSession(Pipeline(stages), client, end), say)

            return await serve(front, converse, signals, say)


def casting_over(
    kind: TransportKind, cassette: Cassette, playing: ReplayOptions
) -> SessionSelection:
    """What sessions over HTTP are played from as bare messages: an event stream is one session,
    whatever its client says on it.
    """
    pace = attrs.evolve(playing.pace, after_progress=BREATHS[kind])
    return SessionSelection(
        bare(cassette, one_session=kind is TransportKind.SSE), attrs.evolve(playing, pace=pace)
    )


async def converse_with(session: LiveSession, say: Say) -> None:
    """Runs it. A server that cannot be had ends this conversation, and is told of."""
    try:
        await run(session)
    except* McpMockError as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        say(str(error))
