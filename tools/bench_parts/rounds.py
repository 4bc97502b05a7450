"""The measurement: all rows take turns with small portions, so that drift affects them alike.

In a round every row has a session open. The client goes from one to the next with a burst of round
trips, and then with a flood of pipelined requests, many times. Only portions of the same turn are
compared.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial

from bench_parts.client import Flood, Session, limited
from bench_parts.rows import Row, Workshop
from bench_parts.traffic import Traffic

_STEP_TIMEOUT_S = 20
# The first round trips of a burst do not count: the row's processes have been idle, so their caches
# are cold.
_WARM_UP_TRIPS = 20
_FIRST_ID = 1_000_000
_SLOW_FLOOD_S = 0.4
"""A row whose first flood takes longer gets no more floods in this round."""

Turn = tuple[int, int]
"""The number of the round, and of the portion in it."""


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    rounds: int = 4
    starts: int = 3
    bursts: int = 12
    """Of each round, as are `starts` and `floods`."""
    burst: int = 120
    floods: int = 8
    flood_requests: int = 700
    exchanges: int = 100_000
    """For the memory; the cassette that is loaded has as many events."""


QUICK = Effort(rounds=1, starts=3, floods=6, exchanges=20_000)
HTTP = Effort(rounds=3, starts=0, bursts=8, burst=60, floods=4, flood_requests=200)
"""Fewer, because a peer takes milliseconds for a round trip, and a second to start."""
HTTP_QUICK = replace(HTTP, rounds=1, bursts=5, burst=45, floods=3)


@dataclass
class Figures:
    """The measurements of one row, by turn; times in seconds."""

    starts: dict[Turn, float] = field(default_factory=dict)
    pings: dict[Turn, list[float]] = field(default_factory=dict)
    follows: dict[Turn, list[float]] = field(default_factory=dict)
    """Round trips whose answer is a stream of events."""
    floods: dict[Turn, Flood] = field(default_factory=dict)
    failed: str | None = None

    @property
    def all_pings(self) -> list[float]:
        return [time for burst in self.pings.values() for time in burst]

    @property
    def all_follows(self) -> list[float]:
        return [time for burst in self.follows.values() for time in burst]

    @property
    def trips(self) -> dict[Turn, float]:
        """The median of each burst."""
        return _medians(self.pings)

    @property
    def streams(self) -> dict[Turn, float]:
        return _medians(self.follows)

    @property
    def speeds(self) -> dict[Turn, float]:
        """Requests a second."""
        return {turn: flood.requests / flood.seconds for turn, flood in self.floods.items()}

    @property
    def rates(self) -> dict[Turn, float]:
        """Bytes a second, both ways together."""
        return {turn: flood.bytes / flood.seconds for turn, flood in self.floods.items()}


def _medians(bursts: dict[Turn, list[float]]) -> dict[Turn, float]:
    return {turn: statistics.median(times) for turn, times in bursts.items()}


class Rounds:
    """Runs rounds over `rows`. Gives `figures`, and in `imports` the seconds of a bare import."""

    def __init__(
        self, shop: Workshop, rows: Sequence[Row], effort: Effort, traffic: Traffic
    ) -> None:
        self.figures = {row.name: Figures() for row in rows}
        self.imports: dict[Turn, float] = {}
        self._shop, self._rows, self._effort = shop, rows, effort
        self._pings = traffic.small(_FIRST_ID, effort.bursts * effort.burst)
        first = _FIRST_ID + len(self._pings)
        self._follows = traffic.follows(first, len(self._pings))
        first += len(self._follows)
        self._floods = [
            traffic.mixed(first + i * effort.flood_requests, effort.flood_requests)
            for i in range(effort.floods)
        ]
        self._recorded: dict[str, set[int]] = {}

    def warm_up(self) -> None:
        """Record what the players play, and start each row once, which compiles its modules."""
        if self._effort.starts:
            self._import()
            for row in self._rows:
                self._guarded(row, lambda row: self._start(row, "warm"))
        played = {row.plays for row in self._rows}
        recorders = [row for row in self._rows if row.name in played]
        self._converse(recorders, "reference", -1)
        for row in recorders:
            figures = self.figures[row.name]
            self._recorded[row.name] = {number for _, number in figures.floods}
            figures.pings, figures.follows, figures.floods = {}, {}, {}

    def run(self) -> None:
        for number in range(self._effort.rounds):
            self._starts(number)
            self._converse(self._rows, f"round-{number}", number)

    def _starts(self, number: int) -> None:
        for turn in range(self._effort.starts):
            self.imports[number, turn] = self._import()
            for row in self._rows:
                self._guarded(row, partial(self._timed_start, at=(number, turn)))

    def _timed_start(self, row: Row, at: Turn) -> None:
        label = "warm" if row.plays else f"start-{at}"
        self.figures[row.name].starts[at] = self._start(row, label)

    def _start(self, row: Row, label: str) -> float:
        with self._open(row, label) as session:
            taken = session.initialize()
            if not row.peer:
                session.finish()
        return taken

    def _converse(self, rows: Sequence[Row], label: str, number: int) -> None:
        with ExitStack() as stack:
            sessions: dict[str, Session] = {}

            def begin(row: Row) -> None:
                name = "reference" if row.plays else label
                session = stack.enter_context(self._open(row, name))
                session.initialize()
                sessions[row.name] = session

            def each(step: Callable[..., None], turns: int) -> None:
                for turn in range(turns):
                    for row in rows:
                        if (session := sessions.get(row.name)) is not None:
                            self._guarded(row, partial(step, session=session, at=(number, turn)))

            for row in rows:
                self._guarded(row, begin)
            gc.disable()  # a collection in the client would count as time of the row
            each(self._ping, self._effort.bursts)
            each(self._follow, self._effort.bursts)
            each(self._flood, self._effort.floods)
            gc.enable()
            each(self._finish, 1)

    def _ping(self, row: Row, session: Session, at: Turn) -> None:
        self.figures[row.name].pings[at] = self._burst(session, self._pings, at)

    def _follow(self, row: Row, session: Session, at: Turn) -> None:
        if row.streams:
            self.figures[row.name].follows[at] = self._burst(session, self._follows, at)

    def _burst(self, session: Session, requests: Sequence[bytes], at: Turn) -> list[float]:
        first = at[1] * self._effort.burst
        return session.ping_pong(requests[first : first + self._effort.burst])[_WARM_UP_TRIPS:]

    def _flood(self, row: Row, session: Session, at: Turn) -> None:
        number, turn = at
        floods = self.figures[row.name].floods
        before = floods.get((number, 0))
        if before is not None and before.seconds > _SLOW_FLOOD_S:
            return
        # A player can only answer the floods that its recorder has got through.
        if row.plays is None or turn in self._recorded[row.plays]:
            floods[at] = session.flood(self._floods[turn])

    def _finish(self, row: Row, session: Session, at: Turn) -> None:  # noqa: ARG002
        if not row.peer:
            session.finish()  # the status of a recorder says whether it lost anything

    def _guarded(self, row: Row, step: Callable[[Row], object]) -> None:
        """A row that fails runs no more; the others go on."""
        figures = self.figures[row.name]
        if figures.failed is not None:
            return
        try:
            with limited(_STEP_TIMEOUT_S):
                step(row)
        except (RuntimeError, OSError) as error:
            figures.failed = str(error)

    def _open(self, row: Row, label: str) -> Session:
        file = self._shop.folder / f"{row.plays or row.name}-{label}.json"
        session = row.open(file, self._shop)
        session.exact = row.peer_role != "replay"
        return session

    def _import(self) -> float:
        began = time.perf_counter()
        command = [sys.executable, "-c", "import trio, msgspec"]
        subprocess.run(command, env=self._shop.env, check=True)
        return time.perf_counter() - began
