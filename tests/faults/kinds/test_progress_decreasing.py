"""`progress_decreasing`: backwards."""

from __future__ import annotations

from mcpmock.faults.kinds.mcp import ProgressDecreasing
from tests.faults.faulty import ANSWER, CALL, answered
from tests.support import progress


def test_it_goes_back() -> None:
    """The more was made, the less is told."""
    made = [progress("t", n) for n in (1, 2, 3)]

    assert [progress("t", n) for n in (9, 8, 7)] == answered(
        ProgressDecreasing(most=10), CALL, *made
    )
    assert [ANSWER] == answered(ProgressDecreasing())
