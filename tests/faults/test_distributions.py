"""How long, drawn anew each time."""

from __future__ import annotations

from random import Random
from statistics import fmean, stdev

import pytest

from mcpmock.faults.distributions import Distribution, draw


def drawn(distribution: Distribution, samples: tuple[float, ...] = ()) -> list[float]:
    random = Random(1)
    return [draw(0.5, 0.1, distribution, samples, random) for _ in range(4000)]


def test_fixed() -> None:
    """Always the same, and nothing is drawn."""
    assert {0.5} == set(drawn("fixed"))


@pytest.mark.parametrize(
    ("distribution", "deviation"), [("uniform", 0.0577), ("normal", 0.1), ("lognormal", 0.1)]
)
def test_around_the_mean(distribution: Distribution, deviation: float) -> None:
    """The middle is the mean, and the jitter what it is for each of them."""
    found = drawn(distribution)

    assert 0.495 < fmean(found) < 0.505
    assert deviation * 0.93 < stdev(found) < deviation * 1.07
    assert found == drawn(distribution)


def test_uniform_has_bounds() -> None:
    """The jitter is half its width."""
    assert (True, True) == (0.4 <= min(drawn("uniform")), max(drawn("uniform")) <= 0.6)


def test_never_below_zero() -> None:
    """Nothing comes before it arrives."""
    random = Random(1)

    assert 0.0 == min(draw(0.1, 5.0, "normal", (), random) for _ in range(100))
    assert 0.0 == draw(0.0, 1.0, "lognormal", (), random)


def test_empirical() -> None:
    """One of the samples, and the latency on top."""
    assert {1.5, 2.5} == set(drawn("empirical", (1.0, 2.0)))
