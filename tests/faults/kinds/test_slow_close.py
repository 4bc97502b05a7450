"""`slow_close`: late ends."""

from __future__ import annotations

from mcpmock.faults.kinds.timing import SlowClose
from mcpmock.protocol.messages import S2C
from tests.faults.faulty import ANSWER, faulty
from tests.support import answers, exits, hangs_up


def test_the_end_comes_later() -> None:
    """What was said before does not, and the exit comes behind it."""
    wire = faulty(SlowClose(delay=2))

    wire.at(0, server=ANSWER, to_client=ANSWER).at(1, server=hangs_up(S2C)).at(1, server=exits(3))
    wire.at(3, to_client=[hangs_up(S2C), exits(3)]).nothing_more()


def test_over_http() -> None:
    """The end of an exchange."""
    wire = faulty(SlowClose(delay=2), transport="streamable-http")

    assert 2 == len(wire.hears(0, answers(1, ANSWER)))
    assert ["1 eof"] == wire.later(2)
