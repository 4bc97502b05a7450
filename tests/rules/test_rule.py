"""Rules as values."""

from __future__ import annotations

from mcpmock.errors import Level
from mcpmock.rules.known_deviations import DEVIATIONS
from mcpmock.rules.specification import Rule, Violation, cite


def test_where_it_stands() -> None:
    """A sentence is cited by revision and page; pages have moved."""
    assert "2025-11-25 basic/index" == cite("2025-11-25", "basic/index")
    assert "2024-11-05 basic/messages" == cite("2024-11-05", "basic/index")


def test_what_is_known_is_a_notice() -> None:
    """A violation has the level of its rule; a known deviation is a notice."""
    rule = Rule("a-rule", Level.ERROR, "server", "basic/index", "You MUST.")
    unknown = Violation(7, rule, "2025-11-25", "it was broken")
    known = Violation(7, rule, "2025-11-25", "it was broken", DEVIATIONS[0])

    assert ("error", "notice") == (unknown.level.value, known.level.value)
    assert "2025-11-25 basic/index" == unknown.cited
