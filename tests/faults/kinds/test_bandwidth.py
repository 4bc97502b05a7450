"""`bandwidth`: slow bytes."""

from __future__ import annotations

from mcpmock.faults.kinds.timing import Bandwidth
from mcpmock.faults.match import Match
from mcpmock.protocol.messages import S2C, Fragment, Frame
from tests.faults.faulty import faulty


def test_it_comes_at_its_rate() -> None:
    """A piece every tenth of a second, the last when all of it would have come; others wait."""
    wire = faulty(Bandwidth(rate=100, match=Match(nth=1)))

    wire.at(0, server=b"x" * 24).at(0, server=b"y").at(0, client=b"z", to_server=b"z")
    first, second, third = (
        Frame(S2C, b"x" * 10, b"", Fragment()),
        Frame(S2C, b"x" * 10, b"", Fragment()),
        Frame(S2C, b"x" * 4, b"\n", Fragment(last=True)),
    )
    wire.at(0.1, to_client=first).at(0.2, to_client=second).at(0.25, to_client=[third, b"y"])
    wire.nothing_more()
