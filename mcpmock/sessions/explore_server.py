"""`ExploredServer`: a server that is explored. Each run plays the recorded client to it in another
order, with a process of its own or, at a URL, in a session of its own.

The driver waits for an answer only while the server owes it (`explore.disconnects`), so that a run
with a cancel costs what the session costs.
"""

from __future__ import annotations

from functools import cached_property
from itertools import count
from pathlib import Path

import attrs
import trio
from msgspec import structs

from mcpmock.cassette.model import Cassette
from mcpmock.channels.null_client import NullClient
from mcpmock.channels.process import STEP_TIMEOUT_S, ProcessChannel
from mcpmock.channels.standard_streams import write_log_line
from mcpmock.explore.arrangement import PROBE_ID, Arrangement, arrange
from mcpmock.explore.disconnects import Disconnects, ServerView
from mcpmock.explore.oracles import (
    SERVER_ORACLES,
    Baseline,
    JudgedServer,
    ServerRun,
    reaction_of,
    was_cancelled,
)
from mcpmock.explore.recorded_call import RecordedRequest, requests_of
from mcpmock.explore.results import JudgedRun, recorded_run
from mcpmock.explore.variant import Variant
from mcpmock.faults.kinds.cancel import Cancel
from mcpmock.faults.plan import Plan
from mcpmock.faults.receipts import FaultRun
from mcpmock.playback.client.driver import Driver
from mcpmock.playback.client.expectations import Patience
from mcpmock.playback.client.script import ClientScript, script_of
from mcpmock.playback.timing import Timing
from mcpmock.protocol import edit
from mcpmock.protocol.messages import encode
from mcpmock.protocol.transport_facts import NO_SESSION
from mcpmock.recording.recorder import Ledger, Recorder
from mcpmock.redaction.masks import masked_command
from mcpmock.trials.oracle import Broken, Oracles, usual_failures

from .drive import ClientEnd, session_number
from .explore import (
    BASELINE_RUNS,
    LEAST_TIMEOUT_S,
    SLOWER,
    ExploredPeer,
    encoded_as,
    end_session,
)
from .run import Conversation, Run, Setup
from .servers import Server

MOMENT_S = 0.1
"""How long the driver waits for what need not come, such as a notification."""
LEAST_END_TIMEOUT_S = 0.5
"""How long the end of a process may take at least, however quick the baseline was."""
MAX_LINGER_S = 1.0
"""How long the end of a session is put off, for a late answer to a cancelled call to be seen."""


@attrs.define(kw_only=True, slots=False)
class ExploredServer(ExploredPeer):
    """A server, and the session of the cassette that is played to it."""

    cassette: Cassette
    server: Server
    take: int = 1
    session: int = 1
    keep: tuple[int, ...] | None = None
    """The events of it that are played, None for all."""
    seed: int = 0
    words: tuple[str, ...] = ()
    """How the server is named on the command line."""
    baseline: Baseline = attrs.field(factory=Baseline)
    oracles: Oracles = SERVER_ORACLES
    _numbers: count[int] = attrs.field(factory=lambda: count(NO_SESSION + 1))

    @property
    def slowest(self) -> float:
        return self.baseline.seconds

    async def begin(self) -> list[Broken]:
        self.server.check(write_log_line)
        plain = Variant(take=self.take, session=self.session, keep=self.keep)
        runs = [await self._play(plain, LEAST_TIMEOUT_S) for _ in range(BASELINE_RUNS)]
        self.baseline = Baseline.of(runs)
        judged = [SERVER_ORACLES.judge(JudgedServer(run, plain)) for run in runs]
        return usual_failures(judged, SERVER_ORACLES)

    async def run(self, variant: Variant, hang_limit: float) -> JudgedRun:
        run = await self._play(variant, hang_limit)
        broken = SERVER_ORACLES.judge(JudgedServer(run, variant, self.baseline))
        lost = [change for change in variant.changes if change.disconnect is not None]
        cancel = next((c for c in variant.changes if _is_call_cancel(c.fault)), None)
        reaction, reached = None, len(run.resumed) == len(lost)
        fired = {one["kind"] for one in run.receipts}
        for fault in (change.fault for change in variant.changes):
            if fault is not None and not _is_call_cancel(fault):
                reached = reached and fault.kind in fired
        if cancel is not None:
            id_ = encode(cancel.request)
            reaction = reaction_of(run, id_)
            after = cancel.kind == "cancel_after_response"
            reached = reached and (after or was_cancelled(run, id_))
        return JudgedRun(
            variant=variant,
            reached=reached,
            broken=broken,
            reaction=reaction,
            cassette=run.cassette,
        )

    def command(self, plan: Path) -> str:
        again = [self.cassette.name, "--faults", str(plan), *self.words]
        return masked_command(["mcpmock", "drive", *again])

    def encoded(self, cassette: Cassette) -> bytes:
        return encoded_as(cassette, self.cassette)

    async def _play(self, variant: Variant, hang_limit: float) -> ServerRun:
        arranged = arrange(self.cassette, variant.plan(self.seed), probe=self._probe)
        faults = FaultRun.of(Plan(faults=arranged.faults, seed=self.seed))
        lines: list[bytes] = []
        view, recorder = ServerView(), Recorder(Ledger(lines.extend, None))
        patience = Patience(hang_limit, 5.0, MOMENT_S, silences=1)
        script = self._script(arranged, variant)
        driver = Driver(
            script, Timing.parse("recorded"), patience, report=lambda _line: None, owes=view.owes
        )
        setup = Setup(back=self.server, faults=faults, say=lambda _line: None)
        run, began = Run(setup), trio.current_time()
        leftover: tuple[str, ...] = ()
        server = await run.open_server()
        assert server is not None
        if isinstance(server, ProcessChannel):
            server.step_timeout = self._end_timeout(in_full=hang_limit >= LEAST_TIMEOUT_S)
        end, disconnects = ClientEnd(), Disconnects(self._places(variant))
        conversation = Conversation(
            number=session_number(script, self.server.kind, self._numbers),
            head=[driver, end],
            translation=[view, recorder],
            wire=[disconnects] if disconnects.places else [],
            in_order=True,
            renews=False,
        )
        try:
            await run.converse(conversation, NullClient(), server, end.follow)
        finally:
            if isinstance(server, ProcessChannel):
                with trio.CancelScope(shield=True):
                    leftover = await end_session(server.pid)
        target = self.server.described if isinstance(self.server.described, str) else None
        return ServerRun(
            cassette=recorded_run(lines, target=target),
            unanswered=tuple(driver.given_up),
            unreachable="the connection is refused" if run.reach.failing else "",
            leftover=leftover,
            over_http=self.server.kind is not None,
            resumed=tuple(disconnects.made),
            receipts=tuple(faults.receipts),
            seconds=trio.current_time() - began,
        )

    def _end_timeout(self, *, in_full: bool) -> float:
        """Return how long a server may take to end; less, once one that does not was waited for."""
        least = STEP_TIMEOUT_S if in_full else LEAST_END_TIMEOUT_S
        return max(least, SLOWER * self.baseline.end_seconds)

    def _places(self, variant: Variant) -> dict[bytes, int]:
        """Return the calls whose connections are lost, and behind how many of their messages."""
        lost = {c.disconnect for c in variant.changes if c.disconnect is not None}
        return {
            one.id: place
            for one in self._requests
            for place, n in enumerate([one.n, *(message.n for message in one.messages)])
            if n in lost
        }

    def _script(self, arranged: Arrangement, variant: Variant) -> ClientScript:
        """Leave out the pauses, but wait for late answers to what was cancelled, at the end."""
        episode = next(iter(arranged.take.episodes()))
        script = script_of(episode)
        linger = self._linger(variant)
        lines = [
            structs.replace(line, gap=linger if PROBE_ID in line.frame.raw else 0.0)
            for line in script.lines
        ]
        asked = [
            structs.replace(one, reply=one.reply and structs.replace(one.reply, gap=0.0))
            for one in script.server_requests
        ]
        return structs.replace(script, lines=tuple(lines), server_requests=tuple(asked))

    def _linger(self, variant: Variant) -> float:
        took = [self._took.get(c.request, 0.0) for c in variant.changes if _is_call_cancel(c.fault)]
        return min(1.2 * max(took, default=0.0) + 0.02 * bool(took), MAX_LINGER_S)

    @cached_property
    def _took(self) -> dict[object, float]:
        return {one.json_id: one.seconds for one in self._requests}

    @cached_property
    def _requests(self) -> list[RecordedRequest]:
        plan = Plan(schedule=Variant(take=self.take, session=self.session).plan(0).schedule)
        return requests_of(arrange(self.cassette, plan).take.events)

    @cached_property
    def _probe(self) -> bytes | None:
        """A ping or, since 2026-07-28, which has none, a recorded list: they change nothing."""
        requests = self._requests
        if any(one.method == "initialize" for one in requests):
            return edit.request(PROBE_ID, "ping")
        for one in requests:
            if one.method.endswith("/list") or one.method == "server/discover":
                return edit.request(PROBE_ID, one.method, one.params)
        return None


def _is_call_cancel(fault: object) -> bool:
    return isinstance(fault, Cancel) and fault.target in ("call", "twice")
