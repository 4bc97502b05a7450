"""Plans as people write them, all that is wrong with one at once, and what they draw from."""

from __future__ import annotations

import re

import pytest

from mcpmock.faults.fault import PlanError
from mcpmock.faults.kinds.timing import Latency
from mcpmock.faults.match import Match
from mcpmock.faults.plan import Plan, fault_of, read_plan, table_of
from mcpmock.faults.registry import KINDS
from tests.support import c, call, cassette, response, s

RECORDED = cassette(
    c(call(1, "slow")), s(response(1)), c(call(2, "quick")), (3.25, "s2c", response(2))
)
PLAN = """
seed = 7

[[fault]]
name    = "slow weather"
kind    = "latency"
toward  = "client"
match   = { method = "tools/call", tool = "get_*", nth = 2, between = ["2s", "5s"] }
latency = "250ms"
jitter  = "50ms"
distribution = "lognormal"
"""
BAD = """
sed = 7
seed = "x"
[[fault]]
kind = "latncy"
[[fault]]
latency = "1s"
[[fault]]
kind = "latency"
latency = "250"
toward = "clinet"
must_fire = 1
colour = "red"
match = { methd = "a", tool = 5, nth = 0, between = ["2s"], probability = 2 }
[[fault]]
kind = "latency"
distribution = "empirical"
"""


def mistakes(text: str, *shorthands: str) -> list[str]:
    with pytest.raises(PlanError) as caught:
        read_plan(text, "p.toml", shorthands)
    return caught.value.mistakes


def path(mistake: str) -> str:
    """Where it is, without what it is."""
    return re.match(r".*?(p.toml|'): [a-z0-9\[\]._]+", mistake)[0]  # type: ignore[index]


def test_a_plan() -> None:
    """A file has the same values as Python."""
    match = Match(method="tools/call", tool="get_*", nth=2, between=(2.0, 5.0))
    slow = Latency(
        name="slow weather",
        toward="client",
        match=match,
        latency=0.25,
        jitter=0.05,
        distribution="lognormal",
    )

    assert Plan(faults=(slow,), seed=7) == read_plan(PLAN, "p.toml")


def test_the_command_line_comes_behind() -> None:
    """Shorthands add to a plan, and a seed overrules its own."""
    plan = read_plan(PLAN, "p.toml", ["latency:latency=1s"], seed=9)

    assert (9, [0.25, 1.0]) == (plan.seed, [fault.latency for fault in plan.faults])  # type: ignore[attr-defined]


def test_all_mistakes_at_once() -> None:
    """Each has its path, and nothing is left for the next try."""
    found = mistakes(BAD, "latency:latency=-1", "nothing")

    assert [
        "p.toml: fault[0].kind",
        "p.toml: fault[1].kind",
        "p.toml: fault[2].toward",
        "p.toml: fault[2].must_fire",
        "p.toml: fault[2].latency",
        "p.toml: fault[2].match.tool",
        "p.toml: fault[2].match.nth",
        "p.toml: fault[2].match.between",
        "p.toml: fault[2].match.probability",
        "p.toml: fault[2].match.methd",
        "p.toml: fault[2].colour",
        "p.toml: fault[3].distribution",
        "p.toml: seed",
        "p.toml: sed",
        "--fault 'latency:latency=-1': latency",
        "--fault 'nothing': kind",
    ] == [path(mistake) for mistake in found]


def test_neighbours() -> None:
    """An unknown kind or key is answered with the nearest names, never with all kinds."""
    unknown = mistakes('[[fault]]\nkind = "latncy"\n')[0]
    key = mistakes('[[fault]]\nkind = "latency"\nmatch = { methd = "a" }\n')[0]

    assert "unknown kind 'latncy'; did you mean latency" in unknown
    assert "; `mcpmock faults` lists all kinds" in mistakes("[[fault]]\n")[0]
    assert len([kind for kind in KINDS if kind in unknown.split(";")[1]]) <= 3
    assert "did you mean method? known: after, between," in key


@pytest.mark.parametrize("text", ["[[fault", "fault = 3", "[[fault]]\nkind = 3", "fault = [3]"])
def test_what_is_no_plan(text: str) -> None:
    """It is refused in words."""
    assert 1 == len(mistakes(text))


def test_shorthand() -> None:
    """Words of `match` go there; texts need no quotes; lists and quotes hold commas."""
    assert {
        "kind": "latency",
        "latency": "200ms",
        "name": "a,b",
        "match": {"tool": "get_*", "nth": 2, "between": ["1s", "2s"], "method": "x=y"},
    } == table_of(
        "latency:latency=200ms,tool=get_*,nth=2,between=['1s','2s'],name='a,b',match.method=x=y"
    )
    assert Latency(latency=0.2, match=Match(tool="get_*")) == fault_of(
        "latency:latency=200ms,tool=get_*"
    )


def test_a_shorthand_without_values() -> None:
    """Every word needs its value."""
    with pytest.raises(PlanError, match=r"'a' has no value"):
        fault_of("latency:a")


def sampled(match: Match) -> tuple[float, ...]:
    slow = Latency(distribution="empirical", cassette="a.jsonl", match=match)
    fault = slow.with_samples({"a.jsonl": RECORDED}.__getitem__)
    return fault.samples


def test_latencies_of_the_calls_that_match() -> None:
    """Each fault draws from the calls that it is for."""
    assert (1.0, 0.25) == sampled(Match())
    assert (0.25,) == sampled(Match(tool="q*"))


def test_nothing_to_draw_from() -> None:
    """A recording without such a call is a mistake in the plan."""
    with pytest.raises(PlanError, match=r"a\.jsonl has no answered call"):
        sampled(Match(tool="x"))
