"""`explore_page`: what `mcpmock explore --json` wrote, as a page.

A grid has messages down and what was tried on them across; each failure is beside its runs. Pure:
`html_page` makes the page, `mcpmock report` stands above.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Literal

import attrs
import msgspec

from mcpmock.cassette import HEADER_START
from mcpmock.printable import many

from .html_page import html_page

_STEPS = {
    "cells": "Cancels",
    "orders": "Orders",
    "resumes": "Lost connections",
    "faults": "Single faults",
    "pairs": "Pairs",
}
_KINDS = ("cell", "order", "resume", "fault", "pair")
_IN_ONE_COLUMN = {"orders", "pairs"}
"""Steps whose kinds are too many for a column each, or say nothing."""
_IN_TIME = (
    "cancel_before_start",
    "cancel_crosses_progress",
    "cancel_during_work",
    "cancel_during_question",
    "cancel_crosses_response",
    "cancel_after_response",
)
"""The cells in the order of a call."""
_START = b'{"type":"'


class ExploreLineError(ValueError):
    """A line that `mcpmock explore --json` does not write; `line` counts from 1."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class _Line(msgspec.Struct, frozen=True):
    """One line, of any type."""

    type: Literal["row", "failure", "baseline", "untried", "summary"]
    n: int = 0
    step: str = ""
    request: Any = None
    message: str | None = None
    cell: str | None = None
    fault: str | None = None
    order: str | None = None
    resume: str | None = None
    pair: str | None = None
    at: str = ""
    reaction: str | None = None
    verdict: str = ""
    oracle: str | None = None
    place: str | None = None
    text: str = ""
    cites: str | None = None
    shrunk: str = ""
    rows: int = 0
    places: list[str] = []
    again: str = ""
    confirmed: bool = True
    cassette: str = ""
    command: str = ""
    why: str = ""
    runs: int = 0
    planned: int = 0
    file: str = ""
    seed: int | None = None
    seconds: float = 0.0

    @property
    def kind(self) -> str:
        found = (getattr(self, name) for name in _KINDS)
        return next((kind for kind in found if kind is not None), self.step)

    @property
    def shown(self) -> str:
        """The message that the run is about."""
        id_ = "" if self.request is None else f" #{self.request}"
        return f"{self.message or self.at}{id_}"


_decoder = msgspec.json.Decoder(_Line)


def is_exploration(start: bytes) -> bool:
    """Return whether a file that starts so was written by `mcpmock explore --json`."""
    return start.startswith(_START) and not start.startswith(HEADER_START)


def explore_page(name: str, data: bytes) -> bytes:
    """Return the page of an exploration. Raises ExploreLineError."""
    lines = list(_lines(data))
    of: dict[str, list[_Line]] = {}
    for line in lines:
        of.setdefault(line.type, []).append(line)
    rows, failures, baseline = (of.get(name, []) for name in ("row", "failure", "baseline"))
    causes: dict[tuple[str | None, str | None], int] = {
        (one.oracle, place): one.n for one in failures for place in one.places or [one.place or ""]
    }
    names = ("n", "shown", "kind", "at", "reaction", "verdict", "oracle")
    runs = [
        [*(getattr(row, name) for name in names), causes.get((row.oracle, row.place))]
        for row in rows
    ]
    summary = of.get("summary", [None])[-1]
    shown = {
        "file": PurePath(name).name,
        "subject": [] if summary is None else list(filter(None, (summary.file, summary.command))),
        "chips": list(_chips(rows, failures, summary)),
        "runs": runs,
        "grids": [one for step in _STEPS if (one := _grid(step, rows)) is not None],
        "happened": _happened(failures, baseline),
        "found": _heading(rows, failures, summary),
        "failures": [_failure(one) for one in failures],
        "baseline": [[one.oracle, one.text] for one in baseline],
        "untried": [[one.message, one.why] for one in of.get("untried", [])],
    }
    return html_page("explore", name, shown)


def _lines(data: bytes) -> Iterator[_Line]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                yield _decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise ExploreLineError(number) from error


def _happened(failures: list[_Line], baseline: list[_Line]) -> str:
    """Return the worst that was found, in a sentence."""
    if failures:
        return ": ".join(filter(None, (failures[0].shrunk, failures[0].text)))
    return f"already as recorded: {baseline[0].text}" if baseline else ""


def _heading(rows: list[_Line], failures: list[_Line], summary: _Line | None) -> str:
    if failures:
        return "Failures"
    if summary is None:
        return "Failures are listed at the end of a run, which is missing here"
    if not rows:
        return "Nothing was run"
    return "Failures" if any(row.verdict == "broken" for row in rows) else "No failures"


def _failure(one: _Line) -> dict[str, Any]:
    names = ("n", "oracle", "place", "text", "cites", "shrunk", "rows", "again", "confirmed")
    more = {"cassette": one.cassette, "command": one.command}
    return {name: getattr(one, name) for name in names} | more


def _chips(
    rows: list[_Line], failures: list[_Line], summary: _Line | None
) -> Iterator[tuple[str, str]]:
    """Yield text and kind of each count in the head."""
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in _VERDICTS}
    yield many(len(rows), "run"), ""
    if summary is None:
        yield "incomplete", "warning"
    else:
        single = sum(row.step != "pairs" for row in rows)
        if single < summary.planned:
            yield f"{many(summary.planned - single, 'planned change')} not run", "warning"
        if summary.seed is not None:
            yield f"seed {summary.seed}", ""
    found = sum(one.confirmed for one in failures)
    if found:
        yield many(found, "failure"), "error"
    yield from (
        (f"{counts[name]} {name}", kind) for name, kind in _VERDICTS.items() if counts[name]
    )


_VERDICTS = {"broken": "error", "odd": "warning", "unreached": "", "ok": "compatible"}
"""The kind of chip of each."""


def _place_of(kind: str) -> int:
    return _IN_TIME.index(kind) if kind in _IN_TIME else len(_IN_TIME)


@attrs.define
class _Grid:
    """Messages down, kinds across; a cell has the indexes of its runs."""

    kinds: dict[str, int] = attrs.field(factory=dict)
    messages: dict[str, dict[int, list[int]]] = attrs.field(factory=dict)


def _grid(step: str, rows: list[_Line]) -> dict[str, Any] | None:
    """Return the grid; None for a step that was not run."""
    grid = _Grid()
    for index, row in enumerate(rows):
        if row.step == step:
            kind = "runs" if step in _IN_ONE_COLUMN else row.kind
            column = grid.kinds.setdefault(kind, len(grid.kinds))
            grid.messages.setdefault(row.shown, {}).setdefault(column, []).append(index)
    if not grid.messages:
        return None
    names = list(grid.kinds)
    columns = sorted(range(len(grid.kinds)), key=lambda column: _place_of(names[column]))
    return {
        "title": _STEPS[step],
        "kinds": [names[column] for column in columns],
        "rows": [
            [message, [cells.get(column, []) for column in columns]]
            for message, cells in grid.messages.items()
        ],
    }
