"""Figures to words: a table with a line for each row, and the bars that are to be met."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_parts.endurance import Endurance
from bench_parts.rounds import Figures, Rounds, Turn
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


@dataclass(frozen=True)
class Bar:
    """`value` must be at most, or at least, `bar`."""

    what: str
    value: float
    bar: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.value >= self.bar if self.at_least else self.value <= self.bar


def ratio(ours: Mapping[Turn, float], theirs: Mapping[Turn, float]) -> float:
    """The median over the turns: what slows both in a turn does not move it."""
    pairs = [one / theirs[turn] for turn, one in ours.items() if turn in theirs]
    return statistics.median(pairs) if pairs else float("nan")


class Results:
    """All that one run found out."""

    def __init__(
        self, rows: Sequence[Row], rounds: Rounds, endurance: Endurance | str | None
    ) -> None:
        self._figures, self._imports = rounds.figures, rounds.imports
        self.endurance = endurance if isinstance(endurance, Endurance) else None
        good = [row for row in rows if rounds.figures[row.name].failed is None]
        self.failed = {
            name: figures.failed for name, figures in rounds.figures.items() if figures.failed
        }
        if isinstance(endurance, str):
            self.failed["endurance"] = endurance
        self._peers = [row.name for row in good if row.peer and row.records]
        self._others = {row.name for row in rows if row.peer}
        self._base = rounds.figures.get(BASE, Figures())
        self.lines = [self._line(row.name, rounds.figures[row.name]) for row in good]

    def _line(self, name: str, figures: Figures) -> Line:
        pings = [time for burst in figures.pings.values() for time in burst]
        floods = [2 * flood.requests / flood.seconds for flood in figures.floods.values()]
        peers = [ratio(figures.rates, self._figures[peer].rates) for peer in self._peers]
        return Line(
            name=name,
            p50=statistics.median(pings),
            p99=statistics.quantiles(pings, n=100)[98],
            trip_ratio=ratio(figures.trips, self._base.trips),
            rate=statistics.median(figures.rates.values()),
            messages=statistics.median(floods),
            rate_ratio=ratio(figures.rates, self._base.rates),
            peer_ratio=min(peers, default=float("nan")),
            start=statistics.median(figures.starts.values()),
            start_ratio=ratio(figures.starts, self._imports),
        )

    @property
    def met(self) -> bool:
        """Whether no bar was missed and no row of ours failed."""
        return not (self.failed.keys() - self._others) and all(bar.met for bar in self.bars())

    def bars(self) -> Iterator[Bar]:
        """Those that were measured: a bar beside a row that did not run is left out."""
        return (bar for bar in self._all_bars() if not math.isnan(bar.value))

    def _all_bars(self) -> Iterator[Bar]:
        lines = {line.name: line for line in self.lines}
        if (record := lines.get("record")) is not None:
            yield Bar("record: round trip p50, x bare trio relay", record.trip_ratio, 1.25)
            ours = self._figures["record"].trips
            for name in self._peers:
                value = ratio(ours, self._figures[name].trips)
                yield Bar(f"record: round trip p50, x {name}", value, 1)
            yield Bar("record: throughput, x bare trio relay", record.rate_ratio, 0.15, True)
            if self._peers:
                yield Bar("record: throughput, x best peer", record.peer_ratio, 3, True)
        for name in ("record", "replay"):
            if name in lines:
                what = f'{name}: start to first answer, x "import trio, msgspec"'
                yield Bar(what, lines[name].start_ratio, 1.3)
        if (long := self.endurance) is not None:
            what = (
                f"record: KiB of memory grown, of {long.early}, over {long.exchanges:,} exchanges"
            )
            yield Bar(what, long.growth, GROWTH)
            what = f"load of {long.events:,} events ({long.megabytes:.0f} MB), seconds"
            yield Bar(what, long.load, 1)

    def text(self) -> Iterator[str]:
        yield (
            f"{'':18}  p50 us  p99 us  x trio |    MB/s    msg/s  x trio  x peer |"
            "  start ms  x import"
        )
        for line in self.lines:
            yield (
                f"{line.name:18} {line.p50 * 1e6:7.1f} {line.p99 * 1e6:7.1f}"
                f" {line.trip_ratio:7.2f} |"
                f" {line.rate / 1e6:7.1f} {line.messages:8.0f} {line.rate_ratio:7.3f}"
                f" {line.peer_ratio:7.2f} | {line.start * 1e3:9.1f} {line.start_ratio:9.2f}"
            )
        imports = statistics.median(self._imports.values())
        yield f"{'import trio, msgspec':79} {imports * 1e3:9.1f} {1:9.2f}"
        for name, why in self.failed.items():
            yield f"{name}: failed: {why}"
        if (long := self.endurance) is not None:
            start = f"{long.replay_start * 1e3:.0f} ms"
            yield f"replay of {long.events:,} events: start to first answer {start}"
        yield ""
        for bar in self.bars():
            sign = ">=" if bar.at_least else "<="
            yield f"{'pass' if bar.met else 'FAIL'}  {bar.what}: {bar.value:.3g} ({sign} {bar.bar})"

    def as_json(self) -> dict[str, Any]:
        return {
            "rows": [_finite(vars(line)) for line in self.lines],
            "import": statistics.median(self._imports.values()),
            "failed": self.failed,
            "endurance": None if self.endurance is None else vars(self.endurance),
            "bars": [{**vars(bar), "met": bar.met} for bar in self.bars()],
        }


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN: a ratio to what was not measured is null."""
    lost = [name for name, value in values.items() if isinstance(value, float) and value != value]
    return values | dict.fromkeys(lost)
