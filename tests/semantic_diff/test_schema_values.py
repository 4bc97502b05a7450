"""Values as JSON Schema sees them."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.semantic_diff.schema_values import (
    MAX_SEARCHED_CHARS,
    is_multiple,
    is_readable,
    matches,
    type_of,
    value_key,
)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a", "ab", True),
        ("b", "ab", True),
        ("^b", "ab", False),
        ("^a", "a" * MAX_SEARCHED_CHARS, True),
        ("^a", "a" * (MAX_SEARCHED_CHARS + 1), False),
        ("(a+)+$", "a", False),
        ("(", "(", False),
    ],
)
def test_matches(pattern: str, text: str, found: bool) -> None:
    """Somewhere in the text; not in a long one, and not what cannot be read or takes long."""
    assert found is matches(pattern, text)


@pytest.mark.parametrize(
    "pattern", ["(a+)+", "(a*)*", "(a?)+", "(a{2})*", "((a+))+", "(a|aa)+", "(", "a{9999999999}"]
)
def test_what_is_not_searched(pattern: str) -> None:
    """It may take exponential time, or it is no pattern to Python."""
    assert not is_readable(pattern)
    assert is_readable("(ab)+[c-e]*f?|g{2,3}")


@pytest.mark.parametrize(
    ("value", "of", "expected"),
    [(4, 2, True), (4, 3, False), (0.3, 0.1, True), (0.35, 0.1, False), (2.0, 1, True),
     (4, 0, True), (4, "2", True), (4, True, True)],
)  # fmt: skip
def test_multiples(value: Any, of: Any, expected: bool) -> None:
    """As they are written: 0.3 is three tenths. What is no number demands nothing."""
    assert expected is is_multiple(value, of)


def test_equal_values() -> None:
    """However numbers are written, also inside."""
    assert value_key({"a": [1.0, {"b": 2.0}]}) == value_key({"a": [1, {"b": 2}]})
    assert value_key(1.5) != value_key(1)
    assert value_key(True) != value_key(1)
    values: list[Any] = [None, True, 1, 1.5, "", [], {}]
    types = ["null", "boolean", "number", "number", "string", "array", "object"]
    assert types == [*map(type_of, values)]
