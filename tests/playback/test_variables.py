"""Recorded values with placeholders against live ones."""

from __future__ import annotations

from base64 import b64encode
from time import process_time
from typing import Any

import pytest

from mcpmock.playback.variables import (
    Leaves,
    compare,
    same,
    unify,
    with_numbers_as_written,
)
from tests.support import batch, call

HOLE, OTHER_HOLE = "mcpmock:secret:token:1", "mcpmock:secret:token:2"
SENT_BACK = {HOLE: HOLE, OTHER_HOLE: OTHER_HOLE}
PERCENT = HOLE.replace(":", "%3A")
ESCAPED = HOLE.replace(":1", "\\u003a1")
"""In JSON, where the value is spelled with escapes too."""
NUMBER = "mcpmock:secret:pin-number:1"


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
        ("ab", ["a", "b"], ["$"]),
    ],
)
def test_compare(one: Any, other: Any, paths: list[str]) -> None:
    """Differences are named where they are, innermost; a placeholder differs from no text."""
    assert paths == [difference.path for difference in compare(one, other)]


def test_a_placeholder_that_was_sent_back_is_equal() -> None:
    """Also where it stands for another value."""
    assert [] == compare({"a": HOLE}, {"a": HOLE}, bindings={HOLE: "x"})
    assert ["$.a"] == [one.path for one in compare({"a": HOLE}, {"a": "y"}, bindings={HOLE: "x"})]


@pytest.mark.parametrize(
    ("recorded", "live", "distance"),
    [
        ({"a": [1, 2], "b": {}}, {"b": {}, "a": [1, 2]}, (0, 0)),
        ({"a": [1, 2]}, {"a": [3, 4]}, (2, 0)),
        ({"a": []}, {"a": [1]}, (2, 0)),
        ({"a": {}}, {"a": []}, (1, 0)),
        ({"a": {}, "b": 1}, {"b": 1}, (1, 0)),
        ({"a": [], "b": 1}, {"b": 1}, (1, 0)),
        ({"a": 1, "b": None}, {"a": True, "b": False}, (2, 0)),
        ({"a": "blue cars", "b": "same words"}, {"a": "Blue cars!", "b": "same words"}, (1, -2)),
        ({"a": "blue cars"}, {"b": "blue cars"}, (2, 0)),
        ({"a": "blue"}, {"a": 1}, (1, 0)),
        ({"a": f"Bearer {HOLE}", "b": HOLE}, {"a": "Bearer x", "b": "y"}, (1, 0)),
        ({"a": HOLE, "b": 1, "c": "x"}, {"a": "known", "b": "1", "d": "x"}, (3, 0)),
        ({"a": HOLE, "b": 1}, {"a": 1}, (2, 0)),
    ],
)
def test_distance(recorded: Any, live: Any, distance: tuple[int, int]) -> None:
    """Places that differ, whichever has them, then the words that the texts in them have in common;
    what a placeholder stands for does not differ.
    """
    one, other = (Leaves.of(((), document)) for document in (recorded, live))
    assert distance == one.distance(other, {HOLE: "known"} if "c" in recorded else {HOLE: "x"})


@pytest.mark.parametrize(
    ("asked", "bound", "written"),
    [
        (["1.50"], "1.5", "1.50"),
        (["1.50", "1.5"], "1.5", "1.5"),
        (["1.50", "1.50"], "1.5", "1.50"),
        (["1e2"], "100", "1e2"),
        (["-0.50"], "-0.5", "-0.50"),
        (['"1.50"'], "1.5", "1.5"),
        (["2"], "1.5", "1.5"),
        ([], "1.5", "1.5"),
    ],
)
@pytest.mark.parametrize("batched", [False, True])
def test_numbers_as_written(asked: list[str], bound: str, written: str, batched: bool) -> None:
    """A number is spelled as the client spells it in the params, if in one way; no text is, and the
    id of a request is no number of it.
    """
    raw = call(1, "t", a=0).replace(b'"id":1', b'"id":1.500')
    raw = raw.replace(b'"a":0', b'"a":[%b]' % ",".join(asked).encode())
    bindings = {NUMBER: bound, HOLE: bound}

    found = with_numbers_as_written(bindings, batch(raw) if batched else raw)
    assert {NUMBER: written, HOLE: bound} == found


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
        # Several placeholders: each part of the text is where the one before it ends.
        (f"{HOLE}-{OTHER_HOLE}-{HOLE}", "a-b-a", {}, {HOLE: "a", OTHER_HOLE: "b"}),
        (f"{HOLE}-{OTHER_HOLE}-{HOLE}", "a-b-c", {}, None),
        (f"{HOLE}{HOLE}-{OTHER_HOLE}", "a-b", {}, None),
        (f"a{HOLE}-{OTHER_HOLE}", "xa1-2", {}, None),
        (f"{HOLE}-ab{OTHER_HOLE}ba", "x-aba", {}, None),
        (f"{HOLE}-{OTHER_HOLE}.", "a-b.c", {}, None),
        (f"{HOLE}-{OTHER_HOLE}", "a", {}, None),
        # What a client sends back as it was, and nothing behind it.
        (f"{HOLE} {OTHER_HOLE}", f"{HOLE} {OTHER_HOLE}", SENT_BACK, SENT_BACK),
        (f"{HOLE} {OTHER_HOLE}", f"{HOLE} {OTHER_HOLE}.", SENT_BACK, None),
        (f"{HOLE} {OTHER_HOLE}", f"{HOLE} ", SENT_BACK, None),
        # Names that are secrets stand for the names that are left, in their order.
        ({HOLE: 1, "b": 2}, {"b": 2, "x": 1}, {}, {HOLE: "x"}),
        ({HOLE: 1, "b": 2}, {"b": 2, "x": 3}, {}, None),
        ({"a": 1, HOLE: 1}, {"b": 1, "x": 1}, {}, None),
        ({"a": 1}, {"b": 1}, {}, None),
        ({"a": HOLE}, ["x"], {}, None),
        ({"a": HOLE}, "x", {}, None),
        ([HOLE, 1], ["x", 1], {}, {HOLE: "x"}),
        ([1, HOLE], [2, "x"], {}, None),
        (1, [], {}, None),
        (HOLE, HOLE, {}, {HOLE: HOLE}),
        (HOLE, HOLE, {HOLE: "x"}, None),
        (f"{HOLE}{HOLE}", "aba", {}, None),
        (f"v: {base64(f'a={HOLE}')}.", "w: x", {}, None),
        (f'"{HOLE}"', '"a\\nb"', {}, {HOLE: "a\\nb"}),
        # JSON in a text, unless one of the two is none.
        (f'{{"a":"{HOLE}"}}', '{"a":"x\n"}', {}, {HOLE: "x\n"}),
        (f"[{HOLE}]", "[1]", {}, {HOLE: "1"}),
        # Escapes in JSON inside of a text.
        (f'is {{"a": "{ESCAPED}"}}', 'is {"a": "\\u00fc"}', {}, {HOLE: "\u00fc"}),
        (f'is {{"a": "{ESCAPED}"}}', 'is {"a": "\\u00fc"}', {HOLE: "\u00fc"}, {HOLE: "\u00fc"}),
        (f'is {{"a": "{ESCAPED}"}}', 'is {"a": "\\u00fc"}', {HOLE: "u"}, None),
        (f'is {{"a": "{ESCAPED}"}}', 'was {"a": "b"}', {}, None),
        (f'is {{"a": "{ESCAPED}"}}', 'is {"a": "\\x"}', {}, None),
        (f'is {{"a": "{ESCAPED}"}}, {HOLE}', 'is {"a": "\\u00fc"}, \u00fc', {}, {HOLE: "\u00fc"}),
        (f'is {{"a": "{ESCAPED}"}}, {HOLE}', 'is {"a": "\\u00fc"}, u', {}, None),
        # Numbers take numbers, as values and in texts.
        (NUMBER, 5, {}, {NUMBER: "5"}),
        (NUMBER, 5.0, {NUMBER: "5"}, {NUMBER: "5"}),
        (NUMBER, 6, {NUMBER: "5"}, None),
        (NUMBER, "5", {}, None),
        (NUMBER, NUMBER, {}, {}),
        (NUMBER, True, {}, None),
        (f"no. {NUMBER}!", "no. 5!", {}, {NUMBER: "5"}),
        (f"no. {NUMBER}!", "no. five!", {}, None),
        (f"no. {NUMBER}!", "nr. 5!", {}, None),
        (f'is {{"n": "{NUMBER}"}}', 'is {"n": -1.5e3}', {}, {NUMBER: "-1.5e3"}),
        (f'is {{"n": "{NUMBER}"}}', 'is {"n": "5"}', {}, None),
        (f"{HOLE}: {NUMBER}", "x: 5", {}, {HOLE: "x", NUMBER: "5"}),
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
