"""`reset_peer`: reset."""

from __future__ import annotations

from mcpmock.faults.kinds.connection import ResetPeer
from mcpmock.faults.match import Match
from mcpmock.protocol.messages import S2C
from tests.faults.faulty import ANSWER, CALL, faulty
from tests.support import answers, hangs_up, post


def test_a_reset() -> None:
    """On stdio the session ends."""
    faulty(ResetPeer()).at(0, server=ANSWER, to_client=hangs_up(S2C, "reset")).hung_up()


def test_over_http() -> None:
    """The connection of this exchange."""
    wire = faulty(ResetPeer(after=1, match=Match(tool="x")), transport="streamable-http")
    wire.hears(0, post(1, CALL))

    assert [] == wire.hears(1, answers(1, ANSWER))
    assert ["1 reset"] == wire.later(2)
