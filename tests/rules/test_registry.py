"""All rules together."""

from __future__ import annotations

import pytest

from mcpmock.protocol.methods import REVISIONS
from mcpmock.rules.registry import RULES, in_force
from mcpmock.rules.rule import Rule


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.name} {rule.since}")
def test_a_rule_says_what_where_and_when(rule: Rule) -> None:
    """Each cites a page and a sentence of the revisions it holds in."""
    assert rule.since in REVISIONS
    assert rule.until in REVISIONS
    assert rule.since <= rule.until
    assert rule.section == "schema" or "/" in rule.section
    assert len(rule.sentence) > 20


@pytest.mark.parametrize("revision", REVISIONS)
def test_one_row_of_a_name_holds_in_a_revision(revision: str) -> None:
    """Rows of the same name do not overlap."""
    names = [rule.name for rule in RULES if rule.since <= revision <= rule.until]

    assert len(names) == len(set(names))
    assert set(names) == set(in_force(revision))


def test_an_unknown_revision_has_no_rules() -> None:
    """Of a later revision, and of none."""
    assert {} == in_force("2031-01-01") == in_force("")
