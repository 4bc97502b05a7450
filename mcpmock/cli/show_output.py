"""What `mcpmock show` prints: rows in columns, on a wide terminal with a waterfall beside them, or
a Mermaid diagram as GitHub draws it.

Everything recorded is hostile and passes through `printable`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby, islice
from textwrap import indent
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs
import click

from mcpmock.printable import duration, many, printable, printable_lines, shell_command
from mcpmock.view.summary import MAX_SUMMARY_CHARS, brief
from mcpmock.view.timeline import REFUSED

from .output import (
    BAD,
    GOOD,
    MAX_ALIGNED_COLUMNS,
    ODD,
    REMARK,
    UNLIMITED,
    can_print,
    cells,
    columns,
    drawing_columns,
    fill,
    fit,
    is_styled,
    one_line,
    shorten,
    text_limit,
)

if TYPE_CHECKING:
    from mcpmock.cassette.model import Cassette, Event, Take
    from mcpmock.view.timeline import Row, Timeline

_STYLES: dict[str, dict[str, Any]] = {
    "request": {"fg": REMARK},
    "response": {"fg": GOOD},
    "error": {"fg": BAD},
    "notification": {"fg": ODD},
    "gap": {"fg": BAD},
    "opaque": {"fg": ODD},
    "fault": {"fg": ODD},
    "stderr": {"dim": True},
}
_DIM: dict[str, Any] = {"dim": True}
_BOLD: dict[str, Any] = {"bold": True}
_REMARK: dict[str, Any] = {"fg": REMARK}
_PLAIN: dict[str, Any] = {}
_ARROWS = {"c2s": "->", "s2c": "<-", None: "  "}
_KIND_WORDS = {"notification": "notify"}
_HTTP_KINDS = ("http", "sse")
_HTTP_ERROR = 400
_MIN_METHOD_COLUMNS = 30
_DIAGRAM_ARROWS = {
    "request": "->>",
    "response": "-->>",
    "error": "--x",
    "notification": "-)",
    "opaque": "->>",
}
_ROWS_ALIGNED = 1000
"""So many rows are read before the first is printed. Behind them columns may grow."""
_SYNTAX = re.compile(r"[^\w .,/()-]|\bend\b", re.IGNORECASE)
_MAX_LABEL_CHARS = 60


@attrs.frozen
class Drawing:
    """The waterfall beside the rows; empty without a terminal."""

    width: int = 0
    scales: dict[int, str] = attrs.field(factory=dict)
    """By take."""
    lines: Sequence[str] = ()
    """By the index of the row among all rows."""


def draw_waterfall(everything: Timeline) -> Drawing:
    width = drawing_columns()
    if not width:
        return Drawing()

    from mcpmock.view.lanes import ASCII, UNICODE, waterfall

    scales: dict[int, str] = {}
    lines: list[str] = []
    symbols = UNICODE if can_print("".join(UNICODE)) else ASCII
    for number, rows in everything.by_take():
        drawn = waterfall(rows, len(lines), width, duration(rows[-1].event.t), symbols)
        scales[number] = drawn.scale
        lines += drawn.lines
    return Drawing(width, scales, lines)


def fold_http(rows: Timeline) -> Timeline:
    """Return the rows without the heads and ends of HTTP exchanges that went well: their messages
    tell what crossed.
    """
    return rows.where(lambda row: not _is_folded(row)) if rows.has_exchanges else rows


def _is_folded(row: Row) -> bool:
    if row.event.x is None or ((row.status or 0) >= _HTTP_ERROR and REFUSED not in row.notes):
        return False
    empty = row.kind == "opaque" and not row.size  # an SSE event without data
    return empty or row.kind in _HTTP_KINDS or (row.kind == "end" and row.event.end == "eof")


def timeline_lines(
    cassette: Cassette,
    rows: Timeline,
    drawing: Drawing,
    *,
    whole: bool,
    folded: Mapping[int, int] = MappingProxyType({}),
) -> Iterator[str]:
    """Yield the rows of each take under a heading; with `whole`, each with its payload. `folded` is
    how many rows of a take are left out.
    """
    for number, inside in rows.by_take():
        take = cassette.takes[number - 1]
        gaps = rows.gaps(number)
        lost = f"{many(sum(gap.events for gap in gaps), 'event')} not recorded" if gaps else None
        state = "complete" if take.footer is not None else "incomplete"
        hidden = folded.get(number, 0)
        more = f"{many(hidden, 'event')} of HTTP folded (-v shows them)" if hidden else None
        facts = (many(len(take.events), "event"), lost, state, more)
        yield from heading_lines(number, take, facts, drawing.scales.get(number, ""))
        last = inside[-1].event
        layout = Columns(drawing, n=len(str(last.n)), timed=last.t != 0)
        for row, line in _laid_out(layout, inside):
            yield line
            if whole and not row.item and (payload := _format_payload(row.event)):
                yield indent(payload, "      ")


def _laid_out(layout: Columns, rows: Iterable[Row]) -> Iterator[tuple[Row, str]]:
    left = iter(rows)
    while together := list(islice(left, _ROWS_ALIGNED)):
        yield from zip(together, layout.lines(together), strict=True)


def heading_lines(
    number: int, take: Take, facts: Iterable[str | None] = (), drawn: str = ""
) -> Iterator[str]:
    header = take.header
    every = (f"take {number}", header.recorded_at, header.transport, *facts)
    title = "  ".join(one_line(fact) for fact in every if fact)
    yield _beside(title, drawn, bold=True)
    if header.target is not None:
        target = header.target
        yield "  " + one_line(target if isinstance(target, str) else shell_command(target))


def _beside(text: str, drawn: str, **style: Any) -> str:
    """Return a line with its part of the drawing at the right edge."""
    if drawn:
        text = fit(shorten(text, columns() - len(drawn) - 2), columns() - len(drawn))
    return click.style(text, **style) + drawn.rstrip()


@attrs.define
class Columns:
    """The rows of a take in columns, as wide as the terminal. The columns only grow."""

    drawing: Drawing = attrs.field(factory=Drawing)
    n: int = 0
    time: int = 0
    session: int = 0
    exchange: int = 0
    method: int = 0
    width: int = attrs.field(factory=columns)
    most: int | None = attrs.field(factory=text_limit)
    """How many characters of a text are shown."""
    timed: bool = False
    styled: bool = attrs.field(factory=is_styled)

    @classmethod
    def of_growing(cls) -> Columns:
        """Return columns for rows that are not known yet."""
        return cls(n=4, time=len("+1.00 ms "), method=_MIN_METHOD_COLUMNS)

    def lines(self, rows: Sequence[Row]) -> Iterator[str]:
        """Yield these rows, for which the columns grow as they need."""
        self.timed = self.timed or any(row.event.t for row in rows)
        times = [f"+{duration(row.event.t)} " if self.timed else "" for row in rows]
        methods = [_method_and_id(row, self.most) for row in rows]
        self.n = max(self.n, *(len(str(row.event.n)) for row in rows))
        self.time = max(self.time, *map(len, times))
        self.session = max(self.session, *(len(_format_session(row)) for row in rows))
        self.exchange = max(self.exchange, *(len(_format_exchange(row)) for row in rows))
        limit = min(max(_MIN_METHOD_COLUMNS, self._left // 4), MAX_ALIGNED_COLUMNS)
        limit -= self.session + self.exchange
        self.method = min(max(self.method, *map(cells, methods)), limit)
        yield from map(self._line, rows, times, methods)

    @property
    def _left(self) -> int:
        """How wide a row may be beside the drawing."""
        return self.width - self.drawing.width - (2 if self.drawing.width else 0)

    def _line(self, row: Row, time: str, method: str) -> str:
        place = f"{str(row.event.n).rjust(self.n)} {time.rjust(self.time)}"
        way = _ARROWS[row.event.d]
        if self.session or self.exchange:
            way += _format_session(row).ljust(self.session)
            way += _format_exchange(row).ljust(self.exchange)
        kind, remarks = _kind_word(row), _format_remarks(row)
        tool = "" if row.tool is None else _name(row.tool, self.most)
        text = "" if row.kind in _HTTP_KINDS else row.summarize(self.most)
        if tool and row.kind in ("response", "error"):
            text = f"{tool}: {text}"
        rest = printable(f"{remarks}{text}").rstrip()
        drawn = self.drawing.lines[row.place] if self.drawing.lines else ""
        if self.width == UNLIMITED:
            method = fill(method, self.method) + "  "
        else:
            if rest or cells(method) <= self.method:
                method = fit(method, self.method) + "  "
            left = self._left - len(place) - len(way) - 10
            method = shorten(method, left)
            rest = shorten(rest, left - cells(method))
            if drawn:
                rest = fit(rest, left + 2 - cells(method))
        kind = f"{kind:8}"
        if self.styled:
            style = _style(row)
            way, kind, drawn = _styled(way, _DIM), _styled(kind, style), _styled(drawn, style)
            if row.id is not None:
                name, mark, id_ = method.rpartition(" #")
                method = name + _styled(mark + id_, _DIM)
            rest = _styled(rest[: len(remarks)], _REMARK) + _emphasized(rest[len(remarks) :], tool)
        return f"{place}{way} {kind} {method}{rest}{drawn}".rstrip()


def _emphasized(text: str, tool: str) -> str:
    """Return a text with the name of the tool at its start in bold."""
    return _styled(tool, _BOLD) + text[len(tool) :] if tool and text.startswith(tool) else text


def _format_session(row: Row) -> str:
    return f" s{row.event.s}" if row.event.s != 1 else ""


def _format_exchange(row: Row) -> str:
    return "" if row.event.x is None else f" x{row.event.x}"


def _kind_word(row: Row) -> str:
    """Return the kind; of HTTP the first word of the summary: method, status or `event`."""
    if row.kind in _HTTP_KINDS:
        return printable(row.summary).partition(" ")[0]
    return _KIND_WORDS.get(row.kind, row.kind)


def _styled(text: str, style: dict[str, Any]) -> str:
    """Leave the spaces at the end without the style."""
    bare = text.rstrip()
    if not bare or not style:
        return text
    before, after = _codes(**style)
    return f"{before}{bare}{after}{text[len(bare) :]}"


@cache
def _codes(**style: Any) -> list[str]:
    """Return what switches a style on and off; there are few of them, and many rows."""
    return click.style("\0", **style).split("\0")


def _style(row: Row) -> dict[str, Any]:
    if row.kind != "http":
        return _STYLES.get(row.kind, _PLAIN)
    failed = row.event.d == "s2c" and (row.status or 0) >= 400 and REFUSED not in row.notes
    return {"fg": BAD} if failed else _PLAIN


def _method_and_id(row: Row, most: int | None) -> str:
    """Return the method and the id; of HTTP the rest of the summary."""
    if row.kind in _HTTP_KINDS:
        return printable(row.summarize(most)).partition(" ")[2]
    if row.id is not None and row.id.isascii() and row.id.isdigit() and row.method:
        text = f"{_name(row.method, most)} #{row.id}"
        if most is None or len(text) <= most:
            return text
    id_ = "" if row.id is None else f"#{row.id}"
    return printable(brief(f"{row.method or ''} {id_}", most))


@lru_cache(maxsize=1000)
def _name(name: str, most: int | None) -> str:
    """Return a method or a tool; there are few of them, and many rows."""
    return printable(brief(name, most))


def _format_remarks(row: Row) -> str:
    latency = "" if row.latency is None else f"({duration(row.latency)}) "
    return latency + (f"[{', '.join(row.notes)}] " if row.notes else "")


def _format_payload(event: Event) -> str:
    """Return the payload, indented if it is JSON that msgspec can format."""
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


def diagram(rows: Iterable[Row]) -> Iterator[str]:
    """Yield a Mermaid sequence diagram."""
    yield "sequenceDiagram"
    yield "    participant c as client"
    yield "    participant s as server"
    for number, inside in groupby(rows, key=lambda row: row.take):
        yield f"    Note over c,s: take {number}"
        for row in inside:
            yield f"    {_diagram_step(row)}: {_diagram_label(row)}"


def _diagram_step(row: Row) -> str:
    arrow = _DIAGRAM_ARROWS.get(row.kind)
    if arrow is None:
        return "Note over " + {"c2s": "c", "s2c": "s", None: "s"}[row.event.d]
    return f"c{arrow}s" if row.event.d == "c2s" else f"s{arrow}c"


def _diagram_label(row: Row) -> str:
    """Return the text of a step, with everything escaped that Mermaid or HTML could interpret."""
    named = row.method is not None or row.kind in _HTTP_KINDS
    head = "" if row.kind in _HTTP_KINDS else _method_and_id(row, MAX_SUMMARY_CHARS)
    text = one_line(
        f"{'' if named else row.kind} {head} {_format_remarks(row)}{row.summary[:_MAX_LABEL_CHARS]}"
    )
    return _SYNTAX.sub(lambda found: "".join(f"#{ord(c)};" for c in found[0]), text)
