"""The statistics of one cassette, wherever it is; and statistics as lines of JSON, to be read again
and added up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import attrs
import msgspec

from mcpmock.cassette.file import loaded, named_notices
from mcpmock.cassette.model import Notice
from mcpmock.errors import CassetteError
from mcpmock.histogram import Histogram
from mcpmock.protocol.messages import Direction, decode
from mcpmock.view.stats import Calls, Notifications, Stats, What, stats

from .sources import read_data

LINES_BEGINNING = b'{"type":'
"""Of the lines of statistics; a cassette begins otherwise."""


class HistogramMember(msgspec.Struct):
    """Latencies; each bucket has its upper bound and a count."""

    buckets: list[tuple[int, int]]
    unit: Literal["us"] = "us"


class CallsLine(msgspec.Struct, tag_field="type", tag="calls"):
    """The calls of one method and tool. What a histogram tells is for readers only."""

    direction: Direction
    method: str
    tool: str | None
    count: int
    errors: int
    cancelled: int
    unanswered: int
    progress: int
    p50: int | None
    p99: int | None
    histogram: HistogramMember
    asked: int
    answered: int
    largest: int


class NotificationsLine(msgspec.Struct, tag_field="type", tag="notifications"):
    """The notifications of one method."""

    direction: Direction
    method: str
    count: int
    bytes: int


class StatsLine(msgspec.Struct, tag_field="type", tag="stats"):
    """The last line: the whole."""

    cassettes: int
    takes: int
    events: int
    lost_events: int
    lost_bytes: int
    kinds: dict[str, int]


_COUNTS = (
    "count", "errors", "cancelled", "unanswered", "progress", "asked", "answered", "largest",
)  # fmt: skip
Line = CallsLine | NotificationsLine | StatsLine


@attrs.frozen
class CountedFile:
    """The counts of a file, and what its reader should know."""

    stats: Stats
    notices: Sequence[Notice]


def count_file(file: Path | str) -> CountedFile:
    """Return the counts of the file at this path or URL: a cassette, or statistics of cassettes.
    Raises CassetteError for what cannot be read, is neither or has damage.
    """
    data = read_data(file)
    if data.startswith(LINES_BEGINNING):
        return CountedFile(stats_of(file, data), ())
    cassette = loaded(file, data)
    return CountedFile(stats([cassette]), named_notices(cassette))


def lines_of(found: Stats) -> Iterator[Line]:
    """Yield statistics as objects, each to be a line of JSON."""
    for what, calls in found.calls.items():
        yield CallsLine(
            direction=what.direction,
            method=what.method,
            tool=what.tool,
            **_counts_of(calls),
            p50=calls.latencies.percentile(0.5),
            p99=calls.latencies.percentile(0.99),
            histogram=HistogramMember(sorted(calls.latencies.buckets.items())),
        )
    for what, sent in found.notifications.items():
        yield NotificationsLine(what.direction, what.method, sent.count, sent.size)
    yield StatsLine(
        found.cassettes,
        found.takes,
        found.events,
        found.lost_events,
        found.lost_bytes,
        dict(sorted(found.kinds.items())),
    )


def stats_of(file: Path | str, data: bytes) -> Stats:
    """Return the statistics in lines of JSON; those of several commands may follow each other.
    Raises CassetteError.
    """
    found = Stats()
    for number, raw in enumerate(data.splitlines(), 1):
        try:
            found.include(_stats_of_line(msgspec.convert(decode(raw), Line)))
        except msgspec.ValidationError as error:
            reason = f"is not the output of `mcpmock stats --json`: {error}"
            raise CassetteError(file, reason, line=number) from error
    return found


def _stats_of_line(line: Line) -> Stats:
    match line:
        case CallsLine():
            latencies = Histogram(dict(line.histogram.buckets))
            calls = Calls(**_counts_of(line), latencies=latencies)
            return Stats(calls={What(line.direction, line.method, line.tool): calls})
        case NotificationsLine():
            sent = Notifications(line.count, line.bytes)
            return Stats(notifications={What(line.direction, line.method): sent})
        case StatsLine():
            return Stats(
                line.cassettes,
                line.takes,
                line.events,
                line.lost_events,
                line.lost_bytes,
                kinds=Counter(line.kinds),
            )


def _counts_of(calls: Calls | CallsLine) -> dict[str, int]:
    return {name: getattr(calls, name) for name in _COUNTS}
