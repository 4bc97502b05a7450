"""`progress_unknown_token`: whose progress?"""

from __future__ import annotations

from mcpmock.faults.kinds.mcp import ProgressUnknownToken
from tests.faults.faulty import ANSWER, CALL, answered
from tests.support import progress


def test_another_token() -> None:
    """Which nobody gave."""
    assert [progress(7)] == answered(ProgressUnknownToken(token=7), CALL, progress("t"))
    assert [ANSWER] == answered(ProgressUnknownToken())
