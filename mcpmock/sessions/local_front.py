"""`LocalFront`: clients of a server inside a Python program, over stdio and HTTP at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial

import attrs

from mcpmock.channels.unix_listener import PassedClient, open_unix_listener
from mcpmock.runner import LiveSession

from .http_front import HttpFront
from .run import Conversation, Front, Run


@attrs.frozen
class ServerPlace:
    """Where clients reach a server inside a Python program: a URL, and a command for stdio (None:
    not over stdio).
    """

    url: str
    command: list[str] | None


@attrs.frozen
class LocalFront(Front):
    """Clients of a server inside this program. A server at a URL is only offered over HTTP, so that
    its exchanges are recorded, and so is one that needs a login, which stdio does not have.
    """

    ready: Callable[[ServerPlace], None]
    """Called once everything is served."""

    async def serve(self, run: Run, stops: AsyncIterator[int]) -> int:
        back = run.setup.back
        at_url = back is not None and back.kind is not None
        if run.setup.authorization is not None or at_url:
            return await self._http(None).serve(run, stops)
        with open_unix_listener() as door:
            beside = partial(door.serve, partial(_receive, run))
            return await self._http(door.command).serve(run, stops, beside)

    def _http(self, command: list[str] | None) -> HttpFront:
        return HttpFront(announce=lambda url, _token: self.ready(ServerPlace(url, command)))


async def _receive(run: Run, client: PassedClient) -> None:
    """Give the client the server's exit status, or 1 where it missed anything."""

    async def obey(session: LiveSession) -> None:
        await client.left()
        session.client_left()
        if session.server is None:
            session.end()

    replay = run.setup.replay
    player = None if replay is None else replay.bare_player()
    server = await run.open_server()
    conversation = Conversation(number=next(run.numbers), player=player)
    session = await run.converse(conversation, client.channel, server, obey)
    status = 0 if session.exit is None else session.exit.status
    client.dismiss(status or int(player is not None and player.missed > 0))
