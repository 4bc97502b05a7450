"""A violation as a value."""

from __future__ import annotations

from mcpmock.rules.known_deviations import DEVIATIONS
from mcpmock.rules.rule import must
from mcpmock.rules.violation import Violation

RULE = must("a-rule", "basic/index", "You MUST.")


def test_what_is_known_is_a_notice() -> None:
    """Its level is the rule's, unless somebody is known for it."""
    told = Violation(7, RULE, "2025-11-25", "it was broken")
    known = Violation(7, RULE, "2025-11-25", "it was broken", DEVIATIONS[0])

    assert ("error", "notice") == (told.level.value, known.level.value)
    assert "2025-11-25 basic/index" == told.cited
