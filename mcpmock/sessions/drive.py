"""`drive`: the client's half of a cassette against a real server.

Each recorded session is driven in turn, with a server of its own: a process is started anew, at a
URL another session is opened. `verify` is this, and then `semantic_diff.compare`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import attrs
import trio

from mcpmock.cassette.file import read_bytes
from mcpmock.cassette.model import Cassette
from mcpmock.cassette.parser import read
from mcpmock.channels.fd import Outlet, borrow
from mcpmock.channels.null_client import NullClient
from mcpmock.errors import CannotReach, CassetteError
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Stage
from mcpmock.playback.client.driver import Driver
from mcpmock.playback.client.script import ClientScript, script_of
from mcpmock.playback.plan.flatten_http import bare
from mcpmock.playback.timing import Timing
from mcpmock.protocol.transport_facts import NO_SESSION
from mcpmock.runner import LAST_WORDS, LiveSession, run
from mcpmock.transports.session_routing import TransportKind

from .ends import Command, Reach, Server, numbers
from .fault_stages import faults_for
from .signals import status_of, taking_signals
from .take_recording import Recording, Say, TakeRecording, open_taking

if TYPE_CHECKING:
    from mcpmock.faults.receipts import FaultRun

DIFFERENT = 1
"""The exit status where the server did not do what the recorded client waited for."""


@attrs.frozen
class DriveOptions:
    """How to drive, and whom: the options of `mcpmock drive`."""

    server: Server
    timing: Timing = attrs.field(factory=Timing)
    recording: Recording | None = None
    faults: FaultRun | None = None


async def drive(cassette: Cassette, driving: DriveOptions, say: Say) -> int:
    """Plays every recorded client against the server, one after the other. Gives the exit status.

    Raises CassetteError, CannotStart, and RecordingIncomplete at the end of what was not recorded
    whole.
    """
    parts = parts_of(cassette)
    if not parts:
        raise CassetteError(cassette.name, "no client says anything in it")
    driving.server.check()
    reach = Reach(say)
    with taking_signals() as signals:
        stderr = Outlet(borrow(2, os.O_WRONLY))
        playing = _Drive(driving, reach, stderr)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stderr.run)
            nursery.start_soon(playing.obey, signals)
            failed = await playing.run(parts)
            with trio.move_on_after(LAST_WORDS), suppress(trio.BrokenResourceError):
                await stderr.below(1)
            stderr.close()
            nursery.cancel_scope.cancel()
    if playing.stopped_by:
        return status_of(playing.stopped_by)
    return CannotReach.exit_code if reach.failing else DIFFERENT if failed else 0


@attrs.frozen
class DriveOutcome:
    """What came of driving a server: the exit status of `drive`, and the live recording, also as
    the bytes of a cassette.
    """

    status: int
    live: Cassette
    data: bytes


async def drive_anew(
    cassette: Cassette, server: Server, timing: Timing, say: Say, faults: FaultRun | None = None
) -> DriveOutcome:
    """Drives, for the sake of what is recorded meanwhile. Redacted like the cassette: what was kept
    as it is can only be compared with what is. Raises as `drive` does.
    """
    redact = any(take.header.redaction != "off" for take in cassette.takes)
    with TemporaryDirectory(prefix="mcpmock-") as folder:
        output = Path(folder) / "live.jsonl"
        recording = Recording(output=output, redact=redact)
        status = await drive(cassette, DriveOptions(server, timing, recording, faults), say)
        data = read_bytes(output) if output.exists() else b""
    return DriveOutcome(status, read("live", data), data)


def parts_of(cassette: Cassette) -> list[ClientScript]:
    """What the clients of a cassette did, session by session; those that did nothing left out."""
    episodes = bare(cassette, one_session=False).episodes()
    parts = [script_of(episode) for episode in episodes]
    return [part for part in parts if any(line.frame.fact is None for line in part.lines)]


@attrs.define
class _Drive:
    driving: DriveOptions
    reach: Reach
    stderr: Outlet
    _numbers: Iterator[int] = attrs.field(factory=numbers)
    _sessions: Iterator[int] = attrs.field(factory=lambda: count(NO_SESSION + 1))
    stopped_by: int = 0
    """The signal that told us to stop."""
    _playing: trio.CancelScope = attrs.field(factory=trio.CancelScope)

    async def obey(self, signals: AsyncIterator[int]) -> None:
        """What was recorded until then is a whole take."""
        async for signum in signals:
            self.stopped_by = signum
            self._playing.cancel()

    async def run(self, parts: Sequence[ClientScript]) -> int:
        """How often the server did not do what the clients waited for. A take is what came of one
        process, or at a URL of all sessions.
        """
        server, recording = self.driving.server, self.driving.recording
        if recording is None:
            return sum([await self._play(part) for part in parts])
        takes = [[part] for part in parts] if isinstance(server, Command) else [parts]
        transport = "stdio" if server.kind is None else server.kind.value
        failed = 0
        for played in takes:
            if self.stopped_by:
                break
            taking = await open_taking(recording, self.reach.say)
            file = taking.packed or taking.file.path  # in a folder the first one takes all
            recording = attrs.evolve(
                recording, output=file, folder=False, overwrite=False, new=False
            )
            async with taking.recorded(transport, server.described):
                failed += sum([await self._play(part, taking) for part in played])
        return failed

    async def _play(self, part: ClientScript, taking: TakeRecording | None = None) -> int:
        if self.stopped_by:
            return 0
        server = self.driving.server
        for n in part.cut:
            self.reach.say(f"event {n} is not played: it was too long to be recorded whole")
        driver = Driver(part, self.driving.timing, tell=self.reach.say)
        session = self._session(part)
        recorders = [] if taking is None else [taking.recorder(session)]
        # Next to the client, where messages are bare whatever the server's transport is.
        faults = faults_for(recorders, self.driving.faults, session=session)
        stages: list[Stage] = [driver, *faults, *server.rules(self._numbers), *recorders]
        with trio.CancelScope() as self._playing:
            channel = await server.open(self.reach)
            await run(LiveSession(Pipeline(stages), NullClient(self.stderr), channel))
        return driver.failed

    def _session(self, part: ClientScript) -> int:
        """Its number in the take: over HTTP the first is for exchanges without a session."""
        kind = self.driving.server.kind
        alone = kind is TransportKind.STREAMABLE_HTTP and not part.opens
        return NO_SESSION if kind is None or alone else next(self._sessions)
