"""Differences as they are put together: judged, shortened, counted once."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.semantic_diff import findings
from mcpmock.semantic_diff.findings import MAX_EXCERPT_CHARS, Findings, excerpts
from mcpmock.semantic_diff.ignore_rules import IgnoreRules
from mcpmock.semantic_diff.normalize import Namings
from mcpmock.semantic_diff.severity import ABSENT, Change, EventLocation, Verdict

CALL = ("tools/call", "add")


def found(*changes: Change, ignore: tuple[str, ...] = ()) -> Findings:
    noted = Findings(IgnoreRules.parse(ignore))
    for n, change in enumerate(changes, 1):
        measure = noted.measure(None, None, CALL, Namings())
        noted.add(change, measure, old=EventLocation(1, n), new=EventLocation(1, n))
    return noted


def text(old: Any, new: Any, *path: str) -> Change:
    return Change("result-text-changed", path or ("result",), old, new)


def test_the_worst_comes_first() -> None:
    """And each knows its call, its place and its events."""
    noted = found(text("a", "b"), Change("tool-removed", ("result",), "x"))
    worst, other = noted.differences()

    assert ("tool-removed", Verdict.BREAKING) == (worst.rule.name, worst.verdict)
    assert ("tools/call add", "$.result") == (other.call, other.path)
    assert ('"a"', '"b"', EventLocation(1, 1)) == (other.old, other.new, other.old_event)
    assert {Verdict.BREAKING: 1, Verdict.RISKY: 1} == noted.counts


def test_the_very_same_is_counted() -> None:
    """Another value is another difference; one message more is like another."""
    noted = found(text("a", "b"), text("a", "b"), text("a", "c"))
    more = found(*[Change("notification-added", (), ABSENT, n) for n in range(3)])

    assert [2, 1] == [difference.times for difference in noted.differences()]
    assert [(3, "0")] == [(one.times, one.new) for one in more.differences()]


def test_what_is_ignored_is_counted_too() -> None:
    """As many changes, not as many differences."""
    noted = Findings(IgnoreRules.parse(["$['a']"]))
    measure = noted.measure(None, None, CALL, Namings())
    measure.leeway.old = {"a": 1}
    noted.add(text("a", "b", "a"), measure)
    noted.add(text("a", "b", "b"), measure)

    assert (1, 1) == (noted.ignored, len(noted.differences()))


def test_beyond_a_bound_they_are_counted_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts are of all."""
    monkeypatch.setattr(findings, "MAX_DIFFERENCES", 2)
    noted = found(*[text("a", str(n)) for n in range(5)])

    assert (2, 5) == (len(noted.differences()), noted.counts[Verdict.RISKY])


@pytest.mark.parametrize(
    ("old", "new"),
    [("a" * 300 + "b", "a" * 300 + "c"), ("a" * 300, "a" * 301), ("a" * 150 + "b" * 300, "a")],
)
def test_long_values_are_told_from_where_they_part(old: str, new: str) -> None:
    """Both are short, and differ."""
    told = excerpts(old, new)

    assert all(one is not None and len(one) <= MAX_EXCERPT_CHARS for one in told)
    assert told[0] != told[1]


def test_short_values_are_told_whole() -> None:
    """A short value is shown whole; an absent one is None."""
    assert ('{"a":1}', None) == excerpts({"a": 1}, ABSENT)
    assert ("null", '"x"') == excerpts(None, "x")
    for short, told in (([1], "[1]"), (ABSENT, None)):
        one, other = excerpts(short, "y" * 300)
        assert (told, MAX_EXCERPT_CHARS) == (one, len(other or ""))
        assert excerpts("y" * 300, short) == (other, told)
