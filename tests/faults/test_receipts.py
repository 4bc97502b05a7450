"""The faults of a run: what they count and what is told of them."""

from __future__ import annotations

from mcpmock.faults.kinds.timing import Latency
from mcpmock.faults.match import Match
from mcpmock.faults.plan import Plan
from mcpmock.faults.races.fault import CancelRace
from mcpmock.faults.receipts import FaultRun
from mcpmock.faults.segments import On
from mcpmock.protocol.messages import C2S, S2C
from tests.support import call, response, s2c
from tests.support.faulty import engine_of, faulty, receipts


def test_a_receipt() -> None:
    """Which fault, how many times so far, on what, with what it drew."""
    wire = faulty(Latency(name="slow", latency=0.5, match=Match(tool="x")))
    told = receipts(wire)
    wire.at(0, client=call("a", "x"), to_server=call("a", "x")).at(0, server=response("a"))

    assert [
        {
            "name": "slow",
            "kind": "latency",
            "fired": 1,
            "on": "response",
            "method": "tools/call",
            "id": '"a"',
            "drawn": {"seconds": 0.5},
        }
    ] == told
    wire.abandon()


def test_the_summary() -> None:
    """Which fired how often, which never did, and which of those had to."""
    wire = faulty(
        Latency(match=Match(nth=2)),
        Latency(name="never", must_fire=True, match=Match(tool="x")),
    )
    for _ in range(3):
        wire.pipeline.enter([s2c(response(1))], 0)
    run = engine_of(wire).run

    assert [
        "fault latency: fired 1 of 3 times that it matched",
        "fault never (latency): never fired, and it must: nothing matched",
    ] == run.summary()
    assert ["never"] == [fault.title for fault in run.owing()]
    assert [(1, 3), (0, 0)] == [(tally["fired"], tally["matched"]) for tally in run.tallies()]


def test_faults_may_change_while_it_runs() -> None:
    """One that is added acts from then on; one that is removed no more, and is still counted."""
    wire = faulty()
    run = engine_of(wire).run
    wire.at(0, server=response(1), to_client=response(1))
    armed = run.add(Latency(latency=1))
    wire.at(0, server=response(1))
    run.remove(armed)
    wire.at(0.5, server=response(2), to_client=response(2)).at(1, to_client=response(1))
    run.clear()

    assert ["fault latency: fired 1 of 1 times that it matched"] == run.summary()


def test_what_is_worth_a_look() -> None:
    """The bytes that tell, and whether any message may be meant."""
    run = FaultRun.of(Plan(faults=(Latency(match=Match(tool="get_*")),)))
    assert ({C2S: [b'"get_'], S2C: []}, False, On.MESSAGE) == (
        run.interest.needles,
        run.interest.wide,
        run.interest.acts_on,
    )
    run.add(CancelRace(cell="cancel_before_start", match=Match(tool="x")))
    overheard = [b'"get_', b'"x"', b"notifications/cancelled"]
    assert {C2S: overheard, S2C: []} == run.interest.needles
    run.add(Latency(match=Match(probability=0)))
    assert not run.interest.wide
    run.add(Latency())
    assert run.interest.wide


def test_one_fault_does_not_disturb_the_dice_of_another() -> None:
    """Each has dice of its own, from the seed and its place in the plan."""
    jitter = Latency(latency=1, jitter=1)

    def drawn(*faults: Latency) -> float:
        wire = faulty(*faults)
        told = receipts(wire)
        wire.abandon().pipeline.enter([s2c(response(1))], 0)
        return float(told[0]["drawn"]["seconds"])

    assert drawn(jitter) == drawn(jitter, jitter) == drawn(jitter, Latency(jitter=2))
