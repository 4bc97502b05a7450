"""The pairs of conversations and calls."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.matching.match_rule import MatchRules
from mcpmock.semantic_diff.conversations import RecordedConversation, read_conversations
from mcpmock.semantic_diff.message import DiffMessage
from mcpmock.semantic_diff.pairing import by_key, pair_calls, pair_conversations
from tests.support import c, call, cassette, request, response, s


def made(*asked: Any) -> list[DiffMessage]:
    """Calls of the tool `t`: with an argument, or with an argument and an answer."""
    lines = []
    for id_, one in enumerate(asked):
        value, answer = one if isinstance(one, tuple) else (one, None)
        lines += [c(call(id_, "t", a=value)), s(response(id_, {"r": answer}))]
    return read_conversations(cassette(*lines), one_session=False)[0].calls


def pairs(
    old: list[DiffMessage], new: list[DiffMessage], *, exactly: bool = False
) -> tuple[str, str, str]:
    """The places of the pairs, and those left over on either side."""
    found = pair_calls(old, new, exactly=exactly)
    told = [f"{old.index(one)}{new.index(other)}" for one, other in found.pairs]
    rests = [map(str, map(old.index, found.old)), map(str, map(new.index, found.new))]
    return " ".join(told), *("".join(rest) for rest in rests)  # type: ignore[return-value]


def test_calls_stand_for_each_other_by_what_they_ask() -> None:
    """Whatever their order; the nth of those alike for the nth."""
    assert ("00 11 22", "", "") == pairs(made(1, 1, 2), made(1, 1, 2))
    assert ("02 10 21", "", "") == pairs(made(1, 2, 3), made(2, 3, 1))


def test_of_a_row_that_grew_the_same_answers_stand_for_each_other() -> None:
    """A call more, in the middle, shifts nothing."""
    old, new = made((1, "a"), (1, "b")), made((1, "a"), (1, "x"), (1, "b"))

    assert ("00 12", "", "1") == pairs(old, new)
    assert ("00 11 22", "3", "") == pairs(made(*[(1, "a")] * 4), made(*[(1, "b")] * 3))
    assert ("00 11", "", "2") == pairs(made((1, "a"), (1, "x")), made((1, "a"), (1, "y"), (1, "z")))


def test_in_rows_of_the_same_length_the_answers_do_not_matter() -> None:
    """Beside one that grew, too: only the order tells them apart."""
    old, new = made((1, "a"), (1, "b")), made((1, "b"), (1, "a"))
    grown = made((1, "b"), (1, "a"), (2, "x"), (2, "y"))

    assert ("00 11", "", "") == pairs(old, new)
    assert ("00 11 23", "", "2") == pairs(made((1, "a"), (1, "b"), (2, "y")), grown)


def test_what_is_left_stands_for_what_is_nearest() -> None:
    """Of the same tool; with `exactly` for nothing."""
    old = made({"x": 1, "y": 1, "z": 1}, {"x": 9})
    new = made({"x": 9, "w": 2}, {"x": 1, "y": 1, "z": 2})

    assert ("01 10", "", "") == pairs(old, new)
    assert ("", "01", "01") == pairs(old, new, exactly=True)
    assert ("00 11", "", "") == pairs(made({"x": 1, "y": 1}, {"x": 1, "y": 2}), made({"x": 1}, {}))


def test_what_a_client_adds_to_a_request_does_not_part_calls() -> None:
    """Its own members of `_meta` differ from one version of it to the next."""
    old, new = (
        read_conversations(
            cassette(c(request(1, "tools/call", {"name": "t", "_meta": {"own": version}}))),
            one_session=False,
        )[0].calls
        for version in (1, 2)
    )

    assert ("00", "", "") == pairs(old, new, exactly=True)


def test_calls_that_are_equal_under_rules() -> None:
    """They stand for each other ahead of what is only similar."""
    rules = MatchRules.parse(["$.arguments.a"])
    found = pair_calls(old := made(1, 2), new := made(3, 4), rules, exactly=True)

    assert list(zip(old, new, strict=True)) == found.pairs


def test_another_tool_is_another_call() -> None:
    """However alike the arguments are."""
    other = read_conversations(cassette(c(call(1, "u", a=1))), one_session=False)[0].calls

    assert ("", "0", "0") == pairs(made(1), other)


def test_long_rows_are_paired_in_order() -> None:
    """Beyond a bound the most similar call is not searched for."""
    old, new = made(*range(60)), made(*range(100, 160))

    assert [f"{n}{n}" for n in range(60)] == pairs(old, new)[0].split()


def test_long_rows_of_the_same_are_paired_in_order() -> None:
    """The same, where they are alike."""
    old, new = made(*[(1, n) for n in range(250)]), made(*[(1, n) for n in range(251)])

    assert (250, "", "250") == (len(pairs(old, new)[0].split()), *pairs(old, new)[1:])


def test_rests_keep_their_order() -> None:
    """As they came."""
    assert ([("b", "b")], ["c", "a"], ["d"]) == by_key("cba", "db", str)


def test_ties_are_asked_for_where_both_sides_have_a_key() -> None:
    """Of calls, each means to read all answers: what only one side has has no partner anyway."""
    asked: list[str] = []

    by_key(["a1", "a2", "b1"], ["a3", "c1"], lambda one: one[0], asked.append)

    assert ["a1", "a2", "a3"] == asked


def conversation(*tools: str) -> RecordedConversation:
    lines = [c(call(id_, tool)) for id_, tool in enumerate(tools)]
    return read_conversations(cassette(*lines), one_session=False)[0]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["ab", "cd"], ["cd", "ab"], ["ab ab", "cd cd"]),
        (["ab", "cd"], ["cde", "abe"], ["ab abe", "cd cde"]),
        (["a"], ["x", "a"], ["a a", "- x"]),
        (["a", "b"], ["x"], ["a x", "b -"]),
        (["b", "a"], ["a", "x"], ["b x", "a a"]),
        (["aab", "a"], ["a", "aac"], ["aab aac", "a a"]),
    ],
)
def test_conversations(old: list[str], new: list[str], expected: list[str]) -> None:
    """The same calls first, then the most calls in common, then the order."""
    told = [
        " ".join("-" if one is None else "".join(made.label[1] for made in one.calls) for one in p)
        for p in pair_conversations(
            [conversation(*tools) for tools in old], [conversation(*tools) for tools in new]
        )
    ]

    assert expected == told


def test_what_everybody_asks_tells_nothing_apart() -> None:
    """A call that a thousand sessions have in common does not pair them one by one."""
    old = [conversation("a", f"old {n}") for n in range(100)]
    new = [conversation("a", f"new {n}") for n in range(100)]

    assert list(zip(old, new, strict=True)) == pair_conversations(old, new)
    one, rare = conversation("a", "a", "u"), conversation("u")
    assert (one, rare) in pair_conversations([one], [conversation("a", "a"), *new, rare])
