"""A replay with the real server behind it, inside somebody else's program: the record mode
`new_episodes` of a test. `live` has the pieces, `embedded` the same without a server.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import attrs
import trio

from mcpmock.cassette.model import Cassette
from mcpmock.channels.http.server import HttpServerChannel
from mcpmock.channels.unix_listener import PassedClient
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.playback.player import Player, Report
from mcpmock.playback.session_selection import ReplayOptions, SessionSelection
from mcpmock.protocol.transport_facts import NO_SESSION
from mcpmock.runner import LiveSession
from mcpmock.transports.session_router import TransportKind

from .embedded import Ready, ServerPlace, bare_casting, on_offer, run_visit
from .ends import PATHS, Listening, Server, Url, mint, serve, server_rules
from .observers import Watch, watching
from .passthrough import StandBy, casting_over, converse_with, live_listening, rows, standing_by
from .signals import embedded, taking_signals
from .take_recording import Recording, Say

if TYPE_CHECKING:
    from mcpmock.faults.receipts import FaultRun

_KIND = TransportKind.STREAMABLE_HTTP


async def live_embedded(
    cassette: Cassette,
    playing: ReplayOptions,
    report: Report,
    server: Server,
    recording: Recording,
    watch: Watch,
    ready: Ready,
    stop: trio.Event,
    say: Say,
    faults: FaultRun | None = None,
) -> None:
    """Until `stop`. As when it is recorded, a server at a URL is had over HTTP only, and exchanges
    are recorded of it; one that is a process also over stdio, and its bare messages are.
    """
    if isinstance(server, Url):
        listening = Listening(announce=lambda url, _token: ready(ServerPlace(url, None)))
        with embedded(stop):
            await live_listening(
                cassette, playing, report, server, listening,
                recording=recording, say=say, faults=faults, watch=watch,
            )  # fmt: skip
        return
    with on_offer(ready, stop) as (door, listening), taking_signals() as signals:
        async with (
            listening.opened(_KIND, PATHS[_KIND]) as front,
            standing_by(server, recording, "stdio", say) as by,
            trio.open_nursery() as nursery,
        ):
            clients = _Clients(by, report, watch, say, faults)
            over_http = casting_over(_KIND, cassette, playing)
            over_stdio = bare_casting(cassette, playing)
            nursery.start_soon(door.serve, lambda visit: clients.visit(over_stdio, visit))
            await serve(front, lambda client: clients.converse(over_http, client), signals, say)
            nursery.cancel_scope.cancel()


@attrs.define
class _Clients:
    """What all clients of one process-like server have in common."""

    by: StandBy
    report: Report
    watch: Watch
    say: Say
    faults: FaultRun | None
    _numbers: count[int] = attrs.field(factory=lambda: count(1))

    async def visit(self, casting: SessionSelection, visit: PassedClient) -> None:
        """One client over stdio."""
        number = next(self._numbers)
        player = Player(casting, self.report, mint=mint)
        ahead = watching(self.watch, number, player)
        stages, end = rows(self.by, player, number, ahead=ahead, rules=[], faults=self.faults)
        await run_visit(visit, stages, end, player)

    async def converse(self, casting: SessionSelection, client: HttpServerChannel) -> None:
        """One client over HTTP; its bare messages are what is recorded."""
        number = next(self._numbers)
        stateless = client.conversation == NO_SESSION
        player = Player(casting, self.report, stateless=stateless, mint=mint)
        ahead = watching(self.watch, number, player)
        ahead += server_rules(_KIND, PATHS[_KIND], stateless=stateless)
        stages, end = rows(self.by, player, number, ahead=ahead, rules=[], faults=self.faults)
        await converse_with(LiveSession(Pipeline(stages), client, end), self.say)
