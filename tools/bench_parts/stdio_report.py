"""What was found out over stdio, beside a bare relay on trio and beside peers."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench_parts.endurance import Endurance
from bench_parts.report import NAN, Bar, Section, finite, idle_bars, ratio
from bench_parts.rounds import Figures, Rounds
from bench_parts.rows import Row

BASE = "trio"
GROWTH = 1024
"""KiB by which memory may grow over all exchanges and still be called flat."""


@dataclass(frozen=True)
class Line:
    """One row of the table; times in seconds, the ratios to the bare trio relay."""

    name: str
    p50: float
    p99: float
    trip_ratio: float
    rate: float
    messages: float
    rate_ratio: float
    peer_ratio: float
    start: float
    start_ratio: float
    """To `import trio, msgspec`."""


class StdioSection(Section):
    """With what `endure` found, or why it failed."""

    def __init__(
        self, rows: Sequence[Row], rounds: Rounds, endurance: Endurance | str | None
    ) -> None:
        super().__init__(rows, rounds)
        self._imports = rounds.imports
        self._endurance = endurance if isinstance(endurance, Endurance) else None
        if isinstance(endurance, str):
            self.failed["endurance"] = endurance
        self._peers = [row.name for row in self.good if row.peer and row.records]
        self._base = self.figures.get(BASE, Figures())
        self._lines = [self._line(row.name, self.figures[row.name]) for row in self.good]

    def _line(self, name: str, figures: Figures) -> Line:
        pings = [time for burst in figures.pings.values() for time in burst]
        peers = [ratio(figures.rates, self.figures[peer].rates) for peer in self._peers]
        return Line(
            name=name,
            p50=statistics.median(pings),
            p99=statistics.quantiles(pings, n=100)[98],
            trip_ratio=ratio(figures.trips, self._base.trips),
            rate=statistics.median(figures.rates.values()),
            messages=2 * statistics.median(figures.speeds.values()),
            rate_ratio=ratio(figures.rates, self._base.rates),
            peer_ratio=min(peers, default=NAN),
            start=statistics.median(figures.starts.values()),
            start_ratio=ratio(figures.starts, self._imports),
        )

    def bars(self) -> Iterator[Bar]:
        lines = {line.name: line for line in self._lines}
        if (record := lines.get("record")) is not None:
            yield Bar("record: round trip p50, x bare trio relay", record.trip_ratio, 1.25)
            ours = self.figures["record"].trips
            for name in self._peers:
                value = ratio(ours, self.figures[name].trips)
                yield Bar(f"record: round trip p50, x {name}", value, 1)
            yield Bar("record: throughput, x bare trio relay", record.rate_ratio, 0.15, True)
            if self._peers:
                yield Bar("record: throughput, x best peer", record.peer_ratio, 3, True)
        yield from idle_bars(self.figures, "record", "replay")
        for name in ("record", "replay"):
            if name in lines:
                what = f'{name}: start to first answer, x "import trio, msgspec"'
                yield Bar(what, lines[name].start_ratio, 1.3)
        if (long := self._endurance) is not None:
            what = (
                f"record: KiB of memory grown, of {long.early}, over {long.exchanges:,} exchanges"
            )
            yield Bar(what, long.growth, GROWTH)
            what = f"load of {long.events:,} events ({long.megabytes:.0f} MB), seconds"
            yield Bar(what, long.load, 1)

    def table(self) -> Iterator[str]:
        yield (
            f"{'':18}  p50 us  p99 us  x trio |    MB/s    msg/s  x trio  x peer |"
            "  start ms  x import"
        )
        for line in self._lines:
            yield (
                f"{line.name:18} {line.p50 * 1e6:7.1f} {line.p99 * 1e6:7.1f}"
                f" {line.trip_ratio:7.2f} |"
                f" {line.rate / 1e6:7.1f} {line.messages:8.0f} {line.rate_ratio:7.3f}"
                f" {line.peer_ratio:7.2f} | {line.start * 1e3:9.1f} {line.start_ratio:9.2f}"
            )
        imports = statistics.median(self._imports.values())
        yield f"{'import trio, msgspec':79} {imports * 1e3:9.1f} {1:9.2f}"
        if (long := self._endurance) is not None:
            start = f"{long.replay_start * 1e3:.0f} ms"
            yield f"replay of {long.events:,} events: start to first answer {start}"

    def as_json(self) -> dict[str, Any]:
        return {
            "rows": [finite(vars(line)) for line in self._lines],
            "import": statistics.median(self._imports.values()),
            "endurance": None if self._endurance is None else vars(self._endurance),
        }
