"""Where the rows of a timeline are drawn: a time axis without its idle stretches, and a lane for
each session and direction; as a page, or as text with a bar from each request to its answer.

    axis:   handshake ........ idle, folded ........ call
    lanes:  client ->   [initialize]        [tools/call     ]
                                               [tools/call]      a second line: the calls overlap
            server <-                           [sampling]

Pure and incremental: a recording that grows only adds rows. `report` stands above.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median_low
from typing import NamedTuple

import attrs

from mcpmock.protocol.correlation import CANCELLED

from .timeline import Row

_IDLE_FACTOR = 20
"""A pause is idle that is so many times as long as the median one."""
_MIN_IDLE_US = 1000
MAX_LINES = 8
"""More calls that overlap in one lane share its lines."""


@attrs.define
class TimeAxis:
    """Gives each row its place: microseconds, of which a pause counts no more than `idle`."""

    idle: int
    """Microseconds; 0 for a recording without times, where each row is one step."""
    at: int = 0
    folds: list[tuple[int, int]] = attrs.field(factory=list)
    """The middle of each pause that was cut short, and how long it was."""
    takes: list[int] = attrs.field(factory=list)
    """Where each take begins."""
    _last: Row | None = None

    @classmethod
    def over(cls, rows: Sequence[Row]) -> TimeAxis:
        pauses = [
            pause
            for one, other in pairwise(rows)
            if one.take == other.take and (pause := other.event.t - one.event.t) > 0
        ]
        return cls(max(_IDLE_FACTOR * median_low(pauses), _MIN_IDLE_US) if pauses else 0)

    def place(self, row: Row) -> int:
        before, self._last = self._last, row
        if before is None or before.take != row.take:
            self.at += before is not None
            self.takes.append(self.at)
        elif not self.idle:
            self.at += 1
        else:
            pause = max(row.event.t - before.event.t, 0)
            if pause > self.idle:
                self.folds.append((self.at + self.idle // 2, pause))
            self.at += min(pause, self.idle)
        return self.at


_WAYS = {"c2s": 1, "s2c": 2, "stderr": 3}
"""As the page has them, the log of the server last."""


@attrs.define
class _Lane:
    session: int
    way: int
    calls: list[int | None] = attrs.field(factory=list)
    """The call that each line is occupied by, by its row index."""

    @property
    def place(self) -> tuple[bool, int, int]:
        return self.way == _WAYS["stderr"], self.session, self.way

    @property
    def lines(self) -> int:
        return len(self.calls) or 1


@attrs.define
class Lanes:
    """Gives each message its lane, and in it a line that no open call occupies. Takes follow one
    another, and share the lanes.
    """

    _take: int = 1
    _lanes: dict[tuple[int, int], int] = attrs.field(factory=dict)
    _all: list[_Lane] = attrs.field(factory=list)
    _open: dict[int, tuple[_Lane, int]] = attrs.field(factory=dict)

    def place(self, index: int, row: Row) -> int | None:
        """8 times the number of the lane, and the line in it; None for what has no lane."""
        way = _WAYS.get(row.kind if row.event.d is None else row.event.d)
        if way is None or row.kind in ("http", "sse", "body", "end"):
            return None
        if row.take != self._take:
            self._take = row.take
            self._open.clear()
            for lane in self._all:
                lane.calls = [None] * len(lane.calls)
        key = row.event.s, way
        number = self._lanes.setdefault(key, len(self._all))
        if number == len(self._all):
            self._all.append(_Lane(*key))
        lane = self._all[number]
        if row.kind == "request":
            return number * MAX_LINES + self._occupy(lane, index)
        if row.kind in ("response", "error") and row.call in self._open:
            asked, line = self._open.pop(row.call)
            asked.calls[line] = None
        return number * MAX_LINES

    def _occupy(self, lane: _Lane, index: int) -> int:
        free = next((line for line, call in enumerate(lane.calls) if call is None), None)
        if free is None and len(lane.calls) < MAX_LINES:
            lane.calls.append(None)
            free = len(lane.calls) - 1
        if free is None:
            return index % MAX_LINES
        lane.calls[free] = index
        self._open[index] = (lane, free)
        return free

    def table(self) -> list[tuple[int, int, int]]:
        """Session and way (1: from the client, 2: from the server, 3: the server's log) of each
        lane, and the line of the page at which it begins: by session, client first, the log last.
        """
        tops, at = [0] * len(self._all), 0
        for number in sorted(range(len(self._all)), key=lambda number: self._all[number].place):
            tops[number] = at
            at += self._all[number].lines
        return [(lane.session, lane.way, top) for lane, top in zip(self._all, tops, strict=True)]

    @property
    def lines(self) -> int:
        """Of all lanes together."""
        return sum(lane.lines for lane in self._all) or 1


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
