"""Where two decoded values differ, and how."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.semantic_diff.ignore_rules import IgnoreRules, Leeway
from mcpmock.semantic_diff.normalize import Namings
from mcpmock.semantic_diff.severity import to_jsonpath
from mcpmock.semantic_diff.value_changes import EditKind, Measure, edits


def measure(old: Any, new: Any, **rules: Any) -> Measure:
    return Measure(Leeway(IgnoreRules.parse(**rules), "x", ("x", ""), old, new), Namings())


def told(old: Any, new: Any, **rules: Any) -> list[str]:
    """Each edit as its kind and its path."""
    found = edits(old, new, (), measure(old, new, **rules))
    return [f"{edit.kind.name} {to_jsonpath(edit.path)}" for edit in found]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, ["REMOVED $.a", "VALUE $.b", "ADDED $.c"]),
        ("a", "b", ["TEXT $"]),
        (1, 2, ["VALUE $"]),
        (1, 1.5, ["VALUE $"]),
        (1, True, ["TYPE $"]),
        (1, "1", ["TYPE $"]),
        ("1", 1, ["TYPE $"]),
        (True, 1, ["TYPE $"]),
        ([], 1, ["TYPE $"]),
        (1.5, {}, ["TYPE $"]),
        (True, False, ["VALUE $"]),
        ({}, [], ["TYPE $"]),
        (None, 1, ["VALUE $"]),
        (1, None, ["VALUE $"]),
        ([1, 2, 3], [1, 9, 3], ["VALUE $[1]"]),
        ([1, 2, 3], [1, 3], ["ITEM_REMOVED $[1]"]),
        ([1, 3], [1, 2, 3], ["ITEM_ADDED $[1]"]),
        ([1, 2, 3], [3, 1, 2], ["REORDERED $"]),
        ([{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 3}], ["ITEM_REMOVED $[0]", "ITEM_ADDED $[1]"]),
        ([{"a": 1, "b": 1}], [{"a": 1, "b": 2}], ["VALUE $[0].b"]),
    ],
)
def test_edits(old: Any, new: Any, expected: list[str]) -> None:
    """The edits are as few as possible, each at its path."""
    assert expected == told(old, new)


def test_numbers_within_the_tolerance_are_the_same() -> None:
    """Numbers within the tolerance are equal anywhere; texts and booleans are not numbers."""
    assert [] == told([{"a": 1.0}], [{"a": 1.05}], tolerance="0.1")
    assert ["VALUE $"] == told(1, 1.2, tolerance="0.1")
    assert ["TYPE $"] == told(0, False, tolerance="1")


def test_lists_without_an_order() -> None:
    """The same stand for each other, the others in turn."""
    rules = {"unordered": ["$['a']"]}

    assert [] == told({"a": [1, 2]}, {"a": [2, 1]}, **rules)
    assert ["VALUE $.a[0]"] == told({"a": [1, 2, 2]}, {"a": [2, 3, 2]}, **rules)
    assert ["ITEM_REMOVED $.a[0]"] == told({"a": [1, 2]}, {"a": [2]}, **rules)
    assert ["VALUE $.a[1]"] == told({"a": [1, 2, 3]}, {"a": [3, 1, 4]}, **rules)


def test_placeholders_have_other_numbers() -> None:
    """But the same one is the same one everywhere."""
    one, two = "mcpmock:secret:token:1", "mcpmock:secret:token:2"

    assert [] == told([one, two, one], [two, one, two])
    assert ["TEXT $[2]"] == told([one, two, one], [two, one, one])


def test_long_lists_are_compared_place_by_place() -> None:
    """Aligning them would take for ever."""
    old, new = list(range(300)), list(range(1, 301))

    assert 300 == len(told(old, new))


def test_deep_values_are_the_same_or_not() -> None:
    """Beyond a depth a value that differs is one edit."""
    old: Any = 1
    new: Any = 2
    for _ in range(150):
        old, new = {"a": old}, [new]
        old, new = {"a": old}, {"a": new}

    assert 1 == len(told(old, new))
    deep: Any = []
    other: Any = [1]
    for _ in range(300):
        deep, other = {"a": deep}, {"a": other}
    assert ["VALUE $" + ".a" * 100] == told(deep, other)
    assert [] == told(deep, deep)


def test_values_are_told() -> None:
    """Both, where both are there."""
    (edit,) = edits({"a": 1}, {"a": 2}, (), measure({}, {}))

    assert (EditKind.VALUE, ("a",), 1, 2) == (edit.kind, edit.path, edit.old, edit.new)
