"""Modes with clients over HTTP: `record_url` in front of a server, `replay_listening` in its
place.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs
from msgspec import UNSET

from mcpmock.cassette.model import Cassette
from mcpmock.channels.http.server import HttpServerChannel
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Stage
from mcpmock.playback.plan.flatten_http import bare
from mcpmock.playback.player import Player, ReplayOptions, Report
from mcpmock.playback.session_selection import SessionSelection
from mcpmock.protocol.transport_facts import NO_SESSION
from mcpmock.runner import LiveSession, run
from mcpmock.transports.session_router import TransportKind
from mcpmock.transports.streamable_http.resumption import Resumption

from .ends import BODY_LIMIT, PATHS, Listening, Reach, Url, mint, serve, server_rules
from .fault_stages import with_faults
from .observers import Watch, watching
from .signals import taking_signals
from .stub_stages import with_stubs
from .take_recording import Recording, Say, TakeRecording, open_taking

if TYPE_CHECKING:
    from mcpmock.faults.receipts import FaultRun
    from mcpmock.stubs.script import StubScript

BREATHS = {TransportKind.STREAMABLE_HTTP: 0.0, TransportKind.SSE: 0.002}
"""The least time between the last progress of a call and its answer, in seconds. Where both come on
one stream with everything else, the TypeScript SDKs lose progress that is read with the answer.
"""


async def record_url(
    server: Url,
    recording: Recording,
    listening: Listening,
    say: Say,
    faults: FaultRun | None = None,
    *,
    watch: Watch | None = None,
) -> int:
    """Records the server at a URL for clients over HTTP, as a reverse proxy, until we are told to
    stop. Exchanges pass as they are. Raises as `stdio.record` does.
    """
    kind = listening.kind or server.kind
    with taking_signals() as signals:
        async with listening.opened(kind, server.upstream.target) as front:
            taking = await open_taking(recording, say)
            reach = Reach(say)

            async def converse(client: HttpServerChannel) -> None:
                channel = await server.open(reach, front.listener)
                number = client.conversation
                with taking.conversation(number) as recorder:
                    ahead = with_faults([recorder], faults, session=number, transport=kind.value)
                    stages = [*watching(watch, number), *ahead]
                    await run(LiveSession(Pipeline(stages), client, channel))

            async with taking.recorded(kind.value, server.described):
                return await serve(front, converse, signals, say)


async def replay_listening(
    cassette: Cassette,
    playing: ReplayOptions,
    report: Report,
    listening: Listening,
    *,
    recording: Recording | None,
    say: Say,
    faults: FaultRun | None = None,
    watch: Watch | None = None,
    script: StubScript | None = None,
) -> int:
    """Plays the server of a cassette to clients over HTTP until we are told to stop.

    What was recorded over the transport that is spoken is played exchange for exchange; of anything
    else, and beside a stub's `script`, the bare messages, by the transport's rules.
    """
    transports = {take.transport for take in cassette.takes}
    kind = listening.kind or kind_of(transports)
    path = (_path_of(cassette) if transports == {kind.value} else None) or PATHS[kind]
    as_recorded = transports == {kind.value} and script is None
    if not as_recorded:  # an event stream is one session, whatever its client says on it
        cassette = bare(cassette, one_session=kind is TransportKind.SSE)
    pace = attrs.evolve(playing.pace, after_progress=BREATHS[kind])
    casting = SessionSelection(cassette, attrs.evolve(playing, pace=pace))
    # Over Streamable HTTP messages are posted to the path itself: no need to look through them all.
    posts = casting.paths if as_recorded and kind is TransportKind.SSE else ()
    with taking_signals() as signals:
        async with listening.opened(kind, path, body_limit=BODY_LIMIT, posts=posts) as front:
            taking = None if recording is None else await open_taking(recording, say)

            async def converse(client: HttpServerChannel) -> None:
                stateless = client.conversation == NO_SESSION
                rules = (
                    [Resumption()] if as_recorded else server_rules(kind, path, stateless=stateless)
                )
                player = Player(casting, report, stateless=stateless, mint=mint)
                with _recorders(taking, client) as recorders:
                    number = client.conversation
                    ahead = with_faults(recorders, faults, session=number, transport=kind.value)
                    watchers = watching(watch, number, player)
                    stages = [*watchers, *ahead, *rules, *with_stubs(script, player)]
                    await run(LiveSession(Pipeline(stages), client, None))

            if taking is None:
                return await serve(front, converse, signals, say)
            async with taking.recorded(kind.value, ["mcpmock", "replay", cassette.name]):
                return await serve(front, converse, signals, say)


@contextmanager
def _recorders(taking: TakeRecording | None, client: HttpServerChannel) -> Iterator[list[Stage]]:
    if taking is None:
        yield []
        return
    with taking.conversation(client.conversation) as recorder:
        yield [recorder]


def _path_of(cassette: Cassette) -> str | None:
    """Where MCP was spoken: where the event stream with the endpoint was opened, or where messages
    were posted to.
    """
    events = [event for take in cassette.takes for event in take.events]
    heads = {
        event.x: event.http for event in events if event.d == "c2s" and event.http is not UNSET
    }
    streams = [e.x for e in events if e.sse is not UNSET and e.sse.event == "endpoint"]
    posts = [x for x, head in heads.items() if head.get("method") == "POST"]
    opened = next((heads[x] for x in (*streams, *posts) if x in heads), None)
    return None if opened is None else str(opened["target"]).partition("?")[0]


def kind_of(transports: set[str]) -> TransportKind:
    """What was recorded; Streamable HTTP for what was recorded over stdio or over several."""
    known = {kind.value: kind for kind in TransportKind}
    found = {known[transport] for transport in transports if transport in known}
    return found.pop() if len(found) == 1 else TransportKind.STREAMABLE_HTTP
