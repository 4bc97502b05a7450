"""Statistics of cassettes: how often each method and tool was called, how the calls ended, how long
they took and how large they were.

Counts the rows of `timeline` over any number of cassettes, one in memory at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import NamedTuple

import attrs

from mcpmock.cassette.model import Cassette, Gap
from mcpmock.protocol.correlation import PROGRESS
from mcpmock.protocol.messages import C2S, Direction

from .timeline import Row, raws, timeline


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
    latencies: list[int] = attrs.field(factory=list)
    """Microseconds; only of calls answered before they were cancelled, in takes with times."""

    def percentile(self, share: float) -> int | None:
        """The smallest latency that this share of the calls does not exceed (nearest rank); None
        without latencies.
        """
        ordered = sorted(self.latencies)
        return ordered[max(ceil(share * len(ordered)) - 1, 0)] if ordered else None

    def histogram(self) -> dict[int, int]:
        """How many latencies are at most each upper bound and above the one before, in ascending
        order. The bounds are 1, 2, 5, 10.. microseconds for all calls, so histograms add up.
        """
        counted = Counter(_upper_bound(latency) for latency in self.latencies)
        return dict(sorted(counted.items()))


def upper_bounds(first: int, last: int) -> Iterator[int]:
    """The bounds of a histogram from one to another."""
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


@attrs.define
class Stats:
    """All counts; `kinds` by the kinds of the timeline."""

    cassettes: int = 0
    takes: int = 0
    events: int = 0
    lost_events: int = 0
    """How many events could not be recorded: a gap stands for any number of them."""
    lost_bytes: int = 0
    calls: dict[What, Calls] = attrs.field(factory=dict)
    notifications: dict[What, Notifications] = attrs.field(factory=dict)
    kinds: Counter[str] = attrs.field(factory=Counter)


def stats(cassettes: Iterable[Cassette]) -> Stats:
    """Counts cassettes, all in one. The rows of the result are in the order of `What.rank`."""
    found = Stats()
    for cassette in cassettes:
        found.cassettes += 1
        found.takes += len(cassette.takes)
        found.events += sum(len(take.events) for take in cassette.takes)
        _count_rows(found, timeline(cassette))
    found.calls = dict(sorted(found.calls.items(), key=lambda item: item[0].rank))
    found.notifications = dict(sorted(found.notifications.items(), key=lambda item: item[0].rank))
    return found


def _count_rows(found: Stats, rows: Sequence[Row]) -> None:
    for row, size in zip(rows, _sizes(rows), strict=True):
        # An SSE event without data carries no message.
        found.kinds[row.kind] += row.kind != "opaque" or size > 0
        if isinstance(row.event.gap, Gap):
            found.lost_events += row.event.gap.events
            found.lost_bytes += row.event.gap.bytes
        if row.direction is None or row.method is None:
            continue
        if row.kind == "request":
            _note_request(_calls_of(found, row), row, size)
        elif row.kind in ("response", "error") and row.call is not None:
            _note_answer(_calls_of(found, rows[row.call]), row, size)
        elif row.kind == "notification":
            what = What(row.direction, row.method)
            notifications = found.notifications.setdefault(what, Notifications())
            notifications.count += 1
            notifications.size += size
            if row.method == PROGRESS and row.call is not None:
                _calls_of(found, rows[row.call]).progress += 1


def _calls_of(found: Stats, request: Row) -> Calls:
    assert request.direction is not None, "a request has a direction"
    what = What(request.direction, request.method or "", request.tool)
    return found.calls.setdefault(what, Calls())


def _note_request(calls: Calls, row: Row, size: int) -> None:
    calls.count += 1
    calls.asked += size
    calls.cancelled += "cancelled" in row.notes
    calls.unanswered += "unanswered" in row.notes


def _note_answer(calls: Calls, row: Row, size: int) -> None:
    """A late answer counts only by its size: its call is already counted as cancelled."""
    calls.answered += size
    calls.largest = max(calls.largest, size)
    if any(note.startswith("late") for note in row.notes):
        return
    calls.errors += row.kind == "error"
    if row.latency is not None:
        calls.latencies.append(row.latency)


def _sizes(rows: Sequence[Row]) -> Iterator[int]:
    """The size of each row on the wire, also where only the head was kept."""
    for row, raw in zip(rows, raws(rows), strict=True):
        yield len(raw) if row.event.oversize is None else row.event.oversize.bytes
