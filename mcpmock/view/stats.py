"""Statistics of cassettes: how often each method and tool was called, how the calls ended, how long
they took and how large they were.

Counts the rows of `timeline` as they are made, over any number of cassettes. What was
counted elsewhere, by another process or last week, adds up: `Stats.include`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import NamedTuple, TypeVar

import attrs

from mcpmock.cassette.model import Cassette, Gap
from mcpmock.histogram import Histogram
from mcpmock.protocol.correlation import PROGRESS
from mcpmock.protocol.messages import C2S, Direction

from .timeline import Row, TakeAnnotator


class What(NamedTuple):
    """The key of a count: direction, method and, for tool calls, the tool."""

    direction: Direction
    method: str
    tool: str | None = None

    @property
    def rank(self) -> tuple[bool, str, str]:
        """The client's first, then by name."""
        return self.direction is not C2S, self.method, self.tool or ""


@attrs.define
class Calls:
    """The requests of one method and tool. Sizes are bytes of JSON, without framing."""

    count: int = 0
    errors: int = 0
    """Error responses, and tool results with `isError`."""
    cancelled: int = 0
    unanswered: int = 0
    progress: int = 0
    """Progress notifications of these calls."""
    asked: int = 0
    """The size of all requests."""
    answered: int = 0
    """The size of all answers."""
    largest: int = 0
    """The size of the largest answer."""
    latencies: Histogram = attrs.field(factory=Histogram)
    """Microseconds; only of calls answered before they were cancelled, in takes with times."""

    def include(self, other: Calls) -> None:
        """Count what another one has counted."""
        self.count += other.count
        self.errors += other.errors
        self.cancelled += other.cancelled
        self.unanswered += other.unanswered
        self.progress += other.progress
        self.asked += other.asked
        self.answered += other.answered
        self.largest = max(self.largest, other.largest)
        self.latencies.include(other.latencies)

    def histogram(self) -> dict[int, int]:
        """Return the latencies in the wide buckets that are drawn: how many are at most each upper
        bound and above the one before, in ascending order. The bounds are 1, 2, 5, 10..
        microseconds.
        """
        counted = Counter[int]()
        for bound, count in sorted(self.latencies.buckets.items()):
            counted[_upper_bound(bound)] += count
        return dict(counted)


def upper_bounds(first: int, last: int) -> Iterator[int]:
    """Yield the bounds of a histogram from one to another."""
    bound = first
    while bound <= last:
        yield bound
        bound = _upper_bound(bound + 1)


def _upper_bound(microseconds: int) -> int:
    decade: int = 10 ** max(len(str(microseconds)) - 1, 0)
    return next(step * decade for step in (1, 2, 5, 10) if microseconds <= step * decade)


@attrs.define
class Notifications:
    """The notifications of one method."""

    count: int = 0
    size: int = 0

    def include(self, other: Notifications) -> None:
        """Count what another one has counted."""
        self.count += other.count
        self.size += other.size


_Counted = TypeVar("_Counted", Calls, Notifications)


@attrs.define
class Stats:
    """All counts: `calls` and `notifications` in the order of `What.rank`, `kinds` by the kinds of
    the timeline. Two of them add up with `+`, as if their cassettes had been counted together.

    >>> both = mcpmock.stats("weather.jsonl") + mcpmock.stats("weather.jsonl")
    >>> both.cassettes, [(what.method, calls.count) for what, calls in both.calls.items()]
    (2, [('initialize', 2), ('tools/call', 2), ('tools/list', 2)])
    """

    cassettes: int = 0
    takes: int = 0
    events: int = 0
    lost_events: int = 0
    """How many events could not be recorded: a gap stands for any number of them."""
    lost_bytes: int = 0
    calls: dict[What, Calls] = attrs.field(factory=dict)
    notifications: dict[What, Notifications] = attrs.field(factory=dict)
    kinds: Counter[str] = attrs.field(factory=Counter)

    def include(self, other: Stats) -> None:
        """Add what another one has counted, which is used up by that."""
        self.cassettes += other.cassettes
        self.takes += other.takes
        self.events += other.events
        self.lost_events += other.lost_events
        self.lost_bytes += other.lost_bytes
        self.kinds.update(other.kinds)
        self.calls = _add_up(self.calls, other.calls)
        self.notifications = _add_up(self.notifications, other.notifications)

    def __add__(self, other: Stats) -> Stats:
        both = deepcopy(self)
        both.include(deepcopy(other))
        return both


def stats(cassettes: Iterable[Cassette]) -> Stats:
    """Count cassettes, all in one."""
    found = Stats()
    for cassette in cassettes:
        one = Stats(cassettes=1, takes=len(cassette.takes))
        one.events = sum(len(take.events) for take in cassette.takes)
        for number, take in enumerate(cassette.takes, 1):
            _TakeCounter(one, TakeAnnotator.of(take, number, 0)).count()
        found.include(one)
    return found


def _add_up(into: dict[What, _Counted], more: dict[What, _Counted]) -> dict[What, _Counted]:
    """Return the counts of both, in the order of `What.rank`."""
    for what, counted in more.items():
        if what in into:
            into[what].include(counted)
        else:
            into[what] = counted
    return dict(sorted(into.items(), key=lambda item: item[0].rank))


@attrs.define
class _TakeCounter:
    """Counts the rows of a take. How its requests ended is known at its end."""

    found: Stats
    annotator: TakeAnnotator
    _rows: int = 0
    _counted: dict[What, tuple[What, Calls]] = attrs.field(factory=dict)
    _asked: list[tuple[What, Calls]] = attrs.field(factory=list)
    """Of each request: where it is counted, .."""
    _requests: array[int] = attrs.field(factory=lambda: array("q"))
    """.. and its row, size and exchange."""

    def count(self) -> None:
        for event in self.annotator.take.events:
            if isinstance(event.gap, Gap):
                self.found.lost_events += event.gap.events
                self.found.lost_bytes += event.gap.bytes
            for row in self.annotator.add(event):
                self._count_row(row)
                self._rows += 1
        for number, (what, calls) in enumerate(self._asked):
            place, size, exchange = self._requests[3 * number : 3 * number + 3]
            status = self.annotator.status(None if exchange < 0 else exchange)
            match self.annotator.outcome(place, what.method, status):
                case "redirected":  # it comes again
                    calls.count -= 1
                    calls.asked -= size
                case "cancelled":
                    calls.cancelled += 1
                case "unanswered":
                    calls.unanswered += 1

    def _count_row(self, row: Row) -> None:
        found, size = self.found, row.size
        # An SSE event without data carries no message.
        found.kinds[row.kind] += row.kind != "opaque" or size > 0
        if row.direction is None or row.method is None:
            return
        if row.kind == "request":
            asked = self._calls_of(row, row.direction)
            asked[1].count += 1
            asked[1].asked += size
            self._asked.append(asked)
            exchange = -1 if row.event.x is None else row.event.x
            self._requests.extend((self._rows, size, exchange))
        elif row.kind in ("response", "error") and row.call is not None:
            _note_answer(self._calls_of(row, row.direction.back)[1], row, size)
        elif row.kind == "notification":
            what = What(row.direction, row.method)
            notifications = found.notifications.setdefault(what, Notifications())
            notifications.count += 1
            notifications.size += size
            if row.method == PROGRESS and row.call is not None:
                self._calls_of(row, row.direction.back)[1].progress += 1

    def _calls_of(self, row: Row, asker: Direction) -> tuple[What, Calls]:
        what = What(asker, row.asked or "", row.tool)
        counted = self._counted.get(what)
        if counted is None:
            counted = what, self.found.calls.setdefault(what, Calls())
            self._counted[what] = counted
        return counted


def _note_answer(calls: Calls, row: Row, size: int) -> None:
    """Count of a late one only the size: its call is already counted as cancelled."""
    calls.answered += size
    calls.largest = max(calls.largest, size)
    if any(note.startswith("late") for note in row.notes):
        return
    calls.errors += row.kind == "error"
    if row.latency is not None:
        calls.latencies.add(row.latency)
