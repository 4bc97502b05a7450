"""Modes with a client on our own stdio: `record` in front of a process, `replay` in its place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

import trio

from mcpmock.cassette.model import Cassette
from mcpmock.channels.channel import ConversationEnd
from mcpmock.channels.process import start_process
from mcpmock.channels.stdio import take_stdio
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.runner import LiveSession, run

from .fault_stages import with_faults
from .signals import status_of, taking_signals
from .take_recording import Recording, Say, open_taking

if TYPE_CHECKING:
    from mcpmock.faults.receipts import FaultRun
    from mcpmock.playback.player import Player, ReplayOptions, Report


async def record(
    command: Sequence[str], recording: Recording, say: Say, faults: FaultRun | None = None
) -> int:
    """Records `command`, a server over stdio, for the client on our own stdio. Gives the exit
    status to end with.

    Raises CassetteError before anything is started, CannotStart, and RecordingIncomplete at the end
    of a session that was not recorded whole.
    """
    with taking_signals() as signals:
        taking = await open_taking(recording, say)
        try:
            server = await start_process(command)
        except BaseException:
            taking.file.discard()
            raise
        async with taking.recorded("stdio", command):
            return await run_stdio(
                Pipeline(with_faults([taking.recorder()], faults)), signals, server=server
            )


async def replay(
    cassette: Cassette,
    playing: ReplayOptions,
    report: Report,
    *,
    recording: Recording | None,
    say: Say,
    faults: FaultRun | None = None,
) -> tuple[int, Player]:
    """Plays the server of a cassette to the client on our own stdio, recording it once more where
    asked to. What was recorded over HTTP is played as the bare messages it amounts to.

    Gives the recorded exit status (0 where the client left first) and the player, which knows what
    it missed.
    """
    from mcpmock.playback.player import Player, SessionSelection  # a recorder starts without it

    player = Player(SessionSelection(as_messages(cassette), playing), report)
    with taking_signals() as signals:
        if recording is None:
            return await run_stdio(Pipeline([*with_faults([], faults), player]), signals), player
        taking = await open_taking(recording, say)
        async with taking.recorded("stdio", ["mcpmock", "replay", cassette.name]):
            stages = with_faults([taking.recorder()], faults)
            return await run_stdio(Pipeline([*stages, player]), signals), player


def as_messages(cassette: Cassette) -> Cassette:
    """What a client with one session for everything is played: bare messages."""
    if all(take.transport == "stdio" for take in cassette.takes):
        return cassette

    from mcpmock.playback.plan.flatten_http import bare  # mostly there is nothing to take off

    return bare(cassette, one_session=True)


async def run_stdio(
    pipeline: Pipeline,
    signals: AsyncIterator[int],
    *,
    server: ConversationEnd | None = None,
) -> int:
    """Runs one session with the client on our stdio, until it is over or we are told to stop, and
    gives the exit status.
    """
    interrupted = 0

    async def obey() -> None:
        nonlocal interrupted
        async for signum in signals:
            interrupted = signum
            if server is not None:
                server.interrupt(signum)
                session.client_left()
            else:
                session.end()

    session = LiveSession(pipeline, take_stdio(), server)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(obey)
        exit_ = await run(session)
        nursery.cancel_scope.cancel()
    return status_of(interrupted) if exit_ is None else exit_.status
