"""The user's rules: values to ignore, lists without an order, a tolerance."""

from __future__ import annotations

import pytest

from mcpmock.semantic_diff.ignore_rules import IgnoreRules, Leeway
from mcpmock.semantic_diff.severity import Item

CALL = ("tools/call", "now")
DOCUMENT = {"result": {"content": [{"text": "a"}, {"text": "b"}], "_meta": {"x": 1}}}


def leeway(*ignore: str, unordered: tuple[str, ...] = (), method: str = "tools/call") -> Leeway:
    return Leeway(IgnoreRules.parse(ignore, unordered), method, CALL, DOCUMENT, {"result": {}})


@pytest.mark.parametrize(
    ("rule", "ignored"),
    [
        ("$.result.content[*].text", True),
        ("$.result", True),
        ("$..text", True),
        ("$", True),
        ("$.result.content[1]", False),
        ("tools/call $.result", True),
        ("tools/* now $.result", True),
        ("tools/call then $.result", False),
        ("prompts/get $.result", False),
    ],
)
def test_a_rule_covers_a_place_and_what_is_in_it(rule: str, ignored: bool) -> None:
    """For the messages of its method and name, the place itself and all below it."""
    path = ("result", "content", Item(0, None), "text")

    assert ignored is leeway(rule).allows(path)


def test_what_is_around_a_place_is_not_covered() -> None:
    """A rule for a member does not cover the object around it."""
    assert not leeway("$.result._meta").allows(("result",))
    assert not leeway().allows(("result",))


def test_a_scope_names_the_message_or_its_call() -> None:
    """Progress of a tool is found by its own method and by that of the call."""
    for rule in ("notifications/progress now $", "tools/call now $"):
        assert leeway(rule, method="notifications/progress").allows(())


def test_lists_without_an_order() -> None:
    """Only the list at the place itself."""
    found = leeway(unordered=("$.result.content",))

    assert found.is_unordered(("result", "content"))
    assert not found.is_unordered(("result",))
    assert not leeway().is_unordered(("result", "content"))
