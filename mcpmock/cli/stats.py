"""`mcpmock stats`: the counts of `view.stats` as a table or as JSON.

Names of methods and tools are recorded text, so they are hostile and pass through `one_line`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options_files import with_siblings
from .output import (
    CASSETTE,
    can_print,
    columns,
    common,
    counts,
    drawing_columns,
    duration,
    emit,
    many,
    one_line,
    print_lines,
    say_notices,
)

if TYPE_CHECKING:
    from mcpmock.cassette.model import Cassette
    from mcpmock.view.stats import Calls, Stats, What

_ARROWS = {"c2s": "->", "s2c": "<-"}
_UNITS = ("kB", "MB", "GB")
_HEADS = ("call", "n", "err", "canc", "open", "prog", "p50", "p99", "asked", "answer")
_BLOCKS, _ASCII_BLOCKS = " ▁▂▃▄▅▆▇█", " .:-=+*%#"
"""From no calls to most of them."""


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=CASSETTE)
@common
def stats(files: tuple[Path, ...], quiet: bool, verbose: bool, json: bool) -> int:  # noqa: ARG001
    """Count the calls in cassettes, by method and tool.

    Columns: number of calls (`->` by the client, `<-` by the server), errors (`err`), cancelled
    calls (`canc`), unanswered calls (`open`), progress notifications (`prog`), median and 99th
    percentile of the latency (`p50`, `p99`), total size of requests (`asked`) and answers
    (`answer`). Empty columns are left out. A wide terminal also gets a histogram of the latencies.
    Several cassettes are counted together.
    """
    from mcpmock.view.stats import stats as counted

    found = counted(_load_each(files, quiet=quiet))
    if json:
        for value in _as_json(found):
            emit(value)
        return 0
    print_lines((*_calls_table(found), *_notifications_table(found), _last_line(found)))
    return 0


def _load_each(files: Iterable[Path], *, quiet: bool) -> Iterator[Cassette]:
    """One cassette after the other, so that only one is in memory."""
    from mcpmock.cassette.file import load_alone

    for file in with_siblings(files, quiet=quiet):
        cassette = load_alone(file)
        if not quiet:
            say_notices(cassette)
        yield cassette


def _as_json(found: Stats) -> Iterator[dict[str, Any]]:
    for what, calls in found.calls.items():
        yield {
            "type": "calls",
            **_named(what),
            "tool": what.tool,
            "count": calls.count,
            "errors": calls.errors,
            "cancelled": calls.cancelled,
            "unanswered": calls.unanswered,
            "progress": calls.progress,
            "p50": calls.percentile(0.5),
            "p99": calls.percentile(0.99),
            "histogram": {"unit": "us", "buckets": list(calls.histogram().items())},
            "asked": calls.asked,
            "answered": calls.answered,
            "largest": calls.largest,
        }
    for what, sent in found.notifications.items():
        yield {"type": "notifications", **_named(what), "count": sent.count, "bytes": sent.size}
    names = ("cassettes", "takes", "events", "lost_events", "lost_bytes")
    yield {"type": "stats", **counts(found, *names), "kinds": dict(sorted(found.kinds.items()))}


def _named(what: What) -> dict[str, Any]:
    return {"direction": what.direction.value, "method": what.method}


def _calls_table(found: Stats) -> Iterator[str]:
    histograms = _Histograms(found)
    heads = [*_HEADS, histograms.head]
    rows: list[Sequence[str]] = []
    above = None
    for what, calls in found.calls.items():
        name = _name(what)
        if what.tool is not None:
            if above != what[:2]:  # the method once, and its tools below it
                rows.append((name, *[""] * (len(heads) - 1)))
            name = f"     {one_line(what.tool)}"
        above = what[:2]
        rows.append((name, *_format_calls(calls), histograms.draw(what)))
    yield from _table(heads, rows)


class _Histograms:
    """The latencies of each call as a small drawing: a character for each bound, the higher the
    more calls took that long. Empty without a wide terminal.
    """

    def __init__(self, found: Stats) -> None:
        from mcpmock.view.stats import upper_bounds

        self._counted = {what: calls.histogram() for what, calls in found.calls.items()}
        bounds = [bound for counted in self._counted.values() for bound in counted]
        shown = bool(bounds and drawing_columns())
        self._bounds = list(upper_bounds(min(bounds), max(bounds))) if shown else []
        self._levels = _BLOCKS if can_print(_BLOCKS) else _ASCII_BLOCKS
        self.head = f"{duration(min(bounds))}..{duration(max(bounds))}" if shown else ""

    def draw(self, what: What) -> str:
        counted, top = self._counted[what], len(self._levels) - 1
        most = max(counted.values(), default=1)
        heights = (-(-counted.get(bound, 0) * top // most) for bound in self._bounds)
        return "".join(self._levels[height] for height in heights).ljust(len(self.head))


def _format_calls(calls: Calls) -> tuple[str, ...]:
    counts = (calls.errors, calls.cancelled, calls.unanswered, calls.progress)
    times = (calls.percentile(0.5), calls.percentile(0.99))
    return (
        str(calls.count),
        *(str(count or "") for count in counts),
        *("" if time is None else duration(time) for time in times),
        _format_bytes(calls.asked),
        _format_bytes(calls.answered),
    )


def _notifications_table(found: Stats) -> Iterator[str]:
    rows = [
        (_name(what), str(sent.count), _format_bytes(sent.size))
        for what, sent in found.notifications.items()
    ]
    if rows and found.calls:
        yield ""
    yield from _table(("notification", "n", "size"), rows)


def _last_line(found: Stats) -> str:
    parts = [
        many(found.cassettes, "cassette"),
        many(found.takes, "take"),
        many(found.events, "event"),
    ]
    if opaque := found.kinds["opaque"]:
        parts.append(f"{opaque} not JSON-RPC")
    if found.kinds["gap"]:
        lost = many(found.lost_events, "event")
        parts.append(f"{lost} ({_format_bytes(found.lost_bytes)}) not recorded")
    return ", ".join(parts)


def _name(what: What) -> str:
    return f"{_ARROWS[what.direction.value]} {one_line(what.method)}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as needed, without empty ones. A name that is too long stands on a line
    of its own, above its numbers.
    """
    from rich.cells import cell_len, set_cell_size

    kept = [place for place in range(1, len(heads)) if any(row[place] for row in rows)]
    widths = [max(len(row[place]) for row in (heads, *rows)) for place in kept]
    left = columns() - sum(widths) - 2 * len(widths)
    fitting = [width for row in (heads, *rows) if (width := cell_len(row[0])) <= left]
    for row in (heads, *rows) if rows else ():
        name, numbers = row[0], [row[place] for place in kept]
        if cell_len(name) > left:
            yield name
            name = ""
        cells = (f"{cell:>{width}}" for cell, width in zip(numbers, widths, strict=True))
        line = "  ".join([set_cell_size(name, max(fitting)), *cells]).rstrip()
        if line:
            yield line


def _format_bytes(size: int) -> str:
    """As text: `847 B`, `1.2 kB`, `34 MB`."""
    if size < 1000:
        return f"{size} B"
    number, units = size / 1000, list(_UNITS)
    while number >= 999.5 and len(units) > 1:
        number /= 1000
        del units[0]
    return f"{number:.0f} {units[0]}" if number >= 9.95 else f"{number:.1f} {units[0]}"
