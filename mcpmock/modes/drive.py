"""`drive`: the client's half of a cassette against a real server, and `verify`: what came of that,
held against what was recorded.

Each recorded session is driven in turn, with a server of its own: a process is started anew, at a
URL another session is opened.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import attrs
import trio

from mcpmock.cassette.bare import bare
from mcpmock.cassette.model import Cassette
from mcpmock.cassette.part import Part, part_of
from mcpmock.endpoints.channel import memory_pair
from mcpmock.pipeline.driver import Driver
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.timing import Timing
from mcpmock.protocol.stage import Stage
from mcpmock.runner import Session, run

from .ends import Command, Reach, Server, numbers
from .stopping import status_of, taking_signals
from .taking import Recording, Say, Taking, open_taking

DIFFERENT = 1
"""The exit status where the server did not do what the recorded client waited for."""


@attrs.frozen
class Driving:
    """How to drive, and whom: the options of `mcpmock drive`."""

    server: Server
    timing: Timing = attrs.field(factory=Timing)
    recording: Recording | None = None


async def drive(cassette: Cassette, driving: Driving, say: Say) -> int:
    """Plays every recorded client against the server, one after the other. Gives the exit status.

    Raises CannotStart, and RecordingIncomplete at the end of what was not recorded whole.
    """
    parts = parts_of(cassette)
    reach = Reach(say)
    with taking_signals() as signals:
        if driving.recording is None:
            return await _drive_all(parts, driving, reach, signals, None)
        taking = await open_taking(driving.recording, say)
        async with taking.recorded(_transport(driving.server), _target(driving.server)):
            return await _drive_all(parts, driving, reach, signals, taking)


def parts_of(cassette: Cassette) -> list[Part]:
    """What the clients of a cassette did, session by session; those that did nothing left out."""
    episodes = bare(cassette, one_session=False).episodes()
    parts = [part_of(episode) for episode in episodes]
    return [part for part in parts if any(line.frame.fact is None for line in part.lines)]


async def _drive_all(
    parts: Sequence[Part],
    driving: Driving,
    reach: Reach,
    signals: AsyncIterator[int],
    taking: Taking | None,
) -> int:
    failed, stopped_by, count = 0, 0, numbers()

    async def obey() -> None:
        nonlocal stopped_by
        async for signum in signals:
            stopped_by = signum
            nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(obey)
        for session, part in enumerate(parts, 1):
            driver = Driver(part, driving.timing, tell=reach.say)
            stages: list[Stage] = [driver, *driving.server.rules(count)]
            stages += [] if taking is None else [taking.recorder(session)]
            client, _nobody = memory_pair()
            channel = await driving.server.open(reach)
            await run(Session(Pipeline(stages), client, channel))
            failed += driver.failed
        nursery.cancel_scope.cancel()
    if stopped_by:
        return status_of(stopped_by)
    return DIFFERENT if failed else 0


def _transport(server: Server) -> str:
    return "stdio" if isinstance(server, Command) else server.kind.value


def _target(server: Server) -> Sequence[str] | str:
    return server.command if isinstance(server, Command) else server.upstream.url
