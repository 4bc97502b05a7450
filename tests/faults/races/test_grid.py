"""The grid of cancellation races."""

from __future__ import annotations

import pytest

from mcpmock.faults.races.grid import NAMES, REACTIONS, Cell, Goal, cells


@pytest.mark.parametrize("k", range(6))
def test_all_cells(k: int) -> None:
    """(k + 1) (k + 2) / 2 of them, each once, and none that cannot be."""
    found = list(cells(k))

    assert (k + 1) * (k + 2) // 2 == len(found) == len(set(found))
    assert all(0 <= cell.i <= cell.j <= cell.k == k for cell in found)
    assert {cell.name for cell in found} <= set(NAMES)


def test_names() -> None:
    """Those of three messages."""
    before, during, progress, response, after = NAMES

    assert [
        before, progress, progress, response,
        during, progress, response,
        during, response,
        after,
    ] == [cell.name for cell in cells(3)]  # fmt: skip
    assert before == Cell(0, 0, 0).name
    assert 7 == len(REACTIONS)
    assert [True, False] == [Cell(0, 2, 3).reacts, Cell(0, 3, 3).reacts]


@pytest.mark.parametrize("cell", list(cells(3)), ids=str)
def test_a_goal(cell: Cell) -> None:
    """What waits, and what crosses: by numbers exactly, by name to a cell of that name."""
    goal = Goal(i=cell.i, j=cell.j)

    assert cell == reached(goal)
    assert cell.name == reached(Goal(cell.name)).name


def reached(goal: Goal, k: int = 3) -> Cell:
    i = next((n for n in range(k) if goal.waits(n, answer=n == k - 1)), k)
    j = next((n for n in range(i, k) if not goal.crosses(n, answer=n == k - 1)), k)
    return Cell(i, j, k)
