"""The ledger and the rules of `check` hold each other: every rule stands for a requirement, every
requirement that is checked names rules, and the manual counts them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import mcpmock
from mcpmock.protocol.methods import REVISIONS
from mcpmock.rules.ledger import (
    CHECKED,
    CLASSES,
    requirements,
    table_of_classes,
    table_of_meanings,
)
from mcpmock.rules.specification import EXTENSION, RULES, in_force

PAGE = Path(mcpmock.__file__).parent / "help" / "rules.md"
MAX_WORDS = 25
KEYWORDS = {"MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "REQUIRED", "RECOMMENDED"}
COUNTS = {
    "2024-11-05": 184,
    "2025-03-26": 274,
    "2025-06-18": 317,
    "2025-11-25": 591,
    "2026-07-28": 761,
    "ext-skills": 75,
}
"""How many requirements the pages of each revision have."""


def test_each_rule_stands_for_a_requirement() -> None:
    """No rule that the ledger does not name, and none named that is no rule."""
    named = {rule for one in requirements() for rule in one.rules}

    assert named == {rule.name for rule in RULES}


def test_no_requirement_is_missing_or_without_a_class() -> None:
    """All of each revision; those that are checked name their rules, and the others have none."""
    assert Counter(COUNTS) == Counter(one.revision for one in requirements())
    assert set(CLASSES) == {one.kind for one in requirements()}
    assert [] == [one for one in requirements() if (one.kind in CHECKED) != bool(one.rules)]


def test_each_requirement_is_short() -> None:
    """It has a page, a keyword, and at most 25 words."""
    wrong = [
        one
        for one in requirements()
        if not one.page
        or one.keyword not in KEYWORDS
        or not 2 < len(one.says) <= 200
        or len(one.says.split()) > MAX_WORDS
    ]

    assert [] == wrong


def test_rules_hold_where_the_ledger_names_them() -> None:
    """In each revision of a requirement one of its rules is in force."""
    names = {rule.name for rule in RULES}
    wrong = [
        one
        for one in requirements()
        if one.revision in REVISIONS
        and one.rules
        and not any(name in in_force(one.revision) for name in one.rules)
    ]

    assert [] == [one for one in wrong if set(one.rules) <= names]
    assert EXTENSION not in REVISIONS


def test_the_manual_counts_them() -> None:
    """The tables of the page are made of the ledger."""
    text = PAGE.read_text("utf-8")
    for table in (table_of_classes(), table_of_meanings()):
        lines = "\n".join(table)

        assert lines in text, lines
