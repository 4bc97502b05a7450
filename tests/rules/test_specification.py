"""The table of the rules."""

from __future__ import annotations

import pytest

from mcpmock.protocol.methods import REVISIONS
from mcpmock.rules.specification import RULES, SKILLS, in_force


def test_each_rule_cites_a_page_of_revisions() -> None:
    """A row has a page, a sentence, and the first and last revision in which it holds."""
    wrong = [
        rule
        for rule in RULES
        if not {rule.since, rule.until} <= set(REVISIONS)
        or rule.since > rule.until
        or not (rule.section in ("schema", SKILLS) or "/" in rule.section)
        or len(rule.sentence) <= 20
    ]

    assert [] == wrong


@pytest.mark.parametrize("revision", REVISIONS)
def test_one_row_of_a_name_holds_in_a_revision(revision: str) -> None:
    """Rows of the same name do not overlap."""
    names = [rule.name for rule in RULES if rule.since <= revision <= rule.until]

    assert len(names) == len(set(names))
    assert set(names) == set(in_force(revision))


def test_an_unknown_revision_has_no_rules() -> None:
    """Of a later revision, and of none."""
    assert {} == in_force("2031-01-01") == in_force("")
