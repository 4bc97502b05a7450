"""The grid of cancellation races."""

from __future__ import annotations

import pytest

from mcpmock.pipeline.faults.races import NAMES, REACTIONS, Cell, cells


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
