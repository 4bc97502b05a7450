"""The Mermaid diagram of `mcpmock show --mermaid`, as GitHub draws it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from .output import one_line
from .show_timeline import HTTP_KINDS, format_remarks, method_and_id

if TYPE_CHECKING:
    from mcpmock.view.timeline import Row

_ARROWS = {
    "request": "->>",
    "response": "-->>",
    "error": "--x",
    "notification": "-)",
    "opaque": "->>",
}
_SYNTAX = re.compile(r"[^\w .,/()-]|\bend\b", re.IGNORECASE)
_MAX_LABEL_CHARS = 60


def diagram(rows: Iterable[Row]) -> Iterator[str]:
    """A Mermaid sequence diagram, as GitHub draws it."""
    yield "sequenceDiagram"
    yield "    participant c as client"
    yield "    participant s as server"
    for number, inside in groupby(rows, key=lambda row: row.take):
        yield f"    Note over c,s: take {number}"
        for row in inside:
            yield f"    {_diagram_step(row)}: {_diagram_label(row)}"


def _diagram_step(row: Row) -> str:
    arrow = _ARROWS.get(row.kind)
    if arrow is None:
        return "Note over " + {"c2s": "c", "s2c": "s", None: "s"}[row.event.d]
    return f"c{arrow}s" if row.event.d == "c2s" else f"s{arrow}c"


def _diagram_label(row: Row) -> str:
    """The text of a step, with everything escaped that Mermaid or HTML could interpret."""
    named = row.method is not None or row.kind in HTTP_KINDS
    head = "" if row.kind in HTTP_KINDS else method_and_id(row)
    text = one_line(
        f"{'' if named else row.kind} {head} {format_remarks(row)}{row.summary[:_MAX_LABEL_CHARS]}"
    )
    return _SYNTAX.sub(lambda found: "".join(f"#{ord(c)};" for c in found[0]), text)
