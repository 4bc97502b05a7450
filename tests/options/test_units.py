"""Durations, sizes and the like, from a plan and in Python."""

from __future__ import annotations

from typing import Literal

import pytest

from mcpmock.options.units import Chance, Count, Rate, Seconds, Size, knob_of, read_value, shown


@pytest.mark.parametrize(
    ("type_", "written", "value"),
    [
        (Seconds, "250ms", 0.25),
        (Seconds, "1.5 s", 1.5),
        (Seconds, "2m", 120.0),
        (Seconds, "2min", 120.0),
        (Seconds, "1h", 3600.0),
        (Seconds, "50us", 0.00005),
        (Seconds, 2, 2),
        (Size, "64KiB", 65536),
        (Size, "3B", 3),
        (Size, "1kb", 1000),
        (Size, "1GB", 10**9),
        (Size, "1GiB", 1 << 30),
        (Size, 16, 16),
        (Rate, "1KB/s", 1000),
        (Rate, "1mib/s", 1 << 20),
        (Rate, "1Mbps", 125_000),
        (Rate, 40_000, 40_000),
        (Chance, 0.5, 0.5),
        (Chance, 1, 1),
        (Count, 3, 3),
        (Count | None, None, None),
        (Literal["a", "b"] | None, "b", "b"),
        (tuple[Seconds, ...], ["1s", 2], (1.0, 2)),
        (tuple[str, Count], ["a", 2], ("a", 2)),
        (int | str, "a", "a"),
        (bool, True, True),
    ],
)
def test_what_is_right(type_: object, written: object, value: object) -> None:
    """Numbers are in seconds, bytes and bytes a second; texts have their unit."""
    assert value == read_value(written, type_)


@pytest.mark.parametrize(
    ("type_", "written"),
    [
        (Seconds, "250"),
        (Seconds, "-1s"),
        (Seconds, -0.5),
        (Seconds, float("inf")),
        (Seconds, float("nan")),
        (Seconds, "1 fortnight"),
        (Size, "1s"),
        (Size, 1.5),
        (Rate, "0B/s"),
        (Rate, "1mbps"),
        (Chance, 1.1),
        (Chance, "0.5"),
        (Count, 1.0),
        (Count, True),
        (Count, -1),
        (Count, None),
        (Literal["a", "b"], "c"),
        (tuple[Seconds, Seconds], ["1s"]),
        (tuple[str, ...], "a"),
        (tuple[str, ...], [1]),
        (int | str, 1.5),
        (str, 1),
        (bool, 1),
    ],
)
def test_what_is_wrong(type_: object, written: object) -> None:
    """The error says what the value has to be."""
    with pytest.raises(ValueError, match=r"expected .* not "):
        read_value(written, type_)


def test_a_knob_may_be_left_out() -> None:
    """A type with None has the knob of the other."""
    assert (knob_of(Seconds), None) == (knob_of(Seconds | None), knob_of(int))


def test_shown() -> None:
    """As a plan has it, and short."""
    assert ("true", "'a'", 60) == (shown(True), shown("a"), len(shown("a" * 100)))
