"""The counts of latencies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpmock.histogram import Histogram

VALUES = st.lists(st.integers(0, 10**10))


def counted(*values: int) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    return histogram


@pytest.mark.parametrize(
    ("value", "bound"),
    [(0, 0), (999, 999), (1000, 1000), (1001, 1010), (9991, 10_000), (10_001, 10_100)],
)
def test_bounds(value: int, bound: int) -> None:
    """A value counts at the next number of three digits and noughts."""
    assert {bound: 1} == counted(value).buckets


@given(VALUES.filter(bool), st.floats(0, 1))
def test_a_percentile_is_less_than_a_hundredth_too_high(values: list[int], share: float) -> None:
    """It is never too low. Half of the values do not exceed the half, and all do not exceed 1."""
    exact = sorted(values)[max(-int(-share * len(values) // 1) - 1, 0)]
    found = counted(*values).percentile(share)

    assert found is not None
    assert exact <= found <= exact * 1.01


@given(VALUES, VALUES)
def test_two_add_up(some: list[int], others: list[int]) -> None:
    """As if all had been counted in one."""
    both = counted(*some)
    both.include(counted(*others))

    assert counted(*some, *others).buckets == both.buckets
    assert len(some) + len(others) == both.count


def test_without_values() -> None:
    """There is no percentile."""
    assert None is counted().percentile(0.5)
