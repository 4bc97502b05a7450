"""The grid of cancellation races: one request, one cancel, and an ordered pipe each way.

The responder emits k messages for a request (progress, and the response last). i of them the
requester had consumed when it sent the cancel; j of them the responder had emitted when the cancel
reached it. The order on each pipe forces 0 <= i <= j <= k, every such pair can happen, and there
are no others: (k + 1) (k + 2) / 2 cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import attrs

Name = Literal[
    "cancel_before_start",
    "cancel_during_work",
    "cancel_crosses_progress",
    "cancel_crosses_response",
    "cancel_after_response",
]
Reaction = Literal[
    "silent",
    "late_result",
    "late_error",
    "late_progress",
    "error_then_result",
    "crash",
    "close",
]
NAMES: tuple[Name, ...] = get_args(Name)
REACTIONS: tuple[Reaction, ...] = get_args(Reaction)


@attrs.frozen
class Cell:
    """One place in the grid of k messages."""

    i: int
    j: int
    k: int

    @property
    def name(self) -> Name:
        """One of five names."""
        i, j, k = self.i, self.j, self.k
        if i == j:
            if i == k and k > 0:
                return "cancel_after_response"
            return "cancel_during_work" if i else "cancel_before_start"
        return "cancel_crosses_response" if j == k else "cancel_crosses_progress"

    @property
    def reacts(self) -> bool:
        """Whether the responder had messages left when the cancellation arrived."""
        return self.j < self.k


def cells(k: int) -> Iterator[Cell]:
    """Yield all cells for k messages, in order."""
    for i in range(k + 1):
        for j in range(i, k + 1):
            yield Cell(i, j, k)


@attrs.frozen
class Goal:
    """The cell that a race is steered to: that of i and j, or any of this name."""

    name: Name | None = None
    i: int | None = None
    j: int | None = None

    def waits(self, given: int, *, answer: bool) -> bool:
        """Return whether the next message has to wait for the cancellation, when the requester has
        received `given`; `answer`: it is the response.
        """
        if self.i is not None:
            return given >= self.i
        match self.name:
            case "cancel_before_start" | "cancel_crosses_progress":
                return True
            case "cancel_during_work":
                return given >= 1 or answer
            case "cancel_crosses_response":
                return answer
            case _:
                return False

    def crosses(self, emitted: int, *, answer: bool) -> bool:
        """Return whether the next message was under way when the cancel arrived, behind
        `emitted`.
        """
        if self.j is not None:
            return emitted < self.j
        match self.name:
            case "cancel_crosses_progress":
                return emitted < 1 and not answer
            case "cancel_crosses_response" | "cancel_after_response":
                return True
            case _:
                return False
