"""`proxy`: clients on our stdio or over HTTP, a server that is a process or at a URL, and a
recording where one is wanted. Two ends of one kind see each other's exchanges as they are; between
others the rules of their transports translate.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcpmock.channels.http.server import HttpServerChannel
from mcpmock.errors import CannotReach, McpMockError
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Stage
from mcpmock.protocol.transport_facts import NO_SESSION
from mcpmock.runner import LiveSession, run
from mcpmock.transports.session_router import TransportKind

from .ends import PATHS, Listening, Reach, Server, Url, numbers, serve, server_rules
from .fault_stages import with_faults
from .signals import taking_signals
from .stdio import run_stdio
from .take_recording import Recording, Say, TakeRecording, open_taking

if TYPE_CHECKING:
    from mcpmock.faults.receipts import FaultRun


async def proxy(
    server: Server,
    listening: Listening | None,
    say: Say,
    faults: FaultRun | None = None,
    recording: Recording | None = None,
) -> int:
    """Until the session is over (stdio in front) or we are told to stop. Gives the exit status.
    What is recorded is what the clients see.

    Raises CannotStart where a command cannot be started, CannotListen, and of a recording what
    `stdio.record` does.
    """
    reach = Reach(say)
    if listening is None:
        with taking_signals() as signals:
            async with _taken(recording, "stdio", server, say) as taking:
                channel = await server.open(reach)
                ahead = with_faults(_recorders(taking, 1), faults)
                pipeline = Pipeline([*ahead, *server.rules(numbers())])
                status = await run_stdio(pipeline, signals, server=channel)
        if isinstance(server, Url) and pipeline.hung_up:
            reach.lose(server.upstream, pipeline.hung_up.why)
        return status or (CannotReach.exit_code if reach.failing else 0)
    server.check()
    kind = listening.kind or server.kind or TransportKind.STREAMABLE_HTTP
    alike = kind is server.kind
    target = server.upstream.target if isinstance(server, Url) and alike else PATHS[kind]
    with taking_signals() as signals:
        async with (
            listening.opened(kind, target) as front,
            _taken(recording, kind.value, server, say) as taking,
        ):

            async def converse(client: HttpServerChannel) -> None:
                try:
                    channel = await server.open(reach, front.listener if alike else None)
                except McpMockError as error:
                    say(str(error))
                    await client.aclose()
                    return
                stateless = client.conversation == NO_SESSION
                number = client.conversation
                recorders = _recorders(taking, number)
                rules = with_faults(recorders, faults, session=number, transport=kind.value)
                if not alike:
                    rules += server_rules(kind, target, stateless=stateless)
                    rules += server.rules(numbers())
                await run(LiveSession(Pipeline(rules), client, channel))

            return await serve(front, converse, signals, say)


@asynccontextmanager
async def _taken(
    recording: Recording | None, transport: str, server: Server, say: Say
) -> AsyncIterator[TakeRecording | None]:
    """A take for the time of the block, if one is wanted."""
    if recording is None:
        yield None
        return
    server.check()  # what is sure to fail leaves no take
    taking = await open_taking(recording, say)
    async with taking.recorded(transport, server.described):
        yield taking


def _recorders(taking: TakeRecording | None, session: int) -> list[Stage]:
    return [] if taking is None else [taking.recorder(session)]
