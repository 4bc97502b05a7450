"""`latency`: what it is for comes later, and nothing else."""

from __future__ import annotations

import pytest

from mcpmock.faults.fault import PlanError
from mcpmock.faults.kinds.timing import Latency
from mcpmock.faults.match import Match
from tests.faults.faulty import faulty, receipts
from tests.support import call, hangs_up, progress, request, response, s2c

SLOW = Latency(latency=0.25, match=Match(tool="get_*"))


def test_only_what_matches_is_delayed() -> None:
    """A ping answers at once while a slow call waits; times are exact."""
    wire = faulty(SLOW)

    wire.at(1, client=call(1, "get_x"), to_server=call(1, "get_x"))
    wire.at(2.1, server=response(1))
    wire.at(2.2, client=request(2, "ping"), to_server=request(2, "ping"))
    wire.at(2.2, server=response(2), to_client=response(2))
    wire.at(2.1 + 0.25, to_client=response(1)).nothing_more()


def test_another_tool_is_not_delayed() -> None:
    """A call that the match is not for passes at once."""
    wire = faulty(SLOW)

    wire.at(0, client=call(1, "set_x"), to_server=call(1, "set_x"))
    wire.at(1, server=response(1), to_client=response(1)).nothing_more()


def test_order_within_a_direction_is_kept() -> None:
    """With any jitter, what is delayed comes in the order in which it arrived."""
    wire = faulty(Latency(latency=1.0, jitter=1.0))
    for n in range(20):
        wire._take(wire.pipeline.enter([s2c(response(n))], n / 100))
    wire._pass_time(float("inf"))

    assert [response(n) for n in range(20)] == [frame.raw for frame in wire._out]
    wire.abandon()


def test_the_answer_does_not_overtake_its_progress() -> None:
    """What belongs to a call waits for what is held of it."""
    wire = faulty(Latency(latency=1.0, match=Match(method="notifications/progress", tool="x")))
    asked = request(1, "tools/call", {"name": "x"}, token="t")

    wire.at(0, client=asked, to_server=asked).at(1, server=progress("t"))
    wire.at(1.5, server=response(1)).at(2, to_client=[progress("t"), response(1)]).nothing_more()


def test_the_end_waits() -> None:
    """The end of a stream comes behind what is held of it."""
    wire = faulty(SLOW)
    wire.at(0, client=call(1, "get_x"), to_server=call(1, "get_x")).at(1, server=response(1))
    wire.at(1, server=hangs_up(s2c(b"").direction))

    wire.at(1.25, to_client=[response(1), hangs_up(s2c(b"").direction)]).nothing_more()


def test_receipt() -> None:
    """What was drawn is told."""
    wire = faulty(Latency(latency=0.25, jitter=0.05, name="slow"))
    told = receipts(wire)
    wire.at(0, server=response(1))

    [receipt] = told
    assert ("slow", "latency", 1, "response") == tuple(
        receipt[key] for key in ("name", "kind", "fired", "on")
    )
    assert 0.2 <= receipt["drawn"]["seconds"] <= 0.3
    wire.abandon()


def test_empirical_needs_samples() -> None:
    """There has to be something to draw from."""
    with pytest.raises(PlanError, match="needs a cassette"):
        Latency(distribution="empirical")

    wire = faulty(Latency(distribution="empirical", samples=(0.5,)))
    wire.at(0, server=response(1)).at(0.5, to_client=response(1)).nothing_more()
