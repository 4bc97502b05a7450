"""`Explorer`: runs the variants of a session one after the other or several at once, collects what
breaks, runs it again and shrinks it.

What one run is, `explore_server` and `explore_client` say. Rows are reported in the order of the
variants, however many run at once: the same seed gives the same rows.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

import attrs
import trio

from mcpmock.cassette.file import unusable
from mcpmock.cassette.model import Cassette, encode_cassette
from mcpmock.explore.enumeration import Space
from mcpmock.explore.results import (
    Exploration,
    ExploredRow,
    Failure,
    JudgedRun,
    rows_by_cause,
)
from mcpmock.explore.shrink import Shrinking, shrink
from mcpmock.explore.variant import Variant
from mcpmock.faults.shorthand import plan_text
from mcpmock.platforms import KILL, session_members
from mcpmock.printable import printable
from mcpmock.redaction.cassettes import redact_cassette
from mcpmock.redaction.redaction_rules import NO_OWN_RULES, rules_of_header
from mcpmock.trials.oracle import Broken, Oracles
from mcpmock.trials.search import RERUNS, Reruns, Search, run_again

Found = TypeVar("Found")
MAX_RUNS = 2000
"""How many variants are run if neither a number nor a time is given."""
BASELINE_RUNS = 3
MAX_CAUSES = 20
"""How many causes are shrunk and reported in full."""
LEAST_TIMEOUT_S = 10.0
CONFIRMED_TIMEOUT_S = 1.0
"""How long a run waits for an answer once a first hang was waited for in full."""
LEFTOVER_TIMEOUT_S = 2.0
"""How long children of a process that has ended may live on: they notice the end of their input."""
_LEFTOVER_POLL_S = 0.05
SLOWER = 5
"""A run may take so many times as long as the slowest run of the recorded order."""


class ExploredPeer:
    """What is explored: a server, or a client."""

    oracles: Oracles
    """What must hold of its runs."""

    @abstractmethod
    async def begin(self) -> list[Broken]:
        """Run the recorded order. Gives what does not hold in it: all else is judged beside that.
        Raises what a start raises.
        """

    @abstractmethod
    async def run(self, variant: Variant, hang_limit: float) -> JudgedRun:
        """Run one variant and judge it; a silence of `hang_limit` seconds is a hang."""

    @property
    @abstractmethod
    def slowest(self) -> float:
        """How many seconds the slowest run of the recorded order took."""

    @abstractmethod
    def command(self, plan: Path) -> str:
        """Return the command that shows a failure again."""

    @abstractmethod
    def encoded(self, cassette: Cassette) -> bytes:
        """Return the recording of a run, redacted as the recording that is played."""

    drops_exchanges: bool = True
    """Whether a shorter session can be run."""


@attrs.frozen(kw_only=True)
class Limits:
    """How much is run."""

    seed: int = 0
    runs: int | None = None
    seconds: float | None = None
    timeout: float | None = None
    """Of silence, while something is open."""
    jobs: int = 1
    strict: bool = False


@attrs.define(kw_only=True)
class Explorer:
    """One exploration."""

    peer: ExploredPeer
    space: Space
    limits: Limits
    output: Path
    """The folder for what fails; it is made only then."""
    tell: Callable[[ExploredRow], None] = lambda _row: None
    progress: Callable[[str], None] = lambda _text: None
    found: Exploration = attrs.field(init=False)
    _turn: trio.CapacityLimiter = attrs.field(init=False)
    _hung: bool = False
    """Whether a hang was waited for in full."""

    def __attrs_post_init__(self) -> None:
        self.found = Exploration(seed=self.limits.seed)
        self._turn = trio.CapacityLimiter(self.limits.jobs)

    async def explore(self, stop: trio.Event) -> Exploration:
        """Run all variants, or until `stop`; return what was found by then."""
        began = trio.current_time()
        async with trio.open_nursery() as nursery:

            async def obey() -> None:
                await stop.wait()
                self.found.stopped = True
                nursery.cancel_scope.cancel()

            nursery.start_soon(obey)
            await self._explore(began)
            nursery.cancel_scope.cancel()
        self.found.seconds = trio.current_time() - began
        return self.found

    async def _explore(self, began: float) -> None:
        self.found.baseline = await self.peer.begin()
        failing = [one for one in self.found.baseline if not one.oracle.startswith("rule:")]
        if failing:  # what it breaks besides has the same cause
            self.found.baseline, self.found.baseline_failed = failing, True
            return
        singles = list(self.space.variants())
        self.found.planned = len(singles)
        self.found.untried = list(self.space.untried())
        await self._run_all(self._variants(singles), began)
        await self._explain()

    def _variants(self, singles: Sequence[Variant]) -> Iterator[Variant]:
        limits = self.limits
        if limits.runs is None and limits.seconds is None:
            yield from singles[:MAX_RUNS]
            return
        yield from islice(self._all_of(singles), limits.runs)

    def _all_of(self, singles: Sequence[Variant]) -> Iterator[Variant]:
        yield from singles
        yield from self.space.pairs(singles, self.limits.seed)

    async def _run_all(self, variants: Iterator[Variant], began: float) -> None:
        seconds = self.limits.seconds
        until = None if seconds is None else began + seconds
        numbered = enumerate(variants, 1)
        waiting: dict[int, JudgedRun] = {}

        async def work() -> None:
            for n, variant in numbered:
                if until is not None and trio.current_time() >= until:
                    return
                waiting[n] = await self._run(variant)
                while (next_n := len(self.found.rows) + 1) in waiting:
                    row = ExploredRow(n=next_n, run=waiting.pop(next_n), strict=self.limits.strict)
                    self.found.rows.append(row)
                    self.tell(row)
                self.progress(f"{len(self.found.rows)} runs of {self._total()}")

        async with trio.open_nursery() as nursery:
            for _ in range(self.limits.jobs):
                nursery.start_soon(work)

    def _total(self) -> str:
        return str(self.limits.runs or self.found.planned) if not self.limits.seconds else "?"

    @property
    def timeout(self) -> float:
        """The hang limit in full."""
        return hang_limit(self.limits.timeout, self.peer)

    async def _run(self, variant: Variant) -> JudgedRun:
        async with self._turn:
            in_full = variant.in_full or not self._hung
            slower = max(CONFIRMED_TIMEOUT_S, SLOWER * self.peer.slowest)
            timeout = self.timeout if in_full else min(slower, self.timeout)
            run = await self.peer.run(variant, timeout)
        waited = any(self.peer.oracles.of(one.oracle).waits for one in run.broken)
        self._hung = self._hung or waited
        return attrs.evolve(run, in_full=in_full)

    # Failures.

    async def _explain(self) -> None:
        told = rows_by_cause(self.found.rows)[:MAX_CAUSES]
        if not told:
            return
        most = (len(self.found.rows) + RERUNS * MAX_CAUSES) // len(told)
        failures: dict[int, Failure] = {}

        async def explain(n: int, rows: Sequence[ExploredRow]) -> None:
            failures[n] = await self._failure(n, rows, most)
            self.progress(f"failures: {len(failures)} of {len(told)} run again and shrunk")

        try:
            async with trio.open_nursery() as nursery:
                for n, rows in enumerate(told, 1):
                    nursery.start_soon(explain, n, rows)
        finally:
            self.found.failures += [failures[n] for n in sorted(failures)]

    async def _failure(self, n: int, rows: Sequence[ExploredRow], most: int) -> Failure:
        """Run the first of these rows again, and then at most so many smaller variants."""
        row = rows[0]
        broken = row.run.cause(strict=self.limits.strict)
        assert broken is not None
        oracle = self.peer.oracles.of(broken.oracle)

        def fails(run: JudgedRun) -> bool:
            return any(one.cause == broken.cause for one in run.broken)

        # One that was a matter of a shortened time gets all of it once.
        variant = row.run.variant
        first = None if row.run.in_full else attrs.evolve(variant, in_full=True)
        again = await self._search(run_again(variant, first), fails)
        came = [run for run in again if run is not None]
        best = row.run
        if came:
            requests = self.space.requests if self.peer.drops_exchanges else []
            shorter: Shrinking[JudgedRun] = shrink(variant, self.space.events, requests)
            best = (await self._search(shorter, fails, most))[1] or came[0]
        # What a shortened time showed counts if it came again without.
        came_again = bool(came) if row.run.in_full else again[0] is not None
        if oracle.ending:
            came_again = len(came) > RERUNS // 2
        confirmed = not oracle.timed or (came_again and not await self._fails_anyway(broken))
        written = self._written(n, best, broken, len(rows), f"{len(came)} of {len(again)}")
        places = dict.fromkeys(one.run.broken[0].place for one in rows)
        return attrs.evolve(written, confirmed=confirmed, places=tuple(places))

    async def _fails_anyway(self, broken: Broken) -> bool:
        """Return whether the recorded order fails too, at this moment: the machine is too busy."""

        def fails(run: JudgedRun) -> bool:
            return any(one.oracle == broken.oracle for one in run.broken)

        plain: Reruns[Variant, JudgedRun] = run_again(self.space.variant("baseline"))
        return any(run is not None for run in await self._search(plain, fails))

    async def _search(
        self,
        search: Search[Variant, JudgedRun, Found],
        fails: Callable[[JudgedRun], bool],
        most: int = RERUNS,
    ) -> Found:
        """Drive a search: the trials of a batch are run at once. Runs at most so many."""
        left = most
        try:
            batch = next(search)
            while True:
                runs = await self._run_batch(batch) if len(batch) <= left else ()
                left -= len(batch)
                found = [run if fails(run) else None for run in runs]
                batch = search.send(found or [None] * len(batch))
        except StopIteration as done:
            result: Found = done.value
            return result

    async def _run_batch(self, variants: Sequence[Variant]) -> list[JudgedRun]:
        runs: dict[int, JudgedRun] = {}

        async def once(place: int) -> None:
            runs[place] = await self._run(variants[place])

        self.found.reruns += len(variants)
        async with trio.open_nursery() as nursery:
            for place in range(len(variants)):
                nursery.start_soon(once, place)
        return [runs[place] for place in range(len(variants))]

    def _written(self, n: int, best: JudgedRun, broken: Broken, rows: int, again: str) -> Failure:
        plan, cassette = self.output / f"failure-{n}.toml", self.output / f"failure-{n}.jsonl"
        played = best.variant.plan(self.limits.seed, strict=self.limits.strict)
        heading = f"# {printable(best.variant.text)}\n# {printable(broken.text)}\n"
        try:
            self.output.mkdir(parents=True, exist_ok=True)
            # TOML has no lone surrogates, which ids may have.
            plan.write_text(heading + plan_text(played), "utf-8", "backslashreplace")
            if best.cassette is not None:
                cassette.write_bytes(self.peer.encoded(best.cassette))
        except OSError as error:
            raise unusable(self.output, error) from error
        return Failure(
            n=n,
            broken=broken,
            variant=best.variant,
            rows=rows,
            again=again,
            plan=str(plan),
            cassette=str(cassette),
            command=self.peer.command(plan),
        )


def hang_limit(given: float | None, peer: ExploredPeer) -> float:
    """Return how long a silence is a hang, in seconds."""
    return max(given or LEAST_TIMEOUT_S, SLOWER * peer.slowest)


async def play_again(peer: ExploredPeer, variant: Variant) -> JudgedRun:
    """Run one variant that a plan describes. Where the recorded order fails already, gives that
    run.
    """
    broken = [one for one in await peer.begin() if not one.oracle.startswith("rule:")]
    if broken:
        return JudgedRun(variant=Variant(), reached=True, broken=broken)
    return await peer.run(variant, hang_limit(None, peer))


def encoded_as(cassette: Cassette, like: Cassette) -> bytes:
    """Return the bytes of a recording; redacted if the other one is."""
    data = encode_cassette(cassette)
    redact = any(take.header.redaction != "off" for take in like.takes)
    own = [rules_of_header(take.header.redaction) for take in like.takes]
    return redact_cassette(data, sum(own, NO_OWN_RULES)).data if redact else data


async def end_session(session: int) -> tuple[str, ...]:
    """End the processes that are left of a session (setsid) after a moment, and name them."""
    with trio.move_on_after(LEFTOVER_TIMEOUT_S):
        while any(session_members(session)):  # noqa: ASYNC110 (nothing tells the end of a stranger's child)
            await trio.sleep(_LEFTOVER_POLL_S)
    names = []
    for pid, name in session_members(session):
        names.append(name)
        try:
            os.kill(pid, KILL)
        except OSError:
            pass  # it ended meanwhile
    return tuple(names)
