"""The rows of a take drawn as text over time: a bar from each request to its answer, a point for
every other row.

    0     ≈            1.2 s     the scale; ≈ is a long pause, cut short
    ━━━━━━━━━━━━━                a call
      •                          its progress
         ━╌╌╌                    a call that is cancelled
                 ━╌╌╌╌╌╌╌╌╌╌╌    a call without an answer

Pure. `lanes` gives the time axis; the command line puts the drawing beside the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mcpmock.protocol.correlation import CANCELLED

from .lanes import TimeAxis
from .timeline import Row


class Symbols(NamedTuple):
    """What a drawing is made of, each one column wide."""

    bar: str
    open: str
    """The time of a request that got no answer, to its cancellation or the end of the take."""
    point: str
    fold: str


UNICODE = Symbols("━", "╌", "•", "≈")
ASCII = Symbols("=", "-", ".", "~")


class Waterfall(NamedTuple):
    """All lines have the same width."""

    scale: str
    lines: list[str]


def waterfall(
    rows: Sequence[Row], first: int, width: int, end: str, symbols: Symbols = UNICODE
) -> Waterfall:
    """Draw all rows of a take; `first` is the index of the first in the timeline, `end` the label
    at the end of the scale.
    """
    axis = TimeAxis.over(rows)
    at = [axis.place(row) for row in rows]
    last = max(axis.at, 1)

    def column(place: int) -> int:
        return place * (width - 1) // last

    ends: dict[int, tuple[str, int]] = {}
    for row, place in zip(rows, at, strict=True):
        if row.call is not None and row.kind in ("response", "error"):
            ends.setdefault(row.call, (symbols.bar, column(place)))
        elif row.call is not None and row.method == CANCELLED:
            ends.setdefault(row.call, (symbols.open, column(place)))
    lines = []
    for index, (row, place) in enumerate(zip(rows, at, strict=True), first):
        start = column(place)
        drawn = symbols.point
        if row.kind == "request":
            line, stop = ends.get(index, (symbols.open, width - 1))
            drawn = symbols.bar + line * (stop - start)
        lines.append(f"{' ' * start}{drawn}".ljust(width))
    scale = list("0".ljust(width))
    for place, _ in axis.folds:
        scale[max(column(place), 1)] = symbols.fold
    return Waterfall("".join(scale)[: width - len(end) - 1] + " " + end, lines)
