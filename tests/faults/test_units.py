"""Durations, sizes and the like, from a plan and in Python."""

from __future__ import annotations

import pytest

from mcpmock.faults.units import Chance, Count, Rate, Seconds, Size, knob_of, shown


def read(type_: object, value: object) -> float:
    knob = knob_of(type_)
    assert knob is not None
    return knob.read(value)


@pytest.mark.parametrize(
    ("type_", "written", "value"),
    [
        (Seconds, "250ms", 0.25),
        (Seconds, "1.5 s", 1.5),
        (Seconds, "2m", 120.0),
        (Seconds, "50us", 0.00005),
        (Size, "64KiB", 65536),
        (Size, "3B", 3),
        (Rate, "1KB/s", 1000),
        (Chance, 0.5, 0.5),
        (Chance, 1, 1),
        (Count, 3, 3),
    ],
)
def test_what_is_right(type_: object, written: object, value: float) -> None:
    """A unit is part of a duration, a size and a rate."""
    assert value == read(type_, written)


@pytest.mark.parametrize(
    ("type_", "written"),
    [
        (Seconds, 250),
        (Seconds, "250"),
        (Seconds, "-1s"),
        (Seconds, "1 fortnight"),
        (Size, "1s"),
        (Rate, "0B/s"),
        (Chance, 1.1),
        (Chance, "0.5"),
        (Count, 1.0),
        (Count, True),
        (Count, -1),
    ],
)
def test_what_is_wrong(type_: object, written: object) -> None:
    """It says what would have been right."""
    with pytest.raises(ValueError, match=r"expected a .* not "):
        read(type_, written)


def test_python_is_checked_too() -> None:
    """In Python it is a number within the same bounds."""
    knob = knob_of(Seconds | None)
    assert knob is not None

    assert [None, True, True] == [
        knob.check(0.5) and True,
        knob.check(-0.5) is not None,
        knob.check("1s") is not None,
    ]
    assert None is knob_of(int)


def test_shown() -> None:
    """As a plan has it, and short."""
    assert ("true", "'a'", 60) == (shown(True), shown("a"), len(shown("a" * 100)))
