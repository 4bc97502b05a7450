"""The table of oracles: the worst first, families by their first word, matters of time."""

from __future__ import annotations

from collections.abc import Iterable

from mcpmock.trials.oracle import Broken, Oracle, Oracles, usual_failures


def odd_and_broken(run: str) -> Iterable[Broken]:
    yield Broken("odd", run, "", "odd")
    yield Broken("family:member", run, "")


ORACLES = Oracles((Oracle("odd", odd_and_broken), Oracle("family", odd_and_broken, timed=True)))


def test_the_worst_first() -> None:
    """A judge that two oracles share is asked once."""
    assert ["family:member", "odd"] == [one.oracle for one in ORACLES.judge("run")]


def test_a_member_of_a_family() -> None:
    """Has what its family has."""
    assert ORACLES.of("family:member").timed


def test_usual_failures() -> None:
    """A matter of time counts if most runs have it; what is odd does not."""
    found = [ORACLES.judge("a"), [], [Broken("odd", "b", "")]]

    assert ["odd"] == [one.oracle for one in usual_failures(found, ORACLES)]
    assert ["family:member", "odd"] == [
        one.oracle for one in usual_failures([*found[:1] * 2, found[2]], ORACLES)
    ]
