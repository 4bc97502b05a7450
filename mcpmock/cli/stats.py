"""`mcpmock stats`: the counts of `view.stats` as a table or as JSON.

Names of methods and tools are recorded text, so they are hostile and pass through `one_line`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import click

from mcpmock.options.comparison import SharingOptions
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.option import given_flags
from mcpmock.options.views import StatsOptions
from mcpmock.printable import duration, many, printable

from .option_table import TableCommand, options
from .options_files import MANY_FILES, list_files, work_on_each
from .output import (
    can_print,
    data_size,
    drawing_columns,
    one_line,
    say_notices,
    table,
)
from .reports import Report, print_report, refuse_cassettes, write_report

if TYPE_CHECKING:
    from mcpmock.cassette.model import Cassette, Notice
    from mcpmock.view.stats import Calls, Stats, What

_ARROWS = {"c2s": "->", "s2c": "<-"}
_HEADS = ("call", "n", "err", "canc", "open", "prog", "p50", "p99", "asked", "answer")
_BLOCKS, _ASCII_BLOCKS = " ▁▂▃▄▅▆▇█", " .:-=+*%#"
"""From no calls to most of them."""


@click.command(cls=TableCommand)
@MANY_FILES
@options(counting=StatsOptions, sharing=SharingOptions)
def stats(
    files: tuple[str, ...], counting: StatsOptions, sharing: SharingOptions, console: ConsoleOptions
) -> int:
    """Count the calls in cassettes, by method and tool.

    Columns: number of calls (`->` by the client, `<-` by the server), errors (`err`), cancelled
    calls (`canc`), unanswered calls (`open`), progress notifications (`prog`), median and 99th
    percentile of the latency (`p50`, `p99`), total size of requests (`asked`) and answers
    (`answer`). Empty columns are left out. A wide terminal also gets a histogram of the latencies.
    Several cassettes are counted together. A FILE may also hold the output of --json: it is added.

    With --coverage: of the tools, prompts, resources and templates that servers listed, which ones
    were used with success, with which parameters and values; and which tools failed at least once.
    """
    import msgspec

    if counting.coverage:
        return _print_coverage(files, counting, sharing, console)
    if given := given_flags(counting):
        raise click.UsageError(f"{given[0]} goes with --coverage")

    from mcpmock.batch.stats import count_file, lines_of
    from mcpmock.view.stats import Stats

    found = Stats()
    notices: list[Notice] = []
    quiet = console.quiet
    named = list_files(files, sharing.scheduler, quiet=quiet)
    with work_on_each(count_file, named, sharing, quiet=quiet, prints_each=False) as counts:
        for _name, count_of in counts:
            counted = count_of()
            found.include(counted.stats)
            notices += counted.notices
    say_notices(notices, quiet=quiet)
    report = Report(
        lines=chain(_calls_table(found), _notifications_table(found), [_last_line(found)]),
        values=map(msgspec.to_builtins, lines_of(found)),
    )
    return print_report(report, console, always=True, paged=True)


def _print_coverage(
    files: tuple[str, ...], counting: StatsOptions, sharing: SharingOptions, console: ConsoleOptions
) -> int:
    import msgspec

    from mcpmock.batch.coverage import cover_file, lines_of_coverage
    from mcpmock.cassette.model import Notice
    from mcpmock.coverage.bounds import CoverageBounds
    from mcpmock.coverage.coverage import Coverage
    from mcpmock.view.coverage import coverage_lines, coverage_page

    try:
        bounds = CoverageBounds.parse(counting.min)
    except ValueError as error:
        raise click.BadParameter(printable(str(error)), param_hint="--min") from error
    refuse_cassettes(counting.html)
    found, notices = Coverage(), list[Notice]()
    named = list_files(files, sharing.scheduler, quiet=console.quiet)
    with work_on_each(cover_file, named, sharing, quiet=console.quiet, prints_each=False) as each:
        for _name, covered_of in each:
            covered = covered_of()
            found.include(covered.coverage)
            notices += covered.notices
    found.name_the_nameless()
    say_notices(notices, quiet=console.quiet)
    if counting.html is not None:
        write_report(counting.html, coverage_page(found, bounds))
    report = Report(
        status=int(any(bounds.missed(found.counts()))),
        lines=coverage_lines(found, bounds, verbose=console.verbose),
        values=map(msgspec.to_builtins, lines_of_coverage(found, bounds)),
    )
    return print_report(report, console, always=True, paged=True)


def _calls_table(found: Stats) -> Iterator[str]:
    histograms = Histograms(found.calls.values())
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
        rows.append((name, *_format_calls(calls), histograms.draw(calls)))
    yield from table(heads, rows)


def latency_lines(old: Cassette, new: Cassette) -> Iterator[str]:
    """Yield the latencies of each call that both recordings have, one above the other; nothing
    without a wide terminal.
    """
    from mcpmock.view.stats import stats as counted

    if not drawing_columns():
        return
    sides = {"old": counted([old]).calls, "new": counted([new]).calls}
    both = [what for what in sides["old"] if what in sides["new"]]
    histograms = Histograms(side[what] for side in sides.values() for what in both)
    rows: list[Sequence[str]] = []
    for what in both:
        name = _name(what) if what.tool is None else f"{_name(what)} {one_line(what.tool)}"
        for side, calls in sides.items():
            times = _format_times(calls[what])
            rows.append((name, side, *times, histograms.draw(calls[what])))
            name = ""
    if histograms.head:
        yield from table(("call", "", "p50", "p99", histograms.head), rows)
        yield ""


class Histograms:
    """The latencies of each call as a small drawing: a character for each bound, the higher the
    more calls took that long. Empty without a wide terminal.
    """

    def __init__(self, counted: Iterable[Calls]) -> None:
        from mcpmock.view.stats import upper_bounds

        bounds = [bound for calls in counted for bound in calls.histogram()]
        shown = bool(bounds and drawing_columns())
        self._bounds = list(upper_bounds(min(bounds), max(bounds))) if shown else []
        self._levels = _BLOCKS if can_print(_BLOCKS) else _ASCII_BLOCKS
        self.head = f"{duration(min(bounds))}..{duration(max(bounds))}" if shown else ""

    def draw(self, calls: Calls) -> str:
        counted, top = calls.histogram(), len(self._levels) - 1
        most = max(counted.values(), default=1)
        heights = (-(-counted.get(bound, 0) * top // most) for bound in self._bounds)
        return "".join(self._levels[height] for height in heights).ljust(len(self.head))


def _format_times(calls: Calls) -> Iterator[str]:
    """Return median and 99th percentile."""
    for time in (calls.latencies.percentile(0.5), calls.latencies.percentile(0.99)):
        yield "" if time is None else duration(time)


def _format_calls(calls: Calls) -> tuple[str, ...]:
    counts = (calls.errors, calls.cancelled, calls.unanswered, calls.progress)
    return (
        str(calls.count),
        *(str(count or "") for count in counts),
        *_format_times(calls),
        data_size(calls.asked),
        data_size(calls.answered),
    )


def _notifications_table(found: Stats) -> Iterator[str]:
    rows = [
        (_name(what), str(sent.count), data_size(sent.size))
        for what, sent in found.notifications.items()
    ]
    if rows and found.calls:
        yield ""
    yield from table(("notification", "n", "size"), rows)


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
        parts.append(f"{lost} ({data_size(found.lost_bytes)}) not recorded")
    return ", ".join(parts)


def _name(what: What) -> str:
    return f"{_ARROWS[what.direction.value]} {one_line(what.method)}"
