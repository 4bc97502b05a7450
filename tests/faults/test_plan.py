"""The faults of a run, and the recordings that they draw from."""

from __future__ import annotations

import pytest

from mcpmock.faults.fault import PlanError
from mcpmock.faults.kinds.timing import Latency
from mcpmock.faults.match import Match
from mcpmock.faults.plan import Plan
from tests.support import c, call, cassette, response, s

RECORDED = cassette(
    c(call(1, "slow")), s(response(1)), c(call(2, "quick")), (3.25, "s2c", response(2))
)


def sampled(match: Match) -> tuple[float, ...]:
    slow = Latency(distribution="empirical", cassette="a.jsonl", match=match)
    [fault] = Plan(faults=(slow,)).with_samples({"a.jsonl": RECORDED}.__getitem__).faults
    assert isinstance(fault, Latency)
    return fault.samples


def test_latencies_of_the_calls_that_match() -> None:
    """Each fault draws from the calls that it is for."""
    assert (1.0, 0.25) == sampled(Match())
    assert (0.25,) == sampled(Match(tool="q*"))


def test_nothing_to_draw_from() -> None:
    """A recording without such a call is a mistake in the plan."""
    with pytest.raises(PlanError, match=r"a\.jsonl has no answered call"):
        sampled(Match(tool="x"))


def test_nothing_to_load() -> None:
    """Other faults stay as they are."""
    plan = Plan(faults=(Latency(latency=1),))

    assert plan == plan.with_samples(lambda name: RECORDED)
