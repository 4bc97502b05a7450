"""`delay`: a fixed time."""

from __future__ import annotations

from mcpmock.faults.kinds.timing import Delay
from mcpmock.faults.match import Match
from tests.faults.faulty import ANSWER, CALL, faulty
from tests.support import answers, post, shown


def test_it_comes_later() -> None:
    """Counted from its arrival."""
    wire = faulty(Delay(delay=2))

    wire.at(1, server=ANSWER).at(1, client=CALL, to_server=CALL).at(3, to_client=ANSWER)


def test_over_http() -> None:
    """The whole answer."""
    wire = faulty(Delay(delay=2, match=Match(tool="x")), transport="streamable-http")

    assert 2 == len(wire.hears(0, post(1, CALL)))
    assert [] == wire.hears(1, answers(1, ANSWER))
    assert shown(answers(1, ANSWER)) == wire.later(3)
