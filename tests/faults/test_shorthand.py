"""Faults as the command line takes them."""

from __future__ import annotations

import math

import pytest

from mcpmock.faults.fault import Fault
from mcpmock.faults.kinds.connection import ResetPeer
from mcpmock.faults.kinds.content import Replace, WrongId
from mcpmock.faults.kinds.errors import ToolError
from mcpmock.faults.kinds.loss import Drop
from mcpmock.faults.kinds.timing import Bandwidth, Latency
from mcpmock.faults.match import Match
from mcpmock.faults.plan import Plan, fault_of, read_plan
from mcpmock.faults.races.fault import CancelRace
from mcpmock.faults.shorthand import plan_text, shorthand_of

FAULTS = [
    Drop(),
    Drop(name="lost, all", toward="both", must_fire=True, match=Match(nth=2, id="7", tool="a*")),
    Latency(latency=1e-05, jitter=0.1, match=Match(between=(0.25, 2.0), probability=0.1)),
    Bandwidth(rate=1 << 16),
    ResetPeer(after=1, match=Match(after=2, nth=3)),
    WrongId(id=5, match=Match(id=6)),
    CancelRace(i=0, j=2, reaction="late_result", match=Match(path="$.a", equals=[1, "b"])),
    ToolError(text="kaputt, wie gewünscht"),
    Replace(text='{"a": "b, c"}'),
    Replace(text="it's, x"),
    *(
        Drop(match=Match(path="$.arguments", equals=value))
        for value in (
            {"city": "Oslo", "in-it": [1.5, 1e300], "b_2": True},
            {"a b": 1, "a.b": 2, "é": 3, "": 4, 'q"': 5, "new\nline": 6},
            [math.inf, {"x y": {"z": "\x7f"}}],
        )
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.title)
def test_there_and_back(fault: Fault) -> None:
    """What is spelled means the same, on the command line and in a file."""
    spelled = shorthand_of(fault)

    assert spelled is not None
    assert fault == fault_of(spelled)
    assert (fault,) == read_plan(plan_text(Plan(faults=(fault,))), "p.toml").faults


def test_what_has_no_spelling() -> None:
    """Quotes in quotes, and null, which TOML has not."""
    assert shorthand_of(Drop(match=Match(path="$.a", equals={"b": None}))) is None
    assert shorthand_of(Replace(text="'x\", y")) is None
    assert "drop" == shorthand_of(Drop())
    assert "tool_error:text=not now" == shorthand_of(ToolError(text="not now"))
