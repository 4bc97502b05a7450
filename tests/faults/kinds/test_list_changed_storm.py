"""`list_changed_storm`: a storm."""

from __future__ import annotations

from mcpmock.faults.kinds.mcp import ListChangedStorm
from tests.faults.faulty import ANSWER, answered, body
from tests.support import notification


def test_a_storm() -> None:
    """In front of the answer."""
    changed = notification("notifications/prompts/list_changed")

    assert [*[changed] * 3, ANSWER] == answered(ListChangedStorm(count=3, what="prompts"))
    assert 100 + 3 == len(body(ListChangedStorm()))
