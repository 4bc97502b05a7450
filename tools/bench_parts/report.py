"""Figures to words: a table for each transport, and the bars that are to be met."""

from __future__ import annotations

import math
import statistics
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_parts.rounds import Figures, Rounds, Turn
from bench_parts.rows import Row

NAN = float("nan")


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
    return median(one / theirs[turn] for turn, one in ours.items() if turn in theirs)


def median(values: Iterator[float] | Collection[float]) -> float:
    """NaN of what was not measured."""
    known = [*values]
    return statistics.median(known) if known else NAN


class Section(ABC):
    """What was found out over one transport."""

    def __init__(self, rows: Sequence[Row], rounds: Rounds) -> None:
        self.figures = rounds.figures
        self.good = [row for row in rows if self.figures[row.name].failed is None]
        self.failed = {
            name: figures.failed for name, figures in self.figures.items() if figures.failed
        }
        self.excused = {row.name for row in rows if row.peer}
        """Those whose failure is none of ours."""

    @abstractmethod
    def table(self) -> Iterator[str]: ...

    @abstractmethod
    def bars(self) -> Iterator[Bar]:
        """NaN where a bar stands beside a row that did not run."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]: ...


class Results:
    """All that one run found out."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = sections

    @property
    def met(self) -> bool:
        """Whether no bar was missed and no row of ours failed."""
        failed = any(section.failed.keys() - section.excused for section in self._sections)
        return not failed and all(bar.met for bar in self._bars())

    def text(self) -> Iterator[str]:
        for section in self._sections:
            yield from section.table()
            for name, why in section.failed.items():
                yield f"{name}: failed: {why}"
            yield ""
        for bar in self._bars():
            sign = ">=" if bar.at_least else "<="
            yield f"{'pass' if bar.met else 'FAIL'}  {bar.what}: {bar.value:.3g} ({sign} {bar.bar})"

    def as_json(self) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for section in self._sections:
            merged |= section.as_json()
        merged["failed"] = {
            name: why for section in self._sections for name, why in section.failed.items()
        }
        return merged | {"bars": [{**vars(bar), "met": bar.met} for bar in self._bars()]}

    def _bars(self) -> Iterator[Bar]:
        every = (bar for section in self._sections for bar in section.bars())
        return (bar for bar in every if not math.isnan(bar.value))


def idle_bars(figures: Mapping[str, Figures], *names: str) -> Iterator[Bar]:
    """What a plan costs those messages that it is not about."""
    for name in names:
        plain, planned = figures.get(name), figures.get(f"{name}-faults")
        if plain is None or planned is None:
            continue
        what = f"{name}: an idle fault plan, x none:"
        yield Bar(f"{what} round trip p50", ratio(planned.trips, plain.trips), 1.1)
        yield Bar(f"{what} throughput", ratio(planned.speeds, plain.speeds), 0.9, True)


def finite(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN: a ratio to what was not measured is null."""
    lost = [name for name, value in values.items() if isinstance(value, float) and value != value]
    return values | dict.fromkeys(lost)
