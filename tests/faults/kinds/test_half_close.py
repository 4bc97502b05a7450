"""`half_close`: half an end."""

from __future__ import annotations

from mcpmock.faults.kinds.connection import HalfClose
from mcpmock.faults.match import Match
from mcpmock.protocol.messages import S2C
from tests.faults.faulty import faulty
from tests.support import hangs_up


def test_its_output_ends() -> None:
    """It says no more, and hears still."""
    wire = faulty(HalfClose(match=Match(nth=1)))

    wire.at(0, server=b"a", to_client=[b"a", hangs_up(S2C)]).at(0, server=b"b")
    wire.at(0, client=b"c", to_server=b"c").nothing_more().still_there()
