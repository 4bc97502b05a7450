"""`hold`: all behind it waits."""

from __future__ import annotations

from mcpmock.faults.kinds.timing import Hold
from mcpmock.faults.match import Match
from tests.faults.faulty import faulty


def test_all_behind_it_waits() -> None:
    """What goes the other way does not."""
    wire = faulty(Hold(time=2, match=Match(nth=1)))

    wire.at(0, server=b"a").at(1, server=b"b").at(1, client=b"c", to_server=b"c")
    wire.at(2, to_client=[b"a", b"b"]).at(2, server=b"d", to_client=b"d").nothing_more()
