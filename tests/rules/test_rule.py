"""Rules as values."""

from __future__ import annotations

from mcpmock.rules.rule import must, should


def test_levels() -> None:
    """What must be is an error, what should be a warning."""
    assert ("error", "warning") == (
        must("a", "b", "c").level.value,
        should("a", "b", "c").level.value,
    )


def test_where_it_stands() -> None:
    """A sentence is cited by revision and page; pages have moved."""
    rule = must("a", "basic/index", "c")

    assert "2025-11-25 basic/index" == rule.cite("2025-11-25")
    assert "2024-11-05 basic/messages" == rule.cite("2024-11-05")
