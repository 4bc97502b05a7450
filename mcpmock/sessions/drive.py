"""`drive`: the client's half of a cassette against a real server.

Each recorded session is driven in turn, with a server of its own: a process is started anew, at a
URL another session is opened. `verify` is this, and then `semantic_diff.compare`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import attrs
import trio
from msgspec import Struct, field, structs

from mcpmock.batch.redaction_rules import redaction_rules_beside
from mcpmock.cassette.file import read_bytes
from mcpmock.cassette.model import Cassette, joined_rules
from mcpmock.cassette.parser import read
from mcpmock.channels.fd import DescriptorQueue, borrow, log_queue
from mcpmock.channels.null_client import NullClient
from mcpmock.errors import CannotReach, CassetteError
from mcpmock.pipeline.stage import PASS, Action, Stage
from mcpmock.playback.client.driver import Driver
from mcpmock.playback.client.script import ClientScript, script_of, unbound_placeholders
from mcpmock.playback.plan.steps import bare_take
from mcpmock.playback.timing import Timing
from mcpmock.protocol.messages import C2S, Frame, StreamEnd
from mcpmock.protocol.transport_facts import NO_SESSION
from mcpmock.redaction.placeholders import highest_number
from mcpmock.runner import FLUSH_TIMEOUT_S, LiveSession
from mcpmock.transports.session_router import TransportKind

from .run import STDIO, Conversation, Front, Run, Setup, run_sessions
from .servers import Server
from .signals import status_of
from .take import Recording, Say

if TYPE_CHECKING:
    from mcpmock.faults.receipts import FaultRun

DIFFERENT = 1
"""The exit status where the server did not do what the recorded client waited for."""


class DriveFront(Front, Struct, frozen=True, kw_only=True):
    """The recorded clients of a cassette, one after the other."""

    scripts: Sequence[ClientScript]
    timing: Timing = field(default_factory=Timing)
    values: Mapping[str, str] = field(default_factory=dict)
    """The values of placeholders."""
    report: Say | None = None
    """Gets what the server does not do; `say` of the setup without."""

    async def serve(self, run: Run, stops: AsyncIterator[int]) -> int:
        """Return the exit status: 1 where the server did not do what a client waited for."""
        run.check()
        self._report_unplayed(run.setup.say)
        self._report_unbound(run.setup.say)
        async with _own_stderr() as stderr:
            drive = self.drive(run, stderr)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(drive.obey, stops)
                failed = await drive.play()
                nursery.cancel_scope.cancel()
        if drive.stopped_by:
            return status_of(drive.stopped_by)
        assert run.setup.back is not None
        if run.setup.back.needs_login:
            return CannotReach.exit_code
        return run.reach.status or (DIFFERENT if failed else 0)

    def drive(self, run: Run, stderr: DescriptorQueue) -> Drive:
        """Return what plays them."""
        return Drive(run, self, stderr)

    def _report_unplayed(self, say: Say) -> None:
        for n in (n for script in self.scripts for n in script.oversized):
            say(f"event {n} is not played: it was too long to be recorded whole")

    def _report_unbound(self, say: Say) -> None:
        unbound: dict[str, int] = {}
        for script in self.scripts:
            for placeholder, n in unbound_placeholders(script):
                unbound.setdefault(placeholder, n)
        missing = [one for one in unbound if one not in self.values]
        if missing:
            shown = ", ".join(f"{one} (event {unbound[one]})" for one in missing)
            advice = f"name one with --value '{missing[0]}=env:NAME'"
            say(f"placeholders that are sent without a value: {shown}; {advice}")
        for placeholder in self.values:
            if placeholder not in unbound:
                say(f"{placeholder}: its value is not used, because no message needs it")


def drive_front(
    cassette: Cassette,
    timing: Timing | None = None,
    *,
    kind: TransportKind | None = None,
    values: Mapping[str, str] | None = None,
    report: Say | None = None,
) -> DriveFront:
    """Return the clients of a cassette for a server with this transport. `values` are those of the
    placeholders that no answer of the server gives a value. Raises CassetteError for a cassette
    without a client.
    """
    scripts = client_scripts(cassette, kind)
    if not scripts:
        raise CassetteError(cassette.name, "it contains no client messages")
    return DriveFront(
        scripts=scripts, timing=timing or Timing(), values=values or {}, report=report
    )


class DriveOutcome(Struct, frozen=True):
    """What driving a server gave: the exit status, and the live recording, also as the bytes of a
    cassette.
    """

    status: int
    live: Cassette
    data: bytes


async def drive_and_record(
    cassette: Cassette,
    server: Server,
    say: Say,
    *,
    timing: Timing | None = None,
    values: Mapping[str, str] | None = None,
    faults: FaultRun | None = None,
    stop: trio.Event | None = None,
    report: Say | None = None,
) -> DriveOutcome:
    """Drive a server and return what was recorded meanwhile, redacted as the cassette is: only so
    can the two be compared. `report` gets what the server does not do, `say` without. Raises as
    `run_sessions` does.
    """
    redact = any(take.header.redaction != "off" for take in cassette.takes)
    with TemporaryDirectory(prefix="mcpmock-") as folder:
        output = Path(folder) / "live.jsonl"
        setup = Setup(
            front=drive_front(cassette, timing, kind=server.kind, values=values, report=report),
            back=server,
            faults=faults,
            recording=Recording(
                output=output,
                redact=redact,
                match=joined_rules(take.header for take in cassette.takes),
                rules=redaction_rules_beside(cassette),
                placeholders=highest_number(cassette),
                values=values or {},
            ),
            say=say,
            stop=stop,
        )
        status = await run_sessions(setup)
        data = read_bytes(output) if output.exists() else b""
    return DriveOutcome(status, read("live", data), data)


def client_scripts(cassette: Cassette, kind: TransportKind | None = None) -> list[ClientScript]:
    """Return what the clients of a cassette did, session by session; those that did nothing left
    out. Where they and the server speak Streamable HTTP, they open the standalone stream as
    recorded.
    """
    scripts: list[ClientScript] = []
    for take in cassette.takes:
        streams = kind is TransportKind.STREAMABLE_HTTP and take.transport == kind.value
        for episode in bare_take(take, one_session=False, keep_streams=streams).episodes():
            script = script_of(episode)
            if any(line.frame.fact is None for line in script.lines):
                scripts.append(structs.replace(script, opens_streams=streams))
    return scripts


def session_number(script: ClientScript, kind: TransportKind | None, opened: Iterator[int]) -> int:
    """Return the number of a session in its take: over HTTP the first is for exchanges without a
    session.
    """
    stateless = kind is TransportKind.STREAMABLE_HTTP and not script.opens
    return NO_SESSION if kind is None or stateless else next(opened)


@asynccontextmanager
async def _own_stderr() -> AsyncIterator[DescriptorQueue]:
    """Open where the servers' standard error goes. What it still holds is written at the end."""
    stderr = log_queue(borrow(2, os.O_WRONLY))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stderr.run)
        yield stderr
        with trio.move_on_after(FLUSH_TIMEOUT_S), suppress(trio.BrokenResourceError):
            await stderr.below(1)
        stderr.close()
        nursery.cancel_scope.cancel()


class ClientEnd(Struct, Stage, eq=False):
    """Watches for the end of a client that is played. A fault may keep it from the server, which is
    then stopped as one that ignores the end of its input: no user is there to stop it.
    """

    _come: trio.Event = field(default_factory=trio.Event)

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        if type(seen[-1].fact) is StreamEnd and seen[0].direction is C2S:
            self._come.set()
        return PASS

    async def follow(self, session: LiveSession) -> None:
        """Abandon the server once the client has ended, and what faults hold back has passed."""
        await self._come.wait()
        if (until := session.pipeline.held_until) is not None:
            await trio.sleep_until(until)
        if session.server is not None:
            session.server.abandon()


@attrs.define(eq=False, repr=False)
class Drive:
    """One run of a `DriveFront`: plays its sessions, until a signal stops it."""

    run: Run
    front: DriveFront
    stderr: DescriptorQueue
    stopped_by: int = 0
    """The signal that ended the drive."""
    _sessions: Iterator[int] = attrs.field(factory=lambda: count(NO_SESSION + 1))
    _playing: trio.CancelScope = attrs.field(factory=trio.CancelScope)

    async def obey(self, stops: AsyncIterator[int]) -> None:
        """End the take at a stop signal: what was recorded until then is a whole take."""
        async for signum in stops:
            self.stopped_by = signum
            self._playing.cancel()

    async def play(self) -> int:
        """Return how often the server did not do what the clients waited for. A take holds the
        session of one process, or all sessions at a URL.
        """
        scripts = self.front.scripts
        takes = [[script] for script in scripts] if self.kind is None else [scripts]
        failed = 0
        for played in takes:
            if self.stopped_by:
                break
            async with self.playing():
                for script in played:
                    driver = self.driver(script, report=self.front.report or self.run.setup.say)
                    try:
                        await self.converse(driver)
                    finally:  # a stop signal too ends the session
                        driver.report_not_sent()
                    failed += driver.failed
        return failed

    @asynccontextmanager
    async def playing(self) -> AsyncIterator[None]:
        """Record one take for the time of the block, if a recording is wanted. A signal cancels the
        block and leaves the take whole.
        """
        async with self.run.recorded(STDIO if self.kind is None else self.kind.value):
            with trio.CancelScope() as self._playing:
                if self.stopped_by:
                    self._playing.cancel()
                yield

    def driver(self, script: ClientScript, **observers: Any) -> Driver:
        """Return what plays one client."""
        return Driver(script, self.front.timing, bindings=dict(self.front.values), **observers)

    async def converse(self, driver: Driver) -> None:
        """Hold the session of a recorded client, with a server of its own."""
        opens_stream = driver.script.opens_streams
        number = session_number(driver.script, self.kind, self._sessions)
        await self.hold(driver, number, client_opens_stream=opens_stream)

    async def hold(self, client: Stage, number: int, **how: Any) -> None:
        """Hold one session of a client, with a server of its own."""
        end = ClientEnd()
        conversation = Conversation(
            number=number, head=[client, end], recorder_at_server=True, renews=False, **how
        )
        server = await self.run.open_server()
        await self.run.converse(conversation, NullClient(self.stderr), server, end.follow)

    @property
    def kind(self) -> TransportKind | None:
        """The server's transport over HTTP; None for a process."""
        assert self.run.setup.back is not None
        return self.run.setup.back.kind
