"""Exchanges of which one side shall not hear."""

from __future__ import annotations

from mcpmock.faults.muted import MutedExchanges
from mcpmock.faults.segments import Unit
from mcpmock.protocol.messages import C2S, S2C
from tests.support import answers, ends, post, request, response, s2c


def test_what_the_server_has_not_heard_of() -> None:
    """Nor does it hear of its end."""
    exchanges = MutedExchanges()
    exchanges.note_sent(Unit(post(1, request(1, "ping"))), [])

    assert exchanges.covers(C2S, 1, ended=True)
    assert not exchanges.covers(C2S, 1, ended=True)
    assert not exchanges


def test_what_the_client_shall_not_hear() -> None:
    """An answer that was taken leaves the exchange open, until its client leaves."""
    exchanges = MutedExchanges()
    exchanges.note_sent(Unit(answers(1, response(1))[:2]), [])

    assert exchanges.covers(S2C, 1, ended=False)
    assert exchanges.covers(S2C, 1, ended=True)
    assert not exchanges.covers(C2S, 1, ended=True)
    assert not exchanges


def test_behind_an_end_nothing_comes() -> None:
    """What a fault has ended, the server does not end again."""
    exchanges = MutedExchanges()
    exchanges.note_sent(Unit(answers(1, response(1))[1:2]), [ends(1, "reset")])
    exchanges.note_sent(Unit([s2c(b"x")]), [])

    assert {1} == exchanges.muted


def test_what_is_over_is_forgotten() -> None:
    """A request that we have answered whole, and the end of an answer itself."""
    exchanges = MutedExchanges()
    exchanges.note_sent(Unit(post(1, request(1, "ping"))), answers(1, response(1)))
    exchanges.note_sent(Unit([ends(2)]), [ends(2)])

    assert not exchanges
