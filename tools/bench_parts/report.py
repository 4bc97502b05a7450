"""The report: for each transport a table of the rows, and the bars that must be met.

A ratio is the median of the ratios of each turn: what slows both rows in a turn does not move it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from bench_parts.charts import Chart, charts
from bench_parts.endurance import Endurance
from bench_parts.real_starts import RealStart
from bench_parts.rounds import Figures, Rounds, Turn
from bench_parts.rows import Row
from bench_parts.watched import Watched

NAN = float("nan")
MAX_GROWTH_KIB = 1024
"""Memory may grow by this much over all exchanges and still counts as flat."""
MAX_ADDED_US = 400

Series = Callable[[Figures], Mapping[Turn, float]]
TRIPS: Series = attrgetter("trips")
STREAMS: Series = attrgetter("streams")
SPEEDS: Series = attrgetter("speeds")
RATES: Series = attrgetter("rates")
STARTS: Series = attrgetter("starts")


def ratio(ours: Mapping[Turn, float], theirs: Mapping[Turn, float]) -> float:
    return median(one / theirs[turn] for turn, one in ours.items() if turn in theirs)


def median(values: Iterable[float]) -> float:
    """NaN if nothing was measured."""
    known = [*values]
    return statistics.median(known) if known else NAN


def beside_best(ours: Mapping[Turn, float], peers: Sequence[Mapping[Turn, float]]) -> float:
    """The greatest of the ratios; NaN if no peer was measured."""
    return max((ratio(ours, theirs) for theirs in peers if theirs), default=NAN)


class Section:
    """The figures of one transport; of those rows that failed none are used."""

    def __init__(self, rows: Sequence[Row], rounds: Rounds) -> None:
        self.figures, self.imports = rounds.figures, rounds.imports
        self.failed = {name: f.failed for name, f in self.figures.items() if f.failed}
        self.good = {row.name: row for row in rows if row.name not in self.failed}
        self.peers = {row.name for row in rows if row.peer}
        self.http = rows[0].http
        self.endurance: Endurance | None = None

    def of(self, name: str) -> Figures:
        """Empty for a row that did not run or that failed, so that its ratios are NaN."""
        return self.figures[name] if name in self.good else Figures()

    def peer_figures(self, role: str) -> dict[str, Figures]:
        return {row.name: self.of(row.name) for row in self.good.values() if row.peer_role == role}

    def added(self, row: Figures, series: Series) -> dict[Turn, float]:
        """Seconds more than a direct connection takes."""
        direct = series(self.of("http-direct"))
        return {turn: time - direct[turn] for turn, time in series(row).items() if turn in direct}


Value = Callable[[Section, Figures], float]


@dataclass(frozen=True)
class Column:
    """`key` names the value in JSON, in seconds and bytes; the table shows it in `unit`."""

    key: str
    head: str
    value: Value
    decimals: int = 1
    unit: float = 1

    def cell(self, value: float) -> str:
        return f"{value / self.unit:8.{self.decimals}f}"


def middle(series: Series) -> Value:
    return lambda _, row: median(series(row).values())


def beside(name: str, series: Series) -> Value:
    return lambda section, row: ratio(series(row), series(section.of(name)))


def added(series: Series) -> Value:
    return lambda section, row: median(section.added(row, series).values())


def _peer_ratio(section: Section, row: Figures) -> float:
    peers = section.peer_figures("record").values()
    return min((ratio(row.rates, peer.rates) for peer in peers), default=NAN)


US, MS, MB = 1e-6, 1e-3, 1e6
PINGS = (
    Column("p50", "p50 us", lambda _, row: median(row.all_pings), unit=US),
    Column("p99", "p99 us", lambda _, row: statistics.quantiles(row.all_pings, n=100)[98], unit=US),
)
STDIO = (
    (*PINGS, Column("trip_ratio", "x trio", beside("trio", TRIPS), 2)),
    (
        Column("rate", "MB/s", middle(RATES), 1, MB),
        # A request and its answer are two messages.
        Column("messages", "msg/s", lambda _, row: 2 * median(row.speeds.values()), 0),
        Column("rate_ratio", "x trio", beside("trio", RATES), 3),
        Column("peer_ratio", "x peer", _peer_ratio, 2),
    ),
    (
        Column("start", "start ms", middle(STARTS), 1, MS),
        Column("start_ratio", "x import", lambda s, row: ratio(row.starts, s.imports), 2),
    ),
)
HTTP = (
    (
        *PINGS,
        Column("added", "added us", added(TRIPS), 1, US),
        Column("relay_ratio", "x relay", beside("http-relay", TRIPS), 2),
    ),
    (
        Column("stream_p50", "stream", lambda _, row: median(row.all_follows), 1, US),
        Column("stream_added", "added us", added(STREAMS), 1, US),
        Column("stream_relay_ratio", "x relay", beside("http-relay", STREAMS), 2),
    ),
    (
        Column("rate", "req/s", middle(SPEEDS), 0),
        Column("rate_relay_ratio", "x relay", beside("http-relay", SPEEDS), 3),
    ),
)


def _measure(section: Section) -> dict[str, dict[str, float]]:
    """The values of each row by the keys of the columns."""
    columns = [column for group in (HTTP if section.http else STDIO) for column in group]
    return {
        name: {column.key: column.value(section, section.of(name)) for column in columns}
        for name in section.good
    }


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


def _stdio_bars(section: Section) -> Iterator[Bar]:
    record, trio = section.of("record"), section.of("trio")
    yield Bar("record: round trip p50, x bare trio relay", ratio(record.trips, trio.trips), 1.25)
    for name, peer in section.peer_figures("record").items():
        yield Bar(f"record: round trip p50, x {name}", ratio(record.trips, peer.trips), 1)
    yield Bar("record: throughput, x bare trio relay", ratio(record.rates, trio.rates), 0.15, True)
    yield Bar("record: throughput, x best peer", _peer_ratio(section, record), 3, True)
    yield from _idle_bars(section, "record", "replay")
    for name in ("record", "replay"):
        value = ratio(section.of(name).starts, section.imports)
        yield Bar(f'{name}: start to first answer, x "import trio, msgspec"', value, 1.3)
    if (long := section.endurance) is not None:
        what = f"record: KiB of memory grown, of {long.early}, over {long.exchanges:,} exchanges"
        yield Bar(what, long.growth, MAX_GROWTH_KIB)
        what = f"load of {long.events:,} events ({long.megabytes:.0f} MB), seconds"
        yield Bar(what, long.load, 1)
        plain = median(section.of("replay").starts.values())
        what = f"replay of {long.events:,} events: first answer, less a start, x their load"
        yield Bar(what, (long.replay_start - plain) / long.load, 1.5)


def _http_bars(section: Section) -> Iterator[Bar]:
    for kind, series in (("call", TRIPS), ("stream", STREAMS)):
        added_times = section.added(section.of("http-record"), series)
        what = f"http-record: added to the p50 of a {kind}"
        if kind == "call":  # the cost of a stream grows with its events, which the server sets
            yield Bar(f"{what}, us", _first_quartile(added_times.values()) * 1e6, MAX_ADDED_US)
        peers = section.peer_figures("record").values()
        value = beside_best(added_times, [section.added(peer, series) for peer in peers])
        yield Bar(f"{what}, x best peer", value, 0.5)
        players = section.peer_figures("replay").values()
        value = beside_best(series(section.of("http-replay")), [*map(series, players)])
        yield Bar(f"http-replay: p50 of a {kind}, x best peer", value, 1)
    players = section.peer_figures("replay").values()
    value = min((ratio(section.of("http-replay").speeds, p.speeds) for p in players), default=NAN)
    yield Bar("http-replay: 16 at once, x best peer", value, 1, True)
    yield from _idle_bars(section, "http-record", "http-replay")


def _idle_bars(section: Section, *names: str) -> Iterator[Bar]:
    """What a fault plan costs the messages that it does not match."""
    for name in names:
        plain, planned = section.of(name), section.of(f"{name}-faults")
        what = f"{name}: an idle fault plan, x none:"
        yield Bar(f"{what} round trip p50", ratio(planned.trips, plain.trips), 1.1)
        yield Bar(f"{what} throughput", ratio(planned.speeds, plain.speeds), 0.9, True)


def _first_quartile(values: Iterable[float]) -> float:
    # Not the median: an absolute time contains the machine's other load, which only ever adds.
    found = sorted(values)
    return found[len(found) // 4] if found else NAN


def _real_start_bars(starts: Mapping[str, RealStart]) -> Iterator[Bar]:
    for name, start in starts.items():
        what = f"record in front of {name}: first answer"
        if name.startswith("node"):
            yield Bar(f"{what}, ms more than direct", start.added["record"] / MS, 45)
        else:
            yield Bar(f"{what}, x direct", start.ratios["record"], 1.15)


def _watched_bars(pages: Watched) -> Iterator[Bar]:
    what = "record beside a page that follows, x alone:"
    yield Bar(f"{what} events/s at 10,000", pages.ratio(pages.speeds), 0.98, True)
    yield Bar("watch: share of the events on the page", min(pages.shown) / pages.events, 0.99, True)


def _unbounded_bars(speeds: Mapping[str, float]) -> Iterator[Bar]:
    if "replay" in speeds:
        yield Bar("replay: messages/s, flooded without bound", speeds["replay"], 100_000, True)


class Results:
    """The figures of all transports of one run, of floods without bound (messages a second, by
    row), and of starts in front of real servers.
    """

    def __init__(
        self,
        sections: Sequence[Section],
        unbounded: Mapping[str, float],
        starts: Mapping[str, RealStart],
        pages: Watched | None = None,
    ) -> None:
        self._sections, self._unbounded, self._starts = sections, unbounded, starts
        self._pages = pages
        bars = [bar for s in sections for bar in (_http_bars if s.http else _stdio_bars)(s)]
        bars += [*_unbounded_bars(unbounded), *_real_start_bars(starts)]
        bars += [] if pages is None else _watched_bars(pages)
        # NaN: a row that the bar compares did not run.
        self._bars = [bar for bar in bars if not math.isnan(bar.value)]

    @property
    def met(self) -> bool:
        """Whether all bars are met and none of our rows failed; a peer may fail."""
        failed = any(section.failed.keys() - section.peers for section in self._sections)
        return not failed and all(bar.met for bar in self._bars)

    def text(self) -> Iterator[str]:
        for section in self._sections:
            groups = HTTP if section.http else STDIO
            heads = (" ".join(f"{column.head:>8}" for column in group) for group in groups)
            yield f"{'':25} {' | '.join(heads)}"
            for name, values in _measure(section).items():
                cells = (" ".join(c.cell(values[c.key]) for c in group) for group in groups)
                yield f"{name:25} {' | '.join(cells)}"
            if section.imports:
                yield f"import trio, msgspec: {median(section.imports.values()) / MS:.1f} ms"
            if (long := section.endurance) is not None:
                start = f"{long.replay_start / MS:.0f} ms"
                yield f"replay of {long.events:,} events: start to first answer {start}"
            for name, why in section.failed.items():
                yield f"{name}: failed: {why}"
            yield ""
        for name, speed in self._unbounded.items():
            yield f"{name}: {speed:,.0f} messages/s, flooded without bound"
        for server, real in self._starts.items():
            shown = ", ".join(f"{how} {ms:.0f}" for how, ms in real.milliseconds.items())
            yield f"{server}: ms from its start to its first answer: {shown}"
        if (pages := self._pages) is not None:
            wait, work = pages.ratio(pages.waits), pages.ratio(pages.work)
            yield f"record beside a page, x alone: wait {wait:.2f}, processor time {work:.2f}"
        for bar in self._bars:
            sign = ">=" if bar.at_least else "<="
            yield f"{'pass' if bar.met else 'FAIL'}  {bar.what}: {bar.value:.3g} ({sign} {bar.bar})"

    def drawn(self) -> Iterator[str]:
        """The figures as bars of text, for the manual."""
        rows = {
            name: values for section in self._sections for name, values in _measure(section).items()
        }
        yield from charts(
            [
                Chart("stdio: round trip, median, us", _column(rows, "p50", US, http=False)),
                Chart("stdio: messages/s, flooded", _column(rows, "messages", 1, http=False)),
                Chart("HTTP: round trip, median, us", _column(rows, "p50", US, http=True)),
                Chart("HTTP: requests/s, 16 at once", _column(rows, "rate", 1, http=True)),
                Chart("stdio: messages/s, flooded without bound", dict(self._unbounded)),
                *(
                    Chart(f"{name}: ms to the first answer", start.milliseconds)
                    for name, start in self._starts.items()
                ),
            ]
        )

    def as_json(self) -> dict[str, Any]:
        merged: dict[str, Any] = {"failed": {}}
        for section in self._sections:
            # JSON has no NaN: a ratio to what was not measured is null.
            rows = [
                {"name": name, **{key: None if math.isnan(v) else v for key, v in values.items()}}
                for name, values in _measure(section).items()
            ]
            merged["http_rows" if section.http else "rows"] = rows
            merged["failed"] |= section.failed
            if not section.http:
                merged["import"] = median(section.imports.values())
                merged["endurance"] = section.endurance and vars(section.endurance)
        merged["unbounded"] = dict(self._unbounded)
        merged["watched"] = self._pages and vars(self._pages)
        merged["starts"] = {name: start.milliseconds for name, start in self._starts.items()}
        return merged | {"bars": [{**vars(bar), "met": bar.met} for bar in self._bars]}


def _column(
    rows: Mapping[str, Mapping[str, float]], key: str, unit: float, *, http: bool
) -> dict[str, float]:
    return {
        name.removeprefix("http-"): values[key] / unit
        for name, values in rows.items()
        if name.startswith("http-") is http and not math.isnan(values[key])
    }
