"""Recorded values with placeholders against live ones."""

from __future__ import annotations

from base64 import b64encode
from time import process_time
from typing import Any

import pytest

from mcpmock.playback.variables import compare, same, unify

HOLE, OTHER_HOLE = "mcpmock:secret:token:1", "mcpmock:secret:token:2"
PERCENT = HOLE.replace(":", "%3A")


def base64(text: str) -> str:
    return b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ("1", 1, False),
        (None, False, False),
        (None, None, True),
        (True, True, True),
    ],
)
def test_same(one: Any, other: Any, expected: bool) -> None:
    """Values are the same as JSON has it, where true is no number."""
    assert expected is same(one, other)


@pytest.mark.parametrize(
    ("one", "other", "paths"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"b": 1}, ["$.a", "$.b"]),
        ([1, [2]], [1, [3]], ["$[1][0]"]),
        ([1], [1, 2], ["$"]),
        (["a"], "a", ["$"]),
        (["a", "b"], {"a": 1, "b": 1}, ["$"]),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, ["$.a[0].b"]),
        (1, "1", ["$"]),
        ([1], [True], ["$[0]"]),
        ({"a": HOLE, "b": HOLE}, {"a": "x", "b": "y"}, []),
        ({"a": HOLE}, {"a": 5}, ["$.a"]),
        (f"a={HOLE}", "b=x", ["$"]),
    ],
)
def test_compare(one: Any, other: Any, paths: list[str]) -> None:
    """Differences are named where they are, innermost; a placeholder differs from no text."""
    assert paths == [difference.path for difference in compare(one, other)]


@pytest.mark.parametrize(
    ("recorded", "live", "bound", "expected"),
    [
        (HOLE, "x", {}, {HOLE: "x"}),
        (HOLE, "x", {HOLE: "x"}, {HOLE: "x"}),
        (HOLE, "x", {HOLE: "y"}, None),
        (HOLE, 5, {}, None),
        ([HOLE, HOLE], ["x", "y"], {}, None),
        ({"a": HOLE}, {"a": "x", "b": 1}, {}, None),
        (f"{HOLE} {OTHER_HOLE}", "x y", {}, {HOLE: "x", OTHER_HOLE: "y"}),
        (f"{HOLE}{HOLE}", "abab", {}, {HOLE: "ab"}),
        (f"{HOLE}-{OTHER_HOLE}", "a-b-c", {HOLE: "a-b"}, {HOLE: "a-b", OTHER_HOLE: "c"}),
        (f"a.c{HOLE}", "abcx", {}, None),
        ("plain", "plain", {}, {}),
        ('{"a":1}', '{"a": 1}', {}, None),
        (True, 1, {}, None),
        ([1], [1, 2], {}, None),
        (f"{HOLE}\n.", "a\nb\n.", {}, {HOLE: "a\nb"}),
        ({HOLE: 1, "b": HOLE}, {"x": 1, "b": "x"}, {}, {HOLE: "x"}),
        ({HOLE: 1, "b": HOLE}, {"x": 1, "b": "y"}, {}, None),
        (f'{{"a":"{HOLE}"}}', '{"a": "x\\"\\/y"}', {}, {HOLE: 'x"/y'}),
        (f'{{"a":"{HOLE}"}}', '{"a":"x","b":1}', {}, None),
        (f"q={PERCENT}&b={PERCENT}", "q=x%2Fy&b=x%2fy", {}, {HOLE: "x/y"}),
        (f"q={PERCENT}&b={HOLE}", "q=x%2Fy&b=z", {}, None),
        (f"v: {base64(f'a={HOLE}')}.", f"v: {base64('a=x/y')}.", {}, {HOLE: "x/y"}),
        (f"v: {base64(f'a={HOLE}')}.", f"v: {base64('b=x/y')}.", {}, None),
        (f"\u00e9 {base64(f'a={HOLE}')}", "\u00e9 no base64", {}, None),
    ],
)
def test_unify(
    recorded: Any, live: Any, bound: dict[str, str], expected: dict[str, str] | None
) -> None:
    """A recorded value is the live one under some bindings, or under none."""
    assert expected == unify(recorded, live, bound)


def test_many_variables_in_one_text_cost_little() -> None:
    """A text with several placeholders is held against any live text in far less than a second."""
    recorded = " ".join(f"mcpmock:secret:token:{number}" for number in range(1, 6)) + "!"
    began = process_time()

    assert None is unify(recorded, " " * 120, {})
    assert process_time() - began < 0.5
