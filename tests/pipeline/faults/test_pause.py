"""`pause`: stopped."""

from __future__ import annotations

from mcpmock.pipeline.faults.match import Match
from mcpmock.pipeline.faults.pause import Pause
from tests.pipeline.faults.faulty import faulty


def test_nothing_goes_either_way() -> None:
    """For the time; then all of it, in order."""
    wire = faulty(Pause(time=2, match=Match(nth=1)))

    wire.at(0, client=b"a").at(1, server=b"x").at(1, client=b"b")
    wire.at(2, to_client=b"x", to_server=[b"a", b"b"]).at(2, server=b"y", to_client=b"y")
    wire.nothing_more()
