"""The `[schedule]` of a plan: read with all its mistakes, written, and applied to a recording."""

from __future__ import annotations

import pytest

from mcpmock.faults.event_order import EventOrder, written_order
from mcpmock.faults.fault import PlanError
from mcpmock.faults.kinds.cancel import Cancel
from mcpmock.faults.kinds.timing import Delay
from mcpmock.faults.plan import Plan, read_plan
from mcpmock.faults.shorthand import plan_text
from tests.support import OPENING, c, call, cassette, response, s

RECORDED = cassette(*OPENING, c(call(1, "a")), s(response(1)), c(call(2, "b")), s(response(2)))


def numbers(order: EventOrder) -> list[int]:
    return [event.n for event in order.applied(RECORDED).takes[0].events]


def test_order_and_keep() -> None:
    """A move puts one event directly in front of another; what is not kept is left out."""
    assert [1, 2, 3, 4, 6, 5, 7] == numbers(EventOrder(order=("6 before 5",)))
    assert [1, 2, 3, 6, 7] == numbers(EventOrder(order=("6 before 5",), keep=(1, 2, 3, 6, 7)))


def test_written_plans_are_read() -> None:
    """With the schedule and with every knob that has another value than usual."""
    cancel = Cancel(i=2, behind="question", match={"method": "tools/call", "id": 'a "b"'})
    delay = Delay(delay=0.05, toward="server", name="slow", match={"nth": 2})
    order = EventOrder(
        take=2, session=3, order=("6 before 5",), disconnect=(4,), keep=(1, 2), strict=True
    )
    plan = Plan(faults=(cancel, delay), seed=7, schedule=order)

    assert plan == read_plan(plan_text(plan), "plan.toml")


@pytest.mark.parametrize(
    ("order", "lines"),
    [
        (EventOrder(), []),
        (EventOrder(take=2), ["take = 2"]),
        (EventOrder(session=2), ["session = 2"]),
        (EventOrder(order=("6 before 5", "7 before 5")), ['order = ["6 before 5", "7 before 5"]']),
        (EventOrder(disconnect=(4, 6)), ["disconnect = [4, 6]"]),
        (EventOrder(keep=()), ["keep = []"]),
        (EventOrder(keep=(1, 2)), ["keep = [1, 2]"]),
        (EventOrder(strict=True), ["strict = true"]),
    ],
)
def test_only_what_is_not_usual_is_written(order: EventOrder, lines: list[str]) -> None:
    """A plan says no more than it has to."""
    assert ["[schedule]", *lines] == list(written_order(order))


NUMBERS = "a list; each a whole number from 1"
KNOWN = "disconnect, keep, order, session, strict, take"


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ('order = ["6"]', "schedule.order: expected a move as '7 before 6', not '6'"),
        ("disconnect = 3", f"schedule.disconnect: expected {NUMBERS}, not 3"),
        ("keep = [0]", "schedule.keep: expected a whole number from 1, not 0"),
        ("take = 0", "schedule.take: expected a whole number from 1, not 0"),
        ("strict = 1", "schedule.strict: expected true or false, not 1"),
        ("ordre = []", f"schedule.ordre: unknown key; did you mean order? known: {KNOWN}"),
    ],
)
def test_mistakes(text: str, mistake: str) -> None:
    """Each with its path."""
    with pytest.raises(PlanError) as error:
        read_plan(f"[schedule]\n{text}\n", "plan.toml")

    assert [f"plan.toml: {mistake}"] == error.value.mistakes
