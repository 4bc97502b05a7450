"""`ExploredClient`: a client program that is explored. Each run starts it anew, with a fake server
of its own in this process, over stdio (`{command}`) or HTTP (`{url}`).
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE

import attrs
import trio

from mcpmock.cassette.model import Cassette
from mcpmock.errors import CannotStart, NotOnThisPlatform
from mcpmock.explore.client_oracles import (
    CLIENT_ORACLES,
    ClientBaseline,
    ClientRun,
    JudgedClient,
    RaceKey,
    race_key,
    reference_race,
)
from mcpmock.explore.results import JudgedRun, recorded_run
from mcpmock.explore.variant import Variant, VariantChange
from mcpmock.faults.races.fault import CancelRace
from mcpmock.faults.receipts import FaultRun
from mcpmock.pipeline.stage import Stage
from mcpmock.platforms import KILL, signal_group
from mcpmock.playback.miss import Miss
from mcpmock.playback.player import Player, PlayerNote
from mcpmock.playback.session_selection import PlayerOptions
from mcpmock.protocol.messages import encode
from mcpmock.recording.recorder import Ledger, Recorder
from mcpmock.redaction.masks import masked_command
from mcpmock.trials.oracle import Broken, Oracles, usual_failures

from .explore import BASELINE_RUNS, ExploredPeer, encoded_as, end_session
from .local_front import LocalFront, ServerPlace
from .replay import Replay, scheduled
from .run import Setup, run_sessions

_BASELINE_TIMEOUT_S = 60.0
"""How long a client may take with the recorded order."""
_MAX_OUTPUT_BYTES = 1 << 16
"""How much of the client's standard error is kept, from its end."""


@attrs.define(kw_only=True)
class ExploredClient(ExploredPeer):
    """A client, by its command: in it `{url}` and `{command}` stand for the fake server."""

    cassette: Cassette
    words: Sequence[str]
    take: int = 1
    session: int = 1
    seed: int = 0
    judges_status: bool = False
    """Whether the exit status counts also where a schedule ends the server or changes a result."""
    baseline: ClientBaseline = attrs.field(factory=ClientBaseline)
    drops_exchanges: bool = False
    oracles: Oracles = CLIENT_ORACLES
    _references: dict[RaceKey, _Reference] = attrs.field(factory=dict, init=False)

    @property
    def slowest(self) -> float:
        return self.baseline.seconds

    async def begin(self) -> list[Broken]:
        plain = Variant(take=self.take, session=self.session)
        runs = [await self._play(plain, _BASELINE_TIMEOUT_S) for _ in range(BASELINE_RUNS)]
        self.baseline = ClientBaseline.of(runs)
        judged = [CLIENT_ORACLES.judge(JudgedClient(run, plain)) for run in runs]
        return usual_failures(judged, CLIENT_ORACLES)

    async def run(self, variant: Variant, hang_limit: float) -> JudgedRun:
        baseline = self.baseline
        for change in variant.changes:
            if (key := race_key(change)) is None:
                continue
            reference = await self._reference(key, variant, change, hang_limit)
            if key not in baseline.cancelled and not reference.met:
                why = "the client does not cancel it"
                return JudgedRun(variant=variant, reached=False, reaction=why)
            baseline = baseline.with_reference(reference)
        run = await self._play(variant, hang_limit)
        judged = JudgedClient(run, variant, baseline, self.judges_status)
        return JudgedRun(
            variant=variant,
            reached=_reached(run, variant),
            broken=CLIENT_ORACLES.judge(judged),
            reaction=run.outcome,
            cassette=run.cassette,
            status=run.status,
        )

    def command(self, plan: Path) -> str:
        again = ["mcpmock", "explore", self.cassette.name, "--client", "--faults", str(plan)]
        return masked_command([*again, "--", *self.words])

    def encoded(self, cassette: Cassette) -> bytes:
        return encoded_as(cassette, self.cassette)

    async def _reference(
        self, key: RaceKey, variant: Variant, change: VariantChange, hang_limit: float
    ) -> ClientRun:
        """Return the plainest race for a request: run once, others wait for it."""
        if key not in self._references:
            known = self._references[key] = _Reference()
            try:
                known.run = await self._play(reference_race(variant, change), hang_limit)
            finally:
                known.done.set()
        known = self._references[key]
        await known.done.wait()
        assert known.run is not None
        return known.run

    async def _play(self, variant: Variant, hang_limit: float) -> ClientRun:
        plan = variant.plan(self.seed)
        faults = FaultRun.of(plan)
        lines: list[bytes] = []
        ledger = Ledger(lines.extend, None)

        def observe(number: int, _player: Player | None) -> Stage:
            return Recorder(ledger, number)

        misses: list[Miss | PlayerNote] = []
        replay = Replay(scheduled(self.cassette, faults), PlayerOptions(mute=True), misses.append)
        stop, place = trio.Event(), list[ServerPlace]()
        ready = trio.Event()

        def serve(found: ServerPlace) -> None:
            place.append(found)
            ready.set()

        setup = Setup(
            front=LocalFront(serve),
            replay=replay,
            faults=faults,
            observers=[observe],
            say=lambda _line: None,
            stop=stop,
        )
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_sessions, setup)
            await ready.wait()
            ended = await self._run_program(place[0], hang_limit)
            seconds = trio.current_time() - began
            stop.set()
        return ClientRun(
            cassette=recorded_run(
                lines, "streamable-http" if "{url}" in " ".join(self.words) else "stdio"
            ),
            status=ended.status,
            hung=ended.hung,
            stderr=ended.stderr,
            leftover=ended.leftover,
            misses=tuple(
                note.unread or f"nothing recorded answers its {note.request}"
                for note in misses
                if isinstance(note, Miss)
            ),
            receipts=tuple(faults.receipts),
            seconds=seconds,
        )

    async def _run_program(self, place: ServerPlace, hang_limit: float) -> _Ended:
        command = place.command or []
        if sys.platform == "win32":
            raise NotOnThisPlatform("a client program", "give a function to explore_client")
        words = [one for word in self.words for one in _filled(word, place.url, command)]
        environment = {
            **os.environ,
            "MCPMOCK_URL": place.url,
            "MCPMOCK_COMMAND": encode(command).decode(),
        }
        try:
            process = await trio.lowlevel.open_process(
                words,
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=PIPE,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            found = not isinstance(error, FileNotFoundError)
            raise CannotStart(words[0], error.strerror or str(error), found=found) from error
        told, hung, leftover = bytearray(), False, tuple[str, ...]()

        async def read() -> None:
            assert process.stderr is not None
            async for piece in process.stderr:
                told.extend(piece)
                del told[:-_MAX_OUTPUT_BYTES]

        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(read)
                with trio.move_on_after(hang_limit) as waited:
                    await process.wait()
                hung = waited.cancelled_caught
                nursery.cancel_scope.deadline = trio.current_time() + 0.1
        finally:
            with trio.CancelScope(shield=True):
                if process.returncode is None:
                    signal_group(process.pid, KILL)
                    await process.wait()
                leftover = await end_session(process.pid)
                if process.stderr is not None:
                    await process.stderr.aclose()
        return _Ended(process.returncode, hung, bytes(told), () if hung else leftover)


@attrs.define
class _Reference:
    """A run that others wait for."""

    run: ClientRun | None = None
    done: trio.Event = attrs.field(factory=trio.Event)


@attrs.frozen
class _Ended:
    """How a client program ended."""

    status: int | None
    hung: bool
    stderr: bytes
    leftover: tuple[str, ...]


def _filled(word: str, url: str, command: Sequence[str]) -> list[str]:
    """Return a word of the client's command: `{command}` alone becomes several words."""
    if word == "{command}":
        return list(command)
    joined = shlex.join(command)  # noqa: TID251  # for any shell, which may not know $'..'
    return [word.replace("{url}", url).replace("{command}", joined)]


def _reached(run: ClientRun, variant: Variant) -> bool:
    """Return whether every fault fired; of a race, in its cell."""
    for change in variant.changes:
        fault = change.fault
        if fault is None:
            continue
        fired = [one for one in run.receipts if one.get("kind") == fault.kind]
        if isinstance(fault, CancelRace):
            drawn = [one.get("drawn") or {} for one in fired]
            if not any((one.get("i"), one.get("j")) == (fault.i, fault.j) for one in drawn):
                return False
        elif not fired:
            return False
    return True
