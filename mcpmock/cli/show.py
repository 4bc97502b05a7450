"""`mcpmock show`: a cassette in the terminal, as a timeline, one exchange, frames or a diagram.

`view.timeline` and `view.filter` select the rows, `show_output` lays them out.
Everything recorded is hostile and passes through `printable`.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcpmock.options.console import ConsoleOptions
from mcpmock.options.views import ShowOptions
from mcpmock.printable import printable, printable_lines

from .interrupts import run_trio
from .option_table import options
from .output import CASSETTE, emit, print_lines, say, say_notices, say_waiting
from .show_output import Columns, diagram, draw_waterfall, fold_http, heading_lines, timeline_lines

if TYPE_CHECKING:
    from mcpmock.view.filter import Filter
    from mcpmock.view.timeline import Row


@click.command()
@click.argument("file", type=CASSETTE)
@options(showing=ShowOptions)
def show(file: Path, showing: ShowOptions, console: ConsoleOptions) -> int:
    """Show the events of a cassette; of a folder, of the newest cassette in it.

    Each line is one event: number, time since the start of the take, direction, kind, method and
    id, and a summary of the content. A time in parentheses is the latency of the request; remarks
    are in brackets. `s2` is the second session of the take, `x7` the seventh HTTP exchange.
    Over HTTP, heads and ends of exchanges that went well are folded; -v or a filter shows them.
    With --follow, a FILE that is not there yet is waited for; Ctrl-C ends it.
    """
    from mcpmock.cassette.file import load, newest_cassette
    from mcpmock.view.timeline import exchange, timeline, value_of

    request = showing.request
    if console.json + showing.raw + showing.mermaid > 1:
        raise click.UsageError("--json, --raw and --mermaid are mutually exclusive")
    if showing.follow and (showing.mermaid or request is not None):
        raise click.UsageError("--follow shows single events, so it excludes --mermaid and --id")
    event_filter = _parse_filter(showing.expression or "")
    if file.is_dir():
        file = newest_cassette(file)
        if not console.quiet:
            say(f"{file} is the newest recording in this folder")
    if showing.follow:
        if not file.exists():
            say_waiting(f"waiting for {file}, which is not there yet", console)
        return _follow(file, event_filter, json=console.json, raw=showing.raw)
    cassette = load(file)
    say_notices(cassette.notices, cassette.name, quiet=console.quiet)
    everything = timeline(cassette)
    rows = everything if request is None else exchange(everything, request)
    if request is not None and not rows:
        say(f"{file}: there is no request with the id {request}")
        return 1
    if event_filter.terms:
        there = rows
        rows = rows.where(event_filter.keeps)
        if not rows and not console.quiet:
            say(_nothing_matches(event_filter, there))
    if console.json:
        numbers = array("q", (row.event.n for row in everything))
        for row in rows:
            emit(value_of(row, numbers))
    elif showing.raw:
        _write_frames(rows)
    else:
        drawing, whole = draw_waterfall(everything), request is not None
        folded: Counter[int] = Counter()
        if not (console.verbose or whole or event_filter.terms):
            kept = fold_http(rows)
            folded.update({number: len(inside) for number, inside in rows.by_take()})
            folded.subtract({number: len(inside) for number, inside in kept.by_take()})
            rows = kept
        lines = timeline_lines(cassette, rows, drawing, whole=whole, folded=folded)
        print_lines(diagram(rows) if showing.mermaid else lines)
    return 0


def _parse_filter(expression: str) -> Filter:
    from mcpmock.view.filter import Filter

    try:
        return Filter.parse(expression)
    except ValueError as error:
        raise click.UsageError(printable(str(error))) from error


def _nothing_matches(event_filter: Filter, rows: Sequence[Row]) -> str:
    """Return what a filter could have named: the values that are there, of each of its terms."""
    from mcpmock.view.filter import values_there

    there = values_there(event_filter, rows)
    known = "; ".join(f"{name} here: {', '.join(values) or 'none'}" for name, values in there)
    return f"nothing matches; {known}" if known else "nothing matches"


def _follow(file: Path, event_filter: Filter, *, json: bool, raw: bool) -> int:
    """Print the rows of a file as it grows, until a signal ends the process."""
    import trio

    from mcpmock.cassette.file import load
    from mcpmock.cassette.model import Cassette
    from mcpmock.sessions.watch import POLL_S, FollowedFile
    from mcpmock.view.live import GrowingTimeline
    from mcpmock.view.timeline import value_of

    if file.exists():
        load(file)  # refuses another file

    async def print_growth() -> None:
        followed = FollowedFile(file)
        while True:
            data, anew = followed.read()
            if anew:
                growing = GrowingTimeline(Cassette(name=str(file), takes=[]))
                numbers: list[int] = []
                layout, take = Columns.of_growing(), 0
            for event, rows in growing.feed(data) if data else ():
                numbers += [event.n] * len(rows)
                kept = [row for row in rows if event_filter.keeps(row)]
                if json:
                    for row in kept:
                        emit(value_of(row, numbers))
                elif raw:
                    _write_frames(kept)
                elif kept:
                    if kept[0].take != take:
                        take, layout = kept[0].take, Columns.of_growing()
                        for line in heading_lines(take, growing.cassette.takes[take - 1]):
                            click.echo(line)
                    for line in layout.lines(kept):
                        click.echo(line)
            sys.stdout.flush()
            await trio.sleep(0 if data else POLL_S)

    run_trio(print_growth)
    return 0


def _write_frames(rows: Iterable[Row]) -> None:
    """Frame after frame: byte for byte, but escaped on a terminal."""
    before = None
    for row in rows:
        payload, again = row.event.payload, row.event is before  # of a batch are several rows
        before = row.event
        if payload is None or again:
            continue
        if sys.stdout.isatty():
            click.echo(printable_lines(payload.decode("utf-8", "backslashreplace")))
        else:
            click.echo(payload)
