"""`black_hole`: nothing more."""

from __future__ import annotations

from mcpmock.faults.kinds.loss import BlackHole
from mcpmock.faults.match import Match
from mcpmock.protocol.messages import C2S, S2C
from tests.faults.faulty import ANSWER, CALL, faults_of, faulty
from tests.support import answers, ends, hangs_up, opens, post, response, says


def test_nothing_comes_any_more() -> None:
    """From the message on; the other way is open."""
    wire = faulty(BlackHole(match=Match(nth=2)))

    wire.at(0, server=b"a", to_client=b"a").at(0, server=b"b").at(0, server=b"c")
    wire.at(0, client=b"d", to_server=b"d").at(0, server=hangs_up(S2C)).nothing_more().still_there()


def test_over_http() -> None:
    """One exchange, not the others."""
    wire = faulty(BlackHole(match=Match(tool="x")), transport="streamable-http")
    wire.hears(0, post(1, CALL))

    assert ["1 200 text/event-stream"] == wire.hears(0, opens(1), says(1, ANSWER), [ends(1)])
    assert 3 == len(wire.hears(0, answers(2, response(2))))


def test_an_exchange_that_is_over() -> None:
    """Nothing of it is remembered, whoever has ended it; what comes later is not looked at."""
    wire = faulty(BlackHole(match=Match(tool="x")), transport="streamable-http")
    for number in (1, 2):
        wire.hears(0, post(number, CALL))
        wire.hears(0, opens(number), says(number, ANSWER))
        assert faults_of(wire)._is_busy()
        wire.hears(0, [ends(number) if number == 1 else ends(number, direction=C2S)])

        assert not faults_of(wire)._is_busy()
