"""A session that is recorded from its beginning, once somebody says so."""

from __future__ import annotations

from mcpmock.pipeline.stage import PASS
from mcpmock.recording.deferred import DeferredRecorder
from mcpmock.recording.recorder import Ledger, Recorder
from tests.support import INITIALIZE, WELCOME, c2s, s2c
from tests.support.tape import Tape


def test_until_then_nothing_is_noted() -> None:
    """Then all of it, at the times it happened, before what comes next passes."""
    tape, late = Tape(), DeferredRecorder()
    ledger = Ledger(tape.append)
    ledger.time(0.0)
    late.begin(0.0)
    assert late.feed([c2s(INITIALIZE)], 1.0) is PASS
    late.feed([s2c(WELCOME)], 2.0)
    assert [] == tape.lines
    late.receipt({"kind": "drop"}, s2c(WELCOME), 3.0)
    late.release(Recorder(ledger, 3))
    late.feed([c2s(INITIALIZE)], 5.0)
    late.receipt({"kind": "delay"}, c2s(INITIALIZE), 6.0)

    events = tape.events()
    assert [INITIALIZE, WELCOME, None, INITIALIZE, None] == [event.payload for event in events]
    assert [{"kind": "drop"}, {"kind": "delay"}] == [events[n].fault for n in (2, 4)]
    assert [(t * 1_000_000, 3) for t in (1, 2, 3, 5, 6)] == [(one.t, one.s) for one in events]


def test_what_is_held_is_bounded() -> None:
    """Of a session that said more, what was first is a gap."""
    tape, late = Tape(), DeferredRecorder(most=len(WELCOME) + 1)
    late.feed([c2s(INITIALIZE)], 1.0)
    late.feed([s2c(WELCOME)], 2.0)
    late.release(Recorder(Ledger(tape.append), 1))

    assert [(1, len(INITIALIZE) + 1)] == tape.gaps()
    assert [None, WELCOME] == tape.payloads()
