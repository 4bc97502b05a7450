"""`mcpmock show`: a cassette in the terminal, as a timeline, one exchange, frames or a diagram.

`view.timeline` and `view.filter` select the rows, `show_output` lays them out.
Everything recorded is hostile and passes through `printable`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcpmock.printable import printable, printable_lines

from .output import CASSETTE, common, emit, print_lines, say, say_notices
from .show_output import Columns, diagram, draw_waterfall, heading_lines, timeline_lines

if TYPE_CHECKING:
    from mcpmock.view.filter import Filter
    from mcpmock.view.timeline import Row


@click.command()
@click.argument("file", type=CASSETTE)
@click.option(
    "--filter",
    "expression",
    envvar="MCPMOCK_SHOW_FILTER",
    default="",
    metavar="EXPR",
    help="Show only events that match all terms: method=tools/* tool=get_* kind=error dir=c2s id=7"
    " take=2 s=2 x=7 status=404 text=needle. Values are globs; ! before a term negates it.",
)
@click.option(
    "--id",
    "id_",
    envvar="MCPMOCK_SHOW_ID",
    metavar="ID",
    help="Show one request and everything that belongs to it, with full payloads.",
)
@click.option("--raw", is_flag=True, help="Print the recorded frames, one per line.")
@click.option("--mermaid", is_flag=True, help="Print a sequence diagram for Markdown.")
@click.option("--follow", is_flag=True, help="Go on with what is recorded to FILE from now on.")
@common
def show(
    file: Path,
    expression: str,
    id_: str | None,
    raw: bool,
    mermaid: bool,
    follow: bool,
    quiet: bool,
    verbose: bool,  # noqa: ARG001
    json: bool,
) -> int:
    """Show the events of a cassette; of a folder, of the newest cassette in it.

    Each line is one event: number, time since the start of the take, direction, kind, method and
    id, and a summary of the content. A time in parentheses is the latency of the request; remarks
    are in brackets. `s2` is the second session of the take, `x7` the seventh HTTP exchange.
    With --follow, a FILE that is not there yet is waited for; Ctrl-C ends it.
    """
    from mcpmock.cassette.file import load, newest_cassette
    from mcpmock.view.timeline import exchange, timeline

    if json + raw + mermaid > 1:
        raise click.UsageError("--json, --raw and --mermaid are mutually exclusive")
    if follow and (mermaid or id_ is not None):
        raise click.UsageError("--follow shows single events, so it excludes --mermaid and --id")
    event_filter = _parse_filter(expression)
    if file.is_dir():
        file = newest_cassette(file)
        if not quiet:
            say(f"{file} is the newest recording in this folder")
    if follow:
        return _follow(file, event_filter, json=json, raw=raw)
    cassette = load(file)
    if not quiet:
        say_notices(cassette)
    everything = timeline(cassette)
    rows = everything if id_ is None else exchange(everything, id_)
    if id_ is not None and not rows:
        say(f"{file}: there is no request with the id {id_}")
        return 1
    if event_filter.terms:
        rows = [row for row in rows if event_filter.keeps(row)]
    if json:
        numbers = [row.event.n for row in everything]
        for row in rows:
            emit(_as_json(row, numbers))
    elif raw:
        _write_frames(rows)
    else:
        drawing, whole = draw_waterfall(everything), id_ is not None
        lines = timeline_lines(cassette, rows, drawing, whole=whole)
        print_lines(diagram(rows) if mermaid else lines)
    return 0


def _parse_filter(expression: str) -> Filter:
    from mcpmock.view.filter import Filter

    try:
        return Filter.parse(expression)
    except ValueError as error:
        raise click.UsageError(printable(str(error))) from error


def _follow(file: Path, event_filter: Filter, *, json: bool, raw: bool) -> int:
    """Print the rows of a file as it grows, until a signal ends the process."""
    import trio

    from mcpmock.cassette.file import load
    from mcpmock.cassette.model import Cassette
    from mcpmock.sessions.followed_file import POLL_S, FollowedFile
    from mcpmock.view.growth import GrowingTimeline

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
                        emit(_as_json(row, numbers))
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

    trio.run(print_growth)
    return 0


def _as_json(row: Row, numbers: Sequence[int]) -> dict[str, Any]:
    """For `--json`: what is known about an event, and the event as recorded. `numbers` are the
    event numbers of all rows.
    """
    return {
        "type": "event",
        "take": row.take,
        "n": row.event.n,
        "kind": row.kind,
        "method": row.method,
        "id": row.id,
        "tool": row.tool,
        "status": row.status,
        "latency": row.latency,
        "call": None if row.call is None else numbers[row.call],
        "summary": row.summary,
        "notes": row.notes,
        "event": row.event,
    }


def _write_frames(rows: Iterable[Row]) -> None:
    """Frame after frame: byte for byte, but escaped on a terminal."""
    events = {id(row.event): row.event for row in rows}.values()
    for payload in (event.payload for event in events):
        if payload is None:
            continue
        if sys.stdout.isatty():
            click.echo(printable_lines(payload.decode("utf-8", "backslashreplace")))
        else:
            click.echo(payload)
