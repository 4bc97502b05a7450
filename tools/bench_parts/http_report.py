"""What was found out over HTTP: what is added to talking with the server directly, beside a bare
reverse proxy on trio and h11, and beside peers.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_parts.report import NAN, Bar, Section, finite, idle_bars, median, ratio
from bench_parts.rounds import Figures, Rounds, Turn
from bench_parts.rows import Row

DIRECT, RELAY = "http-direct", "http-relay"
_ADDED = 400
"""Microseconds."""

Trips = Callable[[Figures], Mapping[Turn, float]]
KINDS: dict[str, Trips] = {
    "call": lambda figures: figures.trips,
    "stream": lambda figures: figures.streams,
}


@dataclass(frozen=True)
class Line:
    """One row of the table; times in seconds, answers as JSON but for those named stream."""

    name: str
    p50: float
    p99: float
    added: float
    relay_ratio: float
    stream_p50: float
    stream_added: float
    stream_relay_ratio: float
    rate: float
    """Requests a second, over several connections."""
    rate_relay_ratio: float


class HttpSection(Section):
    """What is beside peers is beside the best of them."""

    def __init__(self, rows: Sequence[Row], rounds: Rounds) -> None:
        super().__init__(rows, rounds)
        self._direct = self.figures.get(DIRECT, Figures())
        self._relay = self.figures.get(RELAY, Figures())
        self._lines = [self._line(row.name, self.figures[row.name]) for row in self.good]

    def _line(self, name: str, figures: Figures) -> Line:
        pings = [time for burst in figures.pings.values() for time in burst]
        follows = [time for burst in figures.follows.values() for time in burst]
        return Line(
            name=name,
            p50=statistics.median(pings),
            p99=statistics.quantiles(pings, n=100)[98],
            added=median(self._added(figures, KINDS["call"]).values()),
            relay_ratio=ratio(figures.trips, self._relay.trips),
            stream_p50=median(follows),
            stream_added=median(self._added(figures, KINDS["stream"]).values()),
            stream_relay_ratio=ratio(figures.streams, self._relay.streams),
            rate=median(figures.speeds.values()),
            rate_relay_ratio=ratio(figures.speeds, self._relay.speeds),
        )

    def _added(self, figures: Figures, trips: Trips) -> dict[Turn, float]:
        direct = trips(self._direct)
        return {
            turn: time - direct[turn] for turn, time in trips(figures).items() if turn in direct
        }

    def bars(self) -> Iterator[Bar]:
        recorders = [self.figures[row.name] for row in self.good if row.peer and row.records]
        players = [self.figures[row.name] for row in self.good if row.peer and row.plays]
        ours = {row.name: self.figures[row.name] for row in self.good}
        for kind, trips in KINDS.items():
            if (record := ours.get("http-record")) is not None:
                added = self._added(record, trips)
                what = f"http-record: added to the p50 of a {kind}"
                if kind == "call":  # how many events a stream has is for its server to say
                    yield Bar(f"{what}, us", _quietest(added.values()) * 1e6, _ADDED)
                theirs = [self._added(peer, trips) for peer in recorders]
                yield Bar(f"{what}, x best peer", _beside_best(added, theirs), 0.5)
            if (replay := ours.get("http-replay")) is not None:
                what = f"http-replay: p50 of a {kind}, x best peer"
                yield Bar(what, _beside_best(trips(replay), [trips(peer) for peer in players]), 1)

        yield from idle_bars(self.figures, "http-record", "http-replay")

    def table(self) -> Iterator[str]:
        yield (
            f"{'':25}  p50 us  p99 us    added x relay |  stream    added x relay |   req/s x relay"
        )
        for line in self._lines:
            yield (
                f"{line.name:25} {line.p50 * 1e6:7.1f} {line.p99 * 1e6:7.1f}"
                f" {line.added * 1e6:8.1f} {line.relay_ratio:7.2f} |"
                f" {line.stream_p50 * 1e6:7.1f} {line.stream_added * 1e6:8.1f}"
                f" {line.stream_relay_ratio:7.2f} | {line.rate:7.0f} {line.rate_relay_ratio:7.3f}"
            )

    def as_json(self) -> dict[str, Any]:
        return {"http_rows": [finite(vars(line)) for line in self._lines]}


def _quietest(values: Iterable[float]) -> float:
    """The first quartile: other than a ratio, what is absolute has the machine's other load in it,
    which only ever adds.
    """
    found = sorted(values)
    return found[len(found) // 4] if found else NAN


def _beside_best(ours: Mapping[Turn, float], peers: Sequence[Mapping[Turn, float]]) -> float:
    """The greatest of the ratios; NaN without a peer that was measured."""
    return max((ratio(ours, theirs) for theirs in peers if theirs), default=NAN)
