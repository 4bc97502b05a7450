"""Figures as horizontal bars of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

WIDTH = 40
_EIGHTHS = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589"


@dataclass(frozen=True)
class Chart:
    """Values by name, in the order in which they are shown."""

    title: str
    values: Mapping[str, float]


def charts(all_charts: Sequence[Chart]) -> Iterator[str]:
    """The lines of those that have values. The longest bar of each is WIDTH characters."""
    for chart in all_charts:
        if not chart.values:
            continue
        yield chart.title
        most, name_width = max(chart.values.values()), max(map(len, chart.values))
        for name, value in chart.values.items():
            yield f"  {name:{name_width}}  {_bar(value / most)} {value:,.0f}"
        yield ""


def _bar(share: float) -> str:
    whole, part = divmod(round(share * WIDTH * 8), 8)
    return "\u2588" * whole + (_EIGHTHS[part] if part else "")
