"""The kinds of values: a table of pairs, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.matching.kinds import Kind, Tolerance, kind_of_both, like

UUID = "123e4567-e89b-12d3-a456-426614174000"
PAIRS: list[tuple[str, tuple[Any, Any], tuple[Any, ...]]] = [
    # kind, two values of it, values that are none
    ("any", (1, None), ()),
    ("string", ("a", ""), (1, None, ["a"])),
    ("number", (1, 1.5), (True, "1", None)),
    ("integer", (1, 2.0), (1.5, True, "1")),
    ("boolean", (True, False), (0, 1, "true")),
    ("array", ([], [1]), ({}, "[]")),
    ("object", ({}, {"a": 1}), ([], None)),
    ("null", (None, None), (0, "", False)),
    ("uuid", (UUID, UUID.replace("-", "").upper()), (UUID[:-1], f"{UUID} ", "1" * 33, 1)),
    ("date", ("2026-02-28", "1999-12-31"), ("2026-02-30", "2026-2-3", "2026-02-28T10:00", 1)),
    ("datetime", ("2026-02-28T10:00:00.25Z", "2026-02-28 10:00"), ("2026-02-30T10:00Z", "10:00")),
    ("datetime", ("2026-02-28t23:59:60z", "2026-02-28T10:00+02:00"), ("2026-02-28T24:01", "")),
    ("datetime", ("2026-02-28T10:00", "2026-02-28T10:00"), ("2026-02-28T10:00+99:00", "x")),
    ("path", ("/tmp/a", "~/a"), ("a/b", "", 1)),
    ("path", ("C:\\Users", "file:///tmp/a"), ("http://a/b", "C:")),
    (
        "url",
        ("https://a.example/b?c", "ws://a"),
        ("/a", "a.example", "https://a b", "http:x", "://a", 1),
    ),
    ("~0.01", (1, 1.01), (1.02, "1", True)),
    ("~1%", (1000, 1010), (1011, None)),
    ("text", (" Oslo  hotels", "oslo HOTELS"), ("oslo hotel", 1)),
    ("text", ("\N{LATIN SMALL LIGATURE FI}ne", "fine"), ("pine",)),
    ("/req-[0-9]+/", ("req-1", "req-22"), ("req-", "a req-1", 1)),
    ("/a=b/is", ("A=B", "a=b"), ("a=",)),
]


@pytest.mark.parametrize(("kind", "pair", "others"), PAIRS, ids=[row[0] for row in PAIRS])
def test_both_are_of_the_kind(
    kind: str, pair: tuple[object, object], others: tuple[object, ...]
) -> None:
    """Two values of the kind, and neither with a value that is none."""
    parsed = Kind.parse(kind)

    assert parsed.both(*pair)
    assert parsed.both(*reversed(pair))
    for other in others:
        assert not parsed.both(pair[0], other)
        assert not parsed.both(other, pair[0])


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("uid", r"no kind 'uid': choose any, string, .* or /regex/; did you mean uuid\?"),
        ("UUID", r"did you mean uuid\?$"),
        (" uuid", r"did you mean uuid\?$"),
        ("timestamp", r"did you mean datetime\?$"),
        ("float", r"did you mean number\?$"),
        ("Int", r"did you mean integer\?$"),
        ("", "no kind '': [^;]*$"),
        ("~", "is not a tolerance"),
        ("/a", "write /REGEX/"),
        ("/a/q", "write /REGEX/"),
        ("/(/", "is no regular expression: missing"),
    ],
)
def test_what_is_no_kind(kind: str, said: str) -> None:
    """It is refused with the kinds that there are, and the nearest."""
    with pytest.raises(ValueError, match=said):
        Kind.parse(kind)


def test_a_kind_is_proposed_for_values_that_differ_in_every_run() -> None:
    """The narrowest that both values are of."""
    assert "uuid" == kind_of_both(UUID, "0" * 32)
    assert "datetime" == kind_of_both("2026-02-28T10:00Z", "2026-03-01 10:00:01")
    assert "date" == kind_of_both("2026-02-28", "2026-03-01")
    assert "path" == kind_of_both("/tmp/a", "file:///b")
    assert "url" == kind_of_both("http://a/1", "http://a/2")
    assert None is kind_of_both("2026-02-28", "tomorrow")
    assert None is kind_of_both(1, 2)


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (["a", "b", "a"], ["a", "a", "b"], "unordered"),
        ([{"x": 1, "y": 2}, 3], [3, {"y": 2, "x": 1}], "unordered"),
        ([1, True], [True, 1], "unordered"),
        (["a", "b", "a"], ["a", "b", "b"], None),
        (["a", "b"], ["b", "a", "a"], None),
        ([1, True], [1, 1], None),
        ([[1, 2], [3]], [[2, 1], [3]], None),
        ("ab", "ba", None),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}, None),
        (["a", "b"], "ba", None),
    ],
)
def test_any_order_is_proposed_for_lists_of_the_same_members(
    one: object, other: object, kind: str | None
) -> None:
    assert [kind, kind] == [kind_of_both(one, other), kind_of_both(other, one)]


def test_tolerance() -> None:
    """In all, or in relation to the larger number; integers are exact, also beyond those of
    floats.
    """
    assert Tolerance.parse("0.5").same(1, 1.5)
    assert not Tolerance.parse("0.5").same(1, 1.6)
    assert Tolerance.parse("1%").same(1000, 1010)
    assert not Tolerance.parse("1%").same(1000, 1011)
    assert not Tolerance().same(10**400, 1.5)
    assert not Tolerance().same(2**53, 2**53 + 1)
    assert not Tolerance.parse("0.5").same(1234567890123456789, 1234567890123456788)
    assert Tolerance.parse("1").same(1234567890123456789, 1234567890123456788)
    assert Tolerance.parse("1%").same(1234567890123456789, 1234567890123456700)


@pytest.mark.parametrize("text", ["0", "0.5", "1%", "0%", "1e308"])
def test_numbers_that_no_float_holds_are_near_to_themselves_alone(text: str) -> None:
    """As `1e999` is in JSON."""
    tolerance, large = Tolerance.parse(text), float("1e999")

    assert tolerance.same(large, large)
    assert tolerance.same(-large, -large)
    for other in (-large, 1.0, 1e308, 10**400):
        assert not tolerance.same(large, other)
        assert not tolerance.same(other, large)


@pytest.mark.parametrize("text", ["", "x", "-1", "nan", "inf", "%"])
def test_what_is_no_tolerance(text: str) -> None:
    """An invalid tolerance is refused with an example."""
    with pytest.raises(ValueError, match="is not a tolerance"):
        Tolerance.parse(text)


@pytest.mark.parametrize("kind", ["~1", "~1%", "text", "unordered"])
def test_a_kind_that_compares_is_no_condition(kind: str) -> None:
    """A condition has one value; every other kind can be one."""
    with pytest.raises(ValueError, match=f"kind '{kind}' compares two values; choose any, "):
        like(kind)
    assert like("integer")(1)
    assert not like("/a+/")("b")
