"""`backpressure`: nobody reads."""

from __future__ import annotations

from mcpmock.faults.kinds.timing import Backpressure
from mcpmock.protocol.messages import C2S, S2C
from tests.faults.faulty import CALL, faulty


def test_nothing_more_is_read() -> None:
    """The message passes, and its direction is halted for the time; the other is not."""
    wire = faulty(Backpressure(time=2))
    wire.at(1, client=CALL, to_server=CALL)

    assert (3, None) == (wire.pipeline.halted_until(C2S), wire.pipeline.halted_until(S2C))
    wire.nothing_more()
