"""What is enumerated of a session, and in which order."""

from __future__ import annotations

from mcpmock.cassette.file import load
from mcpmock.explore.enumeration import Space
from mcpmock.explore.variant import variant_of
from tests.support.explored import RECORDED

EVENTS = load(RECORDED).takes[0].events


def space(**given: object) -> Space:
    return Space(side="server", events=EVENTS, kinds=[], **given)  # type: ignore[arg-type]


def test_steps_take_turns() -> None:
    """Any stretch of runs has its share of cancels, orders and lost connections."""
    steps = [one.step for one in space(resumes=True).variants()]

    assert {step: steps.count(step) for step in set(steps)} == {
        "cells": 25,
        "orders": 15,
        "resumes": 13,
    }
    for at in range(0, len(steps) - 9, 9):
        assert {"cells", "orders", "resumes"} == set(steps[at : at + 9])


def test_lost_connections() -> None:
    """Before the first message of each call, and behind each but the answer."""
    lost = [one for one in space(resumes=True, only=3).variants() if one.step == "resumes"]

    places = ["before its first message", *(f"behind message {n}" for n in (1, 2, 3))]
    assert places == [one.changes[0].at for one in lost]
    again = [variant_of(one.plan(0)).changes[0].disconnect for one in lost]
    assert [one.changes[0].disconnect for one in lost] == again
    assert [] == [one for one in space().variants() if one.step == "resumes"]
