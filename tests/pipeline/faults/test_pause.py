"""`pause`: stopped."""

from __future__ import annotations

from mcpmock.pipeline.faults.match import Match
from mcpmock.pipeline.faults.pause import Pause
from mcpmock.protocol.messages import C2S, S2C
from tests.pipeline.faults.faulty import faulty


def test_nothing_goes_either_way() -> None:
    """For the time; then all of it, in order."""
    wire = faulty(Pause(time=2, match=Match(nth=1)))

    wire.at(0, client=b"a").at(1, server=b"x").at(1, client=b"b")
    wire._pass_time(2)
    assert [(C2S, b"a"), (S2C, b"x"), (C2S, b"b")] == [(f.direction, f.raw) for f in wire._out]
    wire._out.clear()
    wire.at(2, server=b"y", to_client=b"y").nothing_more()
