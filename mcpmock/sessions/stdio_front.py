"""`StdioFront`: one client, on the standard streams of this process."""

from __future__ import annotations

from collections.abc import AsyncIterator

from msgspec import Struct

from mcpmock.channels.stdio import take_stdio
from mcpmock.runner import LiveSession

from .run import STDIO, Conversation, Front, Run
from .signals import status_of


class StdioFront(Front, Struct, frozen=True):
    """The client on our own stdio. The exit status is the server's, or that of the signal that
    ended a session without one.
    """

    async def serve(self, run: Run, stops: AsyncIterator[int]) -> int:
        interrupted = 0

        async def obey(session: LiveSession) -> None:
            nonlocal interrupted
            async for signum in stops:
                interrupted = signum
                session.note_stop()
                run.note_stop(signum)
                if session.server is None or session.exit is not None:
                    session.end()
                elif not session.server.interrupt(signum):
                    session.client_left()

        replay, back = run.setup.replay, run.setup.back
        async with run.recorded(STDIO, open_server=True) as server:
            if server is not None:
                server.leave_to_client()
            player = None if replay is None else replay.bare_player()
            session = await run.converse(Conversation(player=player), take_stdio(), server, obey)
        hung_up = session.pipeline.hung_up
        # The translation of a URL gave the only conversation up. A process has an exit of its own.
        if back is not None and back.kind is not None and run.server_needed() and hung_up:
            run.reach.lose(str(back.described), hung_up.why)
        exit_ = session.exit
        status = status_of(interrupted) if exit_ is None else exit_.status
        return status or run.reach.status
