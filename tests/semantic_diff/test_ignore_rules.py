"""The user's rules: values to ignore, lists without an order, a tolerance."""

from __future__ import annotations

import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.matching.match_rule import MatchRules
from mcpmock.semantic_diff.compare import compare
from mcpmock.semantic_diff.ignore_rules import IgnoreRules, Leeway
from mcpmock.semantic_diff.severity import Item
from tests.support import c, cassette, request, response, s

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


@pytest.mark.parametrize("beside", [None, MatchRules.parse(["$.result.other"])])
def test_what_applied_is_noted(beside: MatchRules | None) -> None:
    """Also by the rules that others stand beside, and where no message has the place: a list that
    comes in pages is compared as one.
    """

    def pages(title: str) -> Cassette:
        return cassette(
            c(request(1, "tools/list")),
            s(response(1, {"tools": [{"name": "a"}], "nextCursor": "2"})),
            c(request(2, "tools/list", {"cursor": "2"})),
            s(response(2, {"tools": [{"name": "b", "title": title}]})),
        )

    rules = IgnoreRules.parse(["$.result.tools[1].title", "$.result.tools[2]"])

    assert 1 == compare(pages("B"), pages("C"), rules.with_rules(beside)).ignored
    assert ["$.result.tools[1].title"] == [rule.text for rule in rules.places.applied]


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ({}, {"arguments": {"a": 1}}, True),
        ({"arguments": {"a": 1}}, {"arguments": {}}, True),
        ({"context": {"arguments": {"a": 1}}}, {}, True),
        ({}, {"arguments": {"a": 1, "b": 1}}, False),
        ({}, {"arguments": ["a"]}, False),
        ({"arguments": {"arguments": {"a": 1}}}, {"arguments": {}}, False),
    ],
)
def test_all_that_an_optional_member_holds(
    old: dict[str, object], new: dict[str, object], allowed: bool
) -> None:
    """Where rules cover all that is in it, it is no difference whether it is there."""
    one, other = (
        cassette(c(request(1, "tools/call", {"name": "f", **params})), s(response(1)))
        for params in (old, new)
    )
    paths = ("$.arguments.a", "$.context.arguments.a", "$.arguments.arguments.a")

    assert allowed is (not compare(one, other, IgnoreRules.parse(paths)))
    assert compare(one, other)
