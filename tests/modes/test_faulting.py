"""Where faults stand in a session."""

from __future__ import annotations

from mcpmock.modes.faulting import with_faults
from mcpmock.pipeline.faults.drop import Drop
from mcpmock.pipeline.faults.engine import Faults
from mcpmock.pipeline.faults.plan import Plan
from mcpmock.pipeline.faults.receipts import FaultRun
from mcpmock.pipeline.recorder import Ledger, Recorder
from tests.helpers import c2s, call, response, s2c, script
from tests.pipeline.test_recorder import Tape


def test_without_a_plan_there_are_none() -> None:
    """The recorders alone."""
    recorder = Recorder(Ledger(Tape().append))

    assert [recorder] == with_faults([recorder], None)


def test_the_recording_has_what_the_client_got_and_a_receipt() -> None:
    """In front of what came of it."""
    tape = Tape()
    run = FaultRun.of(Plan(faults=(Drop(),)))
    stages = with_faults([Recorder(Ledger(tape.append), session=2)], run, session=2)
    wire = script(*stages)
    wire.at(0, client=call(1, "x"), to_server=call(1, "x")).at(1, server=response(1))

    assert isinstance(stages[1], Faults)
    events = tape.events()
    assert [call(1, "x"), None] == [event.payload for event in events]
    assert (2, 2, "s2c", {"kind": "drop", "fired": 1, "on": "response"}) == (
        events[1].n,
        events[1].s,
        events[1].d,
        {key: events[1].fault[key] for key in ("kind", "fired", "on")},
    )


def test_a_full_disk_is_a_gap() -> None:
    """The fault happens all the same, and the receipt is counted as lost."""
    tape = Tape(full=True)
    ledger = Ledger(tape.append)
    wire = script(*with_faults([Recorder(ledger)], FaultRun.of(Plan(faults=(Drop(),)))))
    wire.at(0, server=response(1)).nothing_more()

    assert 1 == ledger.lost
    tape.full = False
    wire.at(1, client=c2s(b"{}"), to_server=b"{}").at(2, server=s2c(b"[]"))
    assert [(1, 0)] == tape.gaps()
