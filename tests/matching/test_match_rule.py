"""Rules as users write them: what they select, what they allow, and which are none."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest
from msgspec import UNSET

from mcpmock.matching.match_rule import MatchRule, MatchRules, as_glob, rule_for, select
from mcpmock.matching.paths import Place, compile_path

DOCUMENT: dict[str, Any] = {
    "params": {
        "name": "search",
        "arguments": {"id": 1, "items": [{"id": 2, "x=y": 3}, {"id": 4}], "a b": 5},
    },
    "id": 6,
}
ARGUMENTS = ("params", "arguments")


@pytest.mark.parametrize(
    ("path", "places"),
    [
        ("$.arguments.id", {(*ARGUMENTS, "id")}),
        ("$.params.arguments.id", {(*ARGUMENTS, "id")}),
        ("$.id", {("id",)}),
        ("$.uri", set[Place]()),
        ("$ .arguments.id", {(*ARGUMENTS, "id")}),
        ("$", {()}),
        ("$.*", {("params",), ("id",)}),
        ("$['id']", {("id",)}),
        ("$.arguments.items[1]", {(*ARGUMENTS, "items", 1)}),
        ("$.arguments.items[-1]", {(*ARGUMENTS, "items", 1)}),
        ("$.arguments.items[*].id", {(*ARGUMENTS, "items", n, "id") for n in (0, 1)}),
        ("$.arguments.items[?@.id==4]", {(*ARGUMENTS, "items", 1)}),
        ("$.arguments.items[?@['x=y']==3].id", {(*ARGUMENTS, "items", 0, "id")}),
        ("$.arguments['a b']", {(*ARGUMENTS, "a b")}),
        ("$.arguments.*[7]", set[Place]()),
        ("$.arguments.id.x", set[Place]()),
        ("$.arguments['id', 'a b']", {(*ARGUMENTS, "id"), (*ARGUMENTS, "a b")}),
        (
            "$..id",
            {("id",), (*ARGUMENTS, "id"), *((*ARGUMENTS, "items", n, "id") for n in (0, 1))},
        ),
    ],
)
def test_a_path_selects_places(path: str, places: set[Place]) -> None:
    """In the message, or inside its params where the path begins with another name; the places
    outside of it, for paths of names and wildcards alone, are the same.
    """
    rule = MatchRule.parse(path)

    assert places == set(select([rule], DOCUMENT))
    outer = {*rule.query.outer_places(DOCUMENT)}
    assert all(any(place[: len(one)] == one for one in outer) for place in places)
    assert (places == outer) is {"?", "-", ","}.isdisjoint(path)


@pytest.mark.parametrize(
    ("path", "place", "covered"),
    [
        ("$.a", ("params", "a"), True),
        ("$.a", ("params", "a", 0, "b"), True),
        ("$.a", ("params",), False),
        ("$.b", ("params", "a", "b"), False),
        ("$.a[*].b", ("params", "a", 3, "b"), True),
        ("$.a[*].b", ("params", "a", 3, "c"), False),
        ("$..id", ("params", "a", "id", "b"), True),
        ("$..id", ("params", "a", "b"), False),
        ("$.a[?@.b==1]", ("params", "a", 0), False),
    ],
)
def test_what_a_path_covers(path: str, place: Place, covered: bool) -> None:
    """The place itself and what is inside of it; a filter covers nothing."""
    assert covered is MatchRule.parse(path).query.covers(place)


def test_a_rule_for_outputs_begins_at_the_output() -> None:
    """It is for no message, so nothing is inside of its params."""
    assert {("a",)} == {*MatchRule.parse("output $.a").query.places({"a": 1})}


def test_both_evaluations_select_the_same() -> None:
    """Ours of simple paths, and that of the library for all."""
    from jsonpath import finditer

    for path in ("$..*", "$.params.arguments.items[*]", "$..[0]", "$..items[0].id", "$.nothing"):
        found = {tuple(one.parts) for one in finditer(path, DOCUMENT)}
        assert found == {*compile_path(path).places(DOCUMENT)}


def test_what_is_nested_deeply_is_searched() -> None:
    """Down to the last level that JSON can be decoded to; filters find nothing there."""
    deep: object = {"b": 1}
    for _ in range(900):
        deep = {"a": deep}

    assert 1 == len(compile_path("$..b").places(deep))
    assert set() == compile_path("$..[?@.b==1]").places(deep)


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("$.a", None),
        ("$.a=uuid", "uuid"),
        ("tools/call search $.a[?@.b==1]=date", "date"),
        ("$['a=b']=/x=[=]y/i", "/x=[=]y/i"),
        ('$["a\\"=b"]', None),
        ('$["a\\"]=b"]=uuid', "uuid"),
        ("$['a\\\\']=uuid", "uuid"),
    ],
)
def test_a_kind_follows_the_first_equals_sign_outside_of_brackets(
    rule: str, kind: str | None
) -> None:
    """So filters and regular expressions need no quoting."""
    parsed = MatchRule.parse(rule).kind

    assert kind == (None if parsed is None else parsed.text)


@pytest.mark.parametrize(
    ("rule", "covered"),
    [
        ("$.x", True),
        ("tools/call $.x", True),
        ("tools/* sea* $.x", True),
        ("tools/call find $.x", False),
        ("prompts/get $.x", False),
    ],
)
def test_a_scope_is_a_glob(rule: str, covered: bool) -> None:
    """Of the method, and of the name of the tool."""
    rules = MatchRules.parse([rule])

    assert covered is bool(rules.of("tools/call", ("tools/call", "search")))


def test_names_asked_for_are_forgotten() -> None:
    """Clients name what they like: which rules a name has is kept for some names only."""
    rules = MatchRules.parse(["$.a"])
    call = ("tools/call", "search")
    found = rules.of("tools/call", call)
    assert found is rules.of("tools/call", call)

    for number in range(2000):
        rules.of("tools/call", ("tools/call", str(number)))
    assert found == rules.of("tools/call", call)
    assert found is not rules.of("tools/call", call)


@pytest.mark.parametrize(
    ("rule", "is_for"),
    [
        ("notifications/* $.x", True),
        ("notifications/progress search $.x", True),
        ("tools/call $.x", True),
        ("ping $.x", False),
        ("notifications/progress find $.x", False),
    ],
)
def test_a_scope_of_what_belongs_to_a_call(rule: str, is_for: bool) -> None:
    """Its own method, or that of the call."""
    rules = MatchRules.parse([rule])

    assert is_for is bool(rules.of("notifications/progress", ("tools/call", "search")))


@pytest.mark.parametrize(
    "name", ["a", "a b", "a$b", "a\x1bb", "*", "a?", "[x]", "#1", "\u00e9", "a=b"]
)
def test_a_glob_for_one_name(name: str) -> None:
    """It fits the name, is one word of a rule, and of wildcards has none but `?`."""
    glob = as_glob(name)

    assert (glob == name) is (name in ("a", "\u00e9", "a=b"))
    assert fnmatchcase(name, glob)
    assert glob.isprintable()
    assert {" ", "$"}.isdisjoint(glob)
    assert not fnmatchcase(f"{name}x", glob)


def test_what_a_rule_allows() -> None:
    """Without a kind anything, present or absent; with one both values must be of it."""
    assert MatchRule.parse("$.x").allows(UNSET, 1)
    assert MatchRule.parse("$.x=any").allows(None, 1)
    assert not MatchRule.parse("$.x=any").allows(UNSET, 1)
    assert not MatchRule.parse("$.x=any").allows(1, UNSET)
    assert not MatchRule.parse("$.x=integer").allows("1", 1)


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("ignore", "", r"^'' is not of the form \[METHOD \[NAME\]\] \$\.JSON\.PATH$"),
        ("ignore", "result", r"'result' is not of the form .*: write \$\.result$"),
        ("ignore", "m n a.b-c.d", r": write m n \$\.a\.b-c\.d$"),
        ("like", "id=uuid", r": write \$\.id=uuid$"),
        ("ignore", "a b c $.x", "'a b c .*; write [?] for each space of NAME$"),
        ("ignore", "tools/call", r"JSON\.PATH$"),
        ("ignore", "$.a[", r"^'\$\.a\[': no JSONPath: unexpected end"),
        ("ignore", "$arguments", r"^'\$arguments': no JSONPath: unexpected"),
        ("like", "m $.a=~x", r"^'m \$\.a=~x': 'x' is not a tolerance; write 0.5 or 1%$"),
        ("like", "$.a=/(/", r"^'\$\.a=/\(/': '/\(/' is no regular expression"),
        ("ignore", "$.a=uuid", "has a kind: write it as --like"),
        ("like", "$.a", r"has no kind: write \$\.a=KIND; choose any, "),
        ("like", "$.a=uid", r"^'\$\.a=uid': no kind 'uid': .*did you mean uuid\?$"),
        ("echo", "$.a=uid", "did you mean uuid"),
    ],
)
def test_what_is_no_rule(option: str, text: str, said: str) -> None:
    """It is refused in one line that says what is wrong."""
    with pytest.raises(ValueError, match=said) as refused:
        MatchRules.parse(**{option: [text]})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("rule", "unordered"), [("$.a", False), ("$.a=any", False), ("$.a=unordered", True)]
)
def test_which_rules_let_the_order_differ(rule: str, unordered: bool) -> None:
    """Those of that kind."""
    assert unordered is MatchRule.parse(rule).is_unordered


def test_rules_add_up() -> None:
    """Each once; those that echo loosen too."""
    rules = MatchRules.parse(["$.a"], ["$.b=uuid"]) + MatchRules.parse(["$.a"], echo=["$.c"])

    assert ["$.a", "$.b=uuid", "$.c"] == [rule.text for rule in rules.rules]
    assert ["$.c"] == [rule.text for rule in rules.echo]
    assert not MatchRules()


@pytest.mark.parametrize(
    ("place", "values", "rule"),
    [
        (("params", "arguments", "q"), ("a", "b"), ("ignore", "m n $.arguments.q")),
        (("params", "uri"), ("/a", "/b"), ("like", "m n $.uri=path")),
        (("params", "tags"), ([1, 2], [2, 1]), ("like", "m n $.tags=unordered")),
        (("params", "id"), (1, 2), ("ignore", "m n $.params.id")),
        (("params", 0), (1, 2), ("ignore", "m n $.params[0]")),
        (("params", "a b", 3), (1, UNSET), ("ignore", 'm n $.params["a b"][3]')),
        (("params", "a\nb"), (1, 2), ("ignore", 'm n $.params["a\\nb"]')),
        (("params", "a", "\x1b"), (1, 2), ("ignore", "m n $.a")),
        (("params", "a", "\x1b"), ("/a", "/b"), ("ignore", "m n $.a")),
        (("params",), ({}, 1), ("ignore", "m n $.params")),
        (("result", "a"), (1, 2), ("ignore", "m n $.result.a")),
        ((), ({}, 1), ("ignore", "m n $")),
    ],
)
def test_a_rule_for_a_place(
    place: Place, values: tuple[object, object], rule: tuple[str, str]
) -> None:
    """It selects the place, or what is around it where no path can name it."""
    option, text = rule_for("m", "n", place, *values)

    assert rule == (option, text)
    document: Any = values[0]
    for step in reversed(place):
        document = {step: document} if isinstance(step, str) else [None] * step + [document]
    found = select([MatchRule.parse(text)], document)
    assert [place[: len(one)] for one in found] == [*found]
    assert found


def test_a_scope_of_any_name_is_a_glob_for_it_alone() -> None:
    """Characters that globs and rules use are escaped."""
    _, text = rule_for("tools/call", "a *b$[c", ("params", "x"))
    rules = MatchRules.parse([text])

    assert rules.of("tools/call", ("tools/call", "a *b$[c"))
    assert not rules.of("tools/call", ("tools/call", "a xb$[c"))
