"""`mcpmock show`: a cassette in the terminal, as a timeline, one exchange, frames or a diagram.

`view.timeline` and `view.filter` select the rows; this module lays them out. Everything recorded is
hostile and passes through `printable`.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import attrs
import click

from mcpmock.printable import printable, printable_lines

from .output import (
    BAD,
    CASSETTE,
    GOOD,
    ODD,
    REMARK,
    can_print,
    columns,
    common,
    drawing_columns,
    emit,
    many,
    one_line,
    print_lines,
    say,
    say_notices,
)

if TYPE_CHECKING:
    from mcpmock.cassette.model import Cassette, Event, Take
    from mcpmock.view.filter import Filter
    from mcpmock.view.timeline import Row

_STYLES: dict[str, dict[str, Any]] = {
    "error": {"fg": BAD},
    "gap": {"fg": BAD},
    "opaque": {"fg": ODD},
    "stderr": {"dim": True},
}
_DRAWING_STYLES: dict[str | None, dict[str, Any]] = {
    "c2s": {"fg": GOOD},
    "s2c": {"fg": REMARK},
    None: {},
}
_ARROWS = {"c2s": "->", "s2c": "<-", None: "  "}
_KIND_WORDS = {"notification": "notify"}
_MERMAID_ARROWS = {
    "request": "->>",
    "response": "-->>",
    "error": "--x",
    "notification": "-)",
    "opaque": "->>",
}
_MERMAID_SYNTAX = re.compile(r"[^\w .,/()-]|\bend\b", re.IGNORECASE)
_HTTP_KINDS = ("http", "sse")
_MIN_METHOD_COLUMNS = 30
_MAX_LABEL_CHARS = 60


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
    """Show the events of a cassette.

    Each line is one event: number, time since the start of the take, direction, kind, method and
    id, and a summary of the content. A time in parentheses is the latency of the request; remarks
    are in brackets. `s2` is the second session of the take, `x7` the seventh HTTP exchange.
    With --follow, a FILE that is not there yet is waited for; Ctrl-C ends it.
    """
    from mcpmock.cassette.file import load
    from mcpmock.view.timeline import exchange, timeline

    if json + raw + mermaid > 1:
        raise click.UsageError("--json, --raw and --mermaid are mutually exclusive")
    if follow and (mermaid or id_ is not None):
        raise click.UsageError("--follow shows single events, so it excludes --mermaid and --id")
    event_filter = _parse_filter(expression)
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
    rows = [row for row in rows if event_filter.keeps(row)]
    if json:
        numbers = [row.event.n for row in everything]
        for row in rows:
            emit(_as_json(row, numbers))
    elif raw:
        _write_frames(rows)
    else:
        drawn = _draw_waterfall(everything)
        whole = id_ is not None
        print_lines(_diagram(rows) if mermaid else _timeline(cassette, rows, drawn, whole=whole))
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
    from mcpmock.sessions.watch import POLL_S, FollowedFile
    from mcpmock.view.growing import GrowingTimeline

    if file.exists():
        load(file)  # refuses what is no cassette

    async def print_growth() -> None:
        followed = FollowedFile(file)
        while True:
            data, anew = followed.read()
            if anew:
                growing = GrowingTimeline(Cassette(name=str(file), takes=[]))
                numbers: list[int] = []
                layout, take = _Columns.of_growing(), 0
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
                        take, layout = kept[0].take, _Columns.of_growing()
                        for line in _heading(take, growing.cassette.takes[take - 1]):
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


@attrs.frozen
class _Drawing:
    """The waterfall beside the rows; empty without a terminal."""

    width: int = 0
    scales: dict[int, str] = attrs.field(factory=dict)
    """By take."""
    lines: dict[int, str] = attrs.field(factory=dict)
    """By the identity of the row: a filter leaves out rows and keeps the others."""


def _draw_waterfall(everything: Sequence[Row]) -> _Drawing:
    width = drawing_columns()
    if not width:
        return _Drawing()

    from mcpmock.view.waterfall import ASCII, UNICODE, waterfall

    drawing, first = _Drawing(width), 0
    symbols = UNICODE if can_print("".join(UNICODE)) else ASCII
    for number, group in groupby(everything, key=lambda row: row.take):
        rows = list(group)
        drawn = waterfall(rows, first, width, duration(rows[-1].event.t), symbols)
        drawing.scales[number] = drawn.scale
        drawing.lines.update(zip(map(id, rows), drawn.lines, strict=True))
        first += len(rows)
    return drawing


def _timeline(
    cassette: Cassette, rows: Sequence[Row], drawing: _Drawing, *, whole: bool
) -> Iterator[str]:
    """The rows of each take under a heading; with `whole`, each with its payload."""
    from mcpmock.cassette.model import Gap

    for number, group in groupby(rows, key=lambda row: row.take):
        inside = list(group)
        take = cassette.takes[number - 1]
        gaps = [event.gap for event in take.events if isinstance(event.gap, Gap)]
        lost = f"{many(sum(gap.events for gap in gaps), 'event')} not recorded" if gaps else None
        state = "complete" if take.footer is not None else "incomplete"
        facts = (f"{len(take.events)} events", lost, state)
        yield from _heading(number, take, facts, drawing.scales.get(number, ""))
        for row, line in zip(inside, _Columns(drawing).lines(inside), strict=True):
            yield line
            if whole and not row.item and (payload := _format_payload(row.event)):
                yield indent(payload, "      ")


def _heading(
    number: int, take: Take, facts: Iterable[str | None] = (), drawn: str = ""
) -> Iterator[str]:
    header = take.header
    every = (f"take {number}", header.recorded_at, header.transport, *facts)
    title = "  ".join(one_line(fact) for fact in every if fact)
    yield _beside(title, drawn, bold=True)
    if header.target is not None:
        target = header.target
        yield "  " + one_line(target if isinstance(target, str) else shlex.join(target))


def _beside(text: str, drawn: str, **style: Any) -> str:
    """A line with its part of the drawing at the right edge."""
    from rich.cells import set_cell_size

    if drawn:
        text = set_cell_size(_shorten(text, columns() - len(drawn) - 2), columns() - len(drawn))
    return click.style(text, **style) + drawn.rstrip()


@attrs.define
class _Columns:
    """The rows of a take in columns, as wide as the terminal. The columns only grow."""

    drawing: _Drawing = attrs.field(factory=_Drawing)
    n: int = 0
    time: int = 0
    session: int = 0
    exchange: int = 0
    method: int = 0

    @classmethod
    def of_growing(cls) -> _Columns:
        """Columns for rows that are not known yet."""
        return cls(n=4, time=len("+1.00 ms "), method=_MIN_METHOD_COLUMNS)

    def lines(self, rows: Sequence[Row]) -> Iterator[str]:
        from rich.cells import cell_len

        timed = any(row.event.t for row in rows)
        for row in rows:
            self.n = max(self.n, len(str(row.event.n)))
            self.time = max(self.time, len(_format_time(row)) if timed else 0)
            self.session = max(self.session, len(_format_session(row)))
            self.exchange = max(self.exchange, len(_format_exchange(row)))
        width = columns() - self.drawing.width - (2 if self.drawing.width else 0)
        limit = max(_MIN_METHOD_COLUMNS, width // 4) - self.session - self.exchange
        longest = max(cell_len(_method_and_id(row)) for row in rows)
        self.method = min(max(self.method, longest), limit)
        for row in rows:
            yield self._line(row, _format_time(row) if timed else "", width)

    def _line(self, row: Row, time: str, width: int) -> str:
        from rich.cells import cell_len, set_cell_size

        s, x = _format_session(row), _format_exchange(row)
        place = f"{row.event.n:>{self.n}} {time:>{self.time}}{_ARROWS[row.event.d]}"
        place += f"{s:{self.session}}{x:{self.exchange}}"
        kind, remarks, method = _kind_word(row), _format_remarks(row), _method_and_id(row)
        rest = one_line(f"{remarks}{'' if row.kind in _HTTP_KINDS else row.summary}")
        if rest or cell_len(method) <= self.method:
            method = set_cell_size(method, self.method) + "  "
        left = width - len(place) - 10
        method = _shorten(method, left)
        rest = _shorten(rest, left - cell_len(method))
        drawn = self.drawing.lines.get(id(row), "")
        if drawn:
            rest = set_cell_size(rest, left + 2 - cell_len(method))
        rest = _styled(rest[: len(remarks)], {"fg": REMARK}) + rest[len(remarks) :]
        kind = _styled(kind, _style(row)) + " " * (8 - len(kind))
        drawn = _styled(drawn.rstrip(), _style(row) or _DRAWING_STYLES[row.event.d])
        return f"{place} {kind} {method}{rest}{drawn}".rstrip()


def _format_time(row: Row) -> str:
    return f"+{duration(row.event.t)} "


def _format_session(row: Row) -> str:
    return f" s{row.event.s}" if row.event.s != 1 else ""


def _format_exchange(row: Row) -> str:
    return "" if row.event.x is None else f" x{row.event.x}"


def _shorten(text: str, width: int) -> str:
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= width else set_cell_size(text, width - 3) + "..."


def _kind_word(row: Row) -> str:
    """The kind; of HTTP the first word of the summary: method, status or `event`."""
    word, _, _ = one_line(row.summary).partition(" ")
    return word if row.kind in _HTTP_KINDS else _KIND_WORDS.get(row.kind, row.kind)


def _styled(text: str, style: dict[str, Any]) -> str:
    return click.style(text, **style) if text and style else text


def _style(row: Row) -> dict[str, Any]:
    failed = row.kind == "http" and row.event.d == "s2c" and (row.status or 0) >= 400
    return {"fg": BAD} if failed else _STYLES.get(row.kind, {})


def _method_and_id(row: Row) -> str:
    """The method and the id; of HTTP the rest of the summary."""
    if row.kind in _HTTP_KINDS:
        return one_line(row.summary).partition(" ")[2]
    id_ = "" if row.id is None else f"#{row.id}"
    return one_line(f"{row.method or ''} {id_}")


def _format_remarks(row: Row) -> str:
    latency = "" if row.latency is None else f"({duration(row.latency)}) "
    return latency + (f"[{', '.join(row.notes)}] " if row.notes else "")


def duration(microseconds: int) -> str:
    """As text: `0.6 ms`, `41 ms`, `1.52 s`, `2:03 min`."""
    ms = microseconds / 1000
    if abs(ms) < 1000:
        return f"{ms:.0f} ms" if abs(ms) >= 10 or not ms else f"{ms:.1f} ms"
    if ms < 60_000:
        return f"{ms / 1000:.2f} s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    return f"{minutes}:{seconds:02} min"


def _format_payload(event: Event) -> str:
    """The payload, indented if it is JSON that msgspec can format."""
    import msgspec

    from mcpmock.protocol.raw_json import UNREADABLE
    from mcpmock.view.summary import head_text

    frame = event.frame
    payload = b"" if frame is None else frame.raw or head_text(frame).encode()
    try:
        payload = msgspec.json.format(payload, indent=2)
    except UNREADABLE:
        pass  # shown unformatted
    return printable_lines(payload.decode("utf-8", "backslashreplace"))


def _diagram(rows: Iterable[Row]) -> Iterator[str]:
    """A Mermaid sequence diagram, as GitHub draws it."""
    yield "sequenceDiagram"
    yield "    participant c as client"
    yield "    participant s as server"
    for number, inside in groupby(rows, key=lambda row: row.take):
        yield f"    Note over c,s: take {number}"
        for row in inside:
            yield f"    {_diagram_step(row)}: {_diagram_label(row)}"


def _diagram_step(row: Row) -> str:
    arrow = _MERMAID_ARROWS.get(row.kind)
    if arrow is None:
        return "Note over " + {"c2s": "c", "s2c": "s", None: "s"}[row.event.d]
    return f"c{arrow}s" if row.event.d == "c2s" else f"s{arrow}c"


def _diagram_label(row: Row) -> str:
    """The text of a step, with everything escaped that Mermaid or HTML could interpret."""
    named = row.method is not None or row.kind in _HTTP_KINDS
    head = "" if row.kind in _HTTP_KINDS else _method_and_id(row)
    text = one_line(
        f"{'' if named else row.kind} {head} {_format_remarks(row)}{row.summary[:_MAX_LABEL_CHARS]}"
    )
    return _MERMAID_SYNTAX.sub(lambda found: "".join(f"#{ord(c)};" for c in found[0]), text)
