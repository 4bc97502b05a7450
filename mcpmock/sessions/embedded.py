"""A fake server inside somebody else's program: over HTTP and for visitors over stdio at once.

The compositions are those of the commands (`http`, `stdio`); here they run together until an
event says stop, and no signal is taken. `api.thread` runs this.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import TYPE_CHECKING

import attrs
import trio

from mcpmock.cassette.model import Cassette
from mcpmock.channels.channel import MessageChannel
from mcpmock.channels.http.server import HttpServerChannel
from mcpmock.channels.unix_listener import PassedClient, UnixListener, open_unix_listener
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Stage
from mcpmock.playback.player import Player, ReplayOptions, Report
from mcpmock.playback.session_selection import SessionSelection
from mcpmock.protocol.transport_facts import NO_SESSION
from mcpmock.runner import LiveSession, run
from mcpmock.transports.session_routing import TransportKind

from .ends import PATHS, Command, Listening, Reach, Url, mint, serve, server_rules
from .fault_stages import with_faults
from .http import record_url, replay_listening
from .observers import Watch, watching
from .signals import embedded, taking_signals
from .stdio import as_messages
from .stub_stages import with_stubs
from .take_recording import Recording, Say, TakeRecording, open_taking

if TYPE_CHECKING:
    from mcpmock.faults.receipts import FaultRun
    from mcpmock.stubs.script import StubScript


@attrs.frozen
class ServerPlace:
    """Where the fake server can be reached: a URL, and a command for stdio (None: not over
    stdio).
    """

    url: str
    command: list[str] | None


Ready = Callable[[ServerPlace], None]
"""Is told once everything is served."""


def bare_casting(cassette: Cassette, playing: ReplayOptions) -> SessionSelection:
    """What sessions of bare messages (stdio, memory) are played from."""
    return SessionSelection(as_messages(cassette), playing)


@contextmanager
def on_offer(
    ready: Ready, stop: trio.Event, kind: TransportKind | None = None
) -> Iterator[tuple[UnixListener, Listening]]:
    """What is served both ways until `stop`: a door for visitors over stdio, and how to listen over
    HTTP, whose opening tells `ready` of both.
    """
    with embedded(stop), open_unix_listener() as door:
        yield (
            door,
            Listening(
                kind=kind, announce=lambda url, _token: ready(ServerPlace(url, door.command))
            ),
        )


async def replay_embedded(
    cassette: Cassette,
    casting: SessionSelection,
    report: Report,
    watch: Watch,
    ready: Ready,
    stop: trio.Event,
    say: Say,
    kind: TransportKind | None = None,
    faults: FaultRun | None = None,
    script: StubScript | None = None,
) -> None:
    """Plays the server of a cassette until `stop`. `casting` is that of `bare_casting`; over
    HTTP, `kind` is the transport (None: as recorded). A stub's `script` comes before the recording.
    """
    numbers = count(1)

    async def receive(visit: PassedClient) -> None:
        player, number = Player(casting, report), next(numbers)
        ahead = with_faults(watching(watch, number, player), faults, session=number)
        stages = [*ahead, *with_stubs(script, player)]
        await run_visit(visit, stages, None, player)

    with on_offer(ready, stop, kind) as (door, listening):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(door.serve, receive)
            await replay_listening(
                cassette,
                casting.options,
                report,
                listening,
                recording=None,
                say=say,
                faults=faults,
                watch=watch,
                script=script,
            )
            nursery.cancel_scope.cancel()


async def record_url_embedded(
    server: Url,
    recording: Recording,
    watch: Watch,
    ready: Ready,
    stop: trio.Event,
    say: Say,
    faults: FaultRun | None = None,
) -> None:
    """Records the server at a URL until `stop`."""
    listening = Listening(announce=lambda url, _token: ready(ServerPlace(url, None)))
    with embedded(stop):
        await record_url(server, recording, listening, say, faults, watch=watch)


async def record_command_embedded(
    server: Command,
    recording: Recording,
    watch: Watch,
    ready: Ready,
    stop: trio.Event,
    say: Say,
    faults: FaultRun | None = None,
) -> None:
    """Records a server over stdio until `stop`: a process for each visitor and for each
    conversation over HTTP, all in one take.

    Raises CannotStart before anything is recorded where the command is sure to fail.
    """
    server.check()
    kind = TransportKind.STREAMABLE_HTTP
    with on_offer(ready, stop) as (door, listening), taking_signals() as signals:
        async with listening.opened(kind, PATHS[kind]) as front:
            taking = await open_taking(recording, say)
            many = _Many(server, taking, watch, Reach(say), faults)
            async with taking.recorded("stdio", server.described), trio.open_nursery() as nursery:
                nursery.start_soon(door.serve, many.receive)
                await serve(front, many.converse, signals, say)
                nursery.cancel_scope.cancel()


@attrs.frozen
class _Many:
    """Clients of one server over stdio, a process for each."""

    server: Command
    taking: TakeRecording
    watch: Watch
    reach: Reach
    faults: FaultRun | None
    _sessions: count[int] = attrs.field(factory=lambda: count(1))

    async def converse(self, client: HttpServerChannel) -> None:
        """One client over HTTP."""
        process = await self.server.open(self.reach)
        kind, number = TransportKind.STREAMABLE_HTTP, next(self._sessions)
        rules = server_rules(kind, PATHS[kind], stateless=client.conversation == NO_SESSION)
        with self.taking.conversation(number) as recorder:
            ahead = with_faults([recorder], self.faults, session=number)
            stages = [*watching(self.watch, number), *rules, *ahead]
            await run(LiveSession(Pipeline(stages), client, process))

    async def receive(self, visit: PassedClient) -> None:
        """One client over stdio."""
        number = next(self._sessions)
        process = await self.server.open(self.reach)
        with self.taking.conversation(number) as recorder:
            ahead = with_faults([recorder], self.faults, session=number)
            await run_visit(visit, [*watching(self.watch, number), *ahead], process)


async def run_visit(
    visit: PassedClient,
    stages: list[Stage],
    server: MessageChannel | None,
    player: Player | None = None,
) -> None:
    """A session over the visitor's stdio. The exit status is the server's, or 1 for a miss."""
    session = LiveSession(Pipeline(stages), visit.channel, server)

    async def obey() -> None:
        await visit.left()
        session.client_left()
        if server is None:
            session.end()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(obey)
        exit_ = await run(session)
        nursery.cancel_scope.cancel()
    status = 0 if exit_ is None else exit_.status
    visit.dismiss(status or int(player is not None and player.missed > 0))


@asynccontextmanager
async def replay_in_memory(
    casting: SessionSelection,
    report: Report,
    watch: Watch,
    faults: FaultRun | None = None,
    script: StubScript | None = None,
) -> AsyncIterator[Callable[[], MessageChannel]]:
    """Gives what opens a session: the client's end of it. All that are open end with the block."""
    from mcpmock.channels.channel import memory_pair

    numbers = count(1)
    async with trio.open_nursery() as nursery:

        def open_session() -> MessageChannel:
            client, ours = memory_pair()
            player, number = Player(casting, report, mint=mint), next(numbers)
            ahead = with_faults(watching(watch, number, player), faults, session=number)
            pipeline = Pipeline([*ahead, *with_stubs(script, player)])
            nursery.start_soon(run, LiveSession(pipeline, ours, None))
            return client

        yield open_session
        nursery.cancel_scope.cancel()
