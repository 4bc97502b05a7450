"""Words for what is printed."""

from __future__ import annotations

import pytest

from mcpmock.printable import did_you_mean, duration, first_lines, first_of


def test_what_is_left_out_is_counted() -> None:
    """Of a list in a line, and of lines."""
    assert "a, b" == first_of(["a", "b"], 2)
    assert "a, b and 1 more" == first_of(["a", "b", "c"], 2)
    assert ["a", "and 2 more"] == first_lines(["a", "b", "c"], 1)
    assert ["a"] == first_lines(["a"], 1)


def test_the_nearest_words() -> None:
    """The nearest first, each once; nothing if none is near."""
    known = ["uuid", "uid", "date", "uuid"]

    assert "; did you mean uuid?" == did_you_mean("uuidd", known)
    assert "; did you mean uuid or uid?" == did_you_mean("uuidd", known, most=2)
    assert "" == did_you_mean("x", known)


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "0 ms"),
        (600, "0.6 ms"),
        (41_210, "41 ms"),
        (1_519_000, "1.52 s"),
        (123_000_000, "2:03 min"),
        (-500, "-0.5 ms"),
    ],
)
def test_durations_are_for_people(microseconds: int, text: str) -> None:
    """A duration has the unit that fits it."""
    assert text == duration(microseconds)
