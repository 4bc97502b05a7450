"""What a recording shows of a cancellation race: the cells that fit, the reaction, a drawing.

A recorder in the middle saw p messages of the call pass before the cancel did. The client had then
received i <= p of them when it cancelled, and the server had sent j >= p when the cancel arrived:
these cells fit. The receipt of a `cancel_race` fault names the very cell. `faults.races.grid` has
the theory, `report` stands above.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import attrs
from msgspec import UNSET

from mcpmock.faults.races.grid import Cell, cells
from mcpmock.protocol.correlation import CANCELLED

from .timeline import Row

MAX_GRID_MESSAGES = 7
"""Of longer calls the grid is not shown."""
_MAX_DRAWN = 24
_WORDS = {"error": "error", "response": "result", "notification": "progress"}


@attrs.frozen
class SeenRace:
    """A cancelled call."""

    call: int
    """The row index of its request."""
    messages: tuple[str, ...]
    """What its responder sent, in order: `progress`, `result`, `error`."""
    before: int
    """How many of them had passed the recorder when the cancel did."""
    exact: Cell | None = None
    """The cell that the fault's receipt names."""
    receipt_reaction: str | None = None

    @property
    def reaction(self) -> str:
        runs = [(word, len(list(run))) for word, run in groupby(self.messages[self.before :])]
        late = ", then ".join(word if n == 1 else f"{n} x {word}" for word, n in runs)
        return self.receipt_reaction or late or "silent"

    def fits(self, cell: Cell) -> bool:
        if self.exact is not None:
            return (cell.i, cell.j) == (self.exact.i, self.exact.j)
        return cell.i <= self.before <= cell.j

    def grid(self) -> list[tuple[int, int, str, bool]]:
        """i, j, name of each cell, and whether it fits; empty for a long call."""
        if len(self.messages) > MAX_GRID_MESSAGES:
            return []
        return [(c.i, c.j, c.name, self.fits(c)) for c in cells(len(self.messages))]

    @property
    def summary(self) -> str:
        count = len(self.messages)
        if self.exact is not None:
            at = f"i = {self.exact.i}, j = {self.exact.j}"
            return f"Cell {self.exact.name} ({at}). Reaction: {self.reaction}."
        seen = f"{self.before} of {count} message{'' if count == 1 else 's'}"
        after = f"After the cancel: {self.reaction}."
        return f"As seen at the recorder: {seen} had passed when the cancel did. {after}"


def seen_races(rows: Sequence[Row], start: int = 0) -> list[SeenRace]:
    """Return the calls that were cancelled from the row `start` on, in the order of their
    cancels.
    """
    recent = range(start, len(rows))
    cancels = {
        call: place
        for place in reversed(recent)
        if rows[place].method == CANCELLED and (call := rows[place].call) is not None
    }
    if not cancels:
        return []
    sent: dict[int, list[int]] = {call: [] for call in cancels}
    receipts: dict[tuple[int, str], dict[str, Any]] = {}
    for place in range(min(cancels), len(rows)):
        row = rows[place]
        fault = row.event.fault
        if fault is not UNSET and isinstance(fault, dict) and fault.get("kind") == "cancel_race":
            receipts[row.take, str(fault.get("id"))] = fault
        if row.call in sent and row.call != place and row.direction != rows[row.call].direction:
            sent[row.call].append(place)
    return [
        _seen_race(rows, call, cancels[call], sent[call], receipts)
        for call in sorted(cancels, key=lambda call: cancels[call])
    ]


def _seen_race(
    rows: Sequence[Row],
    call: int,
    cancel: int,
    sent: Sequence[int],
    receipts: dict[tuple[int, str], dict[str, Any]],
) -> SeenRace:
    messages = tuple(_WORDS[rows[place].kind] for place in sent if rows[place].kind in _WORDS)
    before = sum(place < cancel for place in sent)
    receipt = receipts.get((rows[call].take, rows[call].id or ""), {})
    drawn = receipt.get("drawn") or {}
    i, j = drawn.get("i"), drawn.get("j")
    exact = None
    if isinstance(i, int) and isinstance(j, int) and 0 <= i <= j <= max(len(messages), j):
        exact = Cell(i, j, max(len(messages), j))
    reaction = receipt.get("reaction") or drawn.get("reaction")
    return SeenRace(call, messages, before, exact, reaction if isinstance(reaction, str) else None)


_Shape = tuple[str, dict[str, Any], str]
"""An SVG element: its tag, attributes, text."""
_LEFT, _TOP, _MIDDLE, _BOTTOM = 108, 20, 70, 120
_MAX_GAP, _WIDTH = 40, 430


def drawing(race: SeenRace) -> dict[str, Any]:
    """Draw three rows: what the server sent, what crossed at the recorder, what the client
    received.
    """
    messages = race.messages[:_MAX_DRAWN]
    before = min(race.before, len(messages))
    gap = min(_MAX_GAP, _WIDTH // (len(messages) + 2))
    width = _LEFT + gap * (len(messages) + 2)
    shapes: list[_Shape] = []
    rows = ((_TOP, "sent"), (_MIDDLE, "at the recorder"), (_BOTTOM, "received"))
    for y, name in rows:
        shapes.append(("text", {"x": 0, "y": y + 4, "class": "dim"}, name))
        shapes.append(("line", {"x1": 96, "x2": width, "y1": y, "y2": y, "class": "axis"}, ""))
    slant = gap * 0.4
    places = [_LEFT + gap * (at + (at >= before) + 0.5) for at in range(len(messages))]
    named = None  # a run of one word is labelled once
    for x, word in zip(places, messages, strict=True):
        ends = {"x1": x - slant, "y1": _TOP, "x2": x + slant, "y2": _BOTTOM}
        shapes.append(("line", {**ends, "class": word}, ""))
        shapes.append(("circle", {"cx": x, "cy": _MIDDLE, "r": 3, "class": word}, ""))
        if word != named:
            label = {"x": x - slant, "y": _TOP - 7, "text-anchor": "middle"}
            shapes.append(("text", label, named := word))
    cancel = _LEFT + gap * (before + 0.5)
    start, end = cancel - slant, cancel + slant
    if race.exact is not None:  # it was sent behind the i-th receipt, and arrived behind the j-th
        i, j = min(race.exact.i, len(places)), min(race.exact.j, len(places))
        start = min(start, places[i - 1] + slant + 4) if i else _LEFT - 6
        end = max(end, places[j - 1] - slant + 4) if j else end
    points = f"{start},{_BOTTOM} {cancel},{_MIDDLE} {end},{_TOP}"
    shapes.append(("polyline", {"points": points, "class": "cancel"}, ""))
    shapes.append(("circle", {"cx": cancel, "cy": _MIDDLE, "r": 4, "class": "cancel"}, ""))
    shapes.append(("text", {"x": start, "y": _BOTTOM + 15, "text-anchor": "middle"}, "cancel"))
    return {"width": width, "shapes": shapes}
