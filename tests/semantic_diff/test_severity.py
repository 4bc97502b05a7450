"""The table of rules, and paths."""

from __future__ import annotations

import jsonpath
import pytest

from mcpmock.semantic_diff.severity import RULES, Item, Verdict, document_path, to_jsonpath

TOOL = Item(0, 2, ("name", "it's \\ \n"))


def test_verdicts_have_an_order() -> None:
    """The worse, the higher; each has a word."""
    assert Verdict.COMPATIBLE < Verdict.RISKY < Verdict.BREAKING
    assert ["compatible", "risky", "breaking"] == [verdict.word for verdict in Verdict]


def test_every_rule_is_whole() -> None:
    """A rule is found by its name, is of a known kind and has words."""
    for name, rule in RULES.items():
        assert name == rule.name
        assert rule.kind in {"added", "removed", "changed", "reordered"}
        assert rule.words


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "$"),
        (("result", "a-b", "_meta"), "$.result['a-b']._meta"),
        (("content", Item(1, 3), "text"), "$.content[1].text"),
        (("content", Item(None, 3)), "$.content[3]"),
        (("tools", Item(1, 3, ("name", "add"))), "$.tools[?@.name=='add']"),
    ],
)
def test_paths_are_jsonpaths(path: tuple[str | Item, ...], text: str) -> None:
    """Plain names follow a dot, others are in quotes; a named member is found by its name."""
    assert text == to_jsonpath(path)


def test_hostile_names_stay_names() -> None:
    """A path leads to the value, whatever the names in it are."""
    document = {"tools": [{"name": TOOL.name[1] if TOOL.name else "", "'": 1}]}

    assert [1] == jsonpath.findall(to_jsonpath(("tools", TOOL, "'")), document)


def test_a_path_leads_into_both_documents() -> None:
    """As far as there is something."""
    assert ("tools", 0, "x") == document_path(("tools", TOOL, "x"), new=False)
    assert ("tools", 2, "x") == document_path(("tools", TOOL, "x"), new=True)
    assert ("tools",) == document_path(("tools", Item(None, 2), "x"), new=False)
