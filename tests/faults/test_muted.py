"""Exchanges of which one side shall not hear."""

from __future__ import annotations

from mcpmock.faults.muted import MutedExchanges
from mcpmock.faults.segments import Unit
from mcpmock.protocol.messages import C2S, S2C
from tests.support import answers, ends, post, request, response, s2c


def test_what_the_server_has_not_heard_of() -> None:
    """Nor does it hear of its end."""
    silence = MutedExchanges()
    silence.after(Unit(post(1, request(1, "ping"))), [], mute=False)

    assert silence.covers(C2S, 1, ended=True)
    assert not silence.covers(C2S, 1, ended=True)
    assert not silence


def test_what_the_client_shall_not_hear() -> None:
    """An answer that was taken leaves the exchange open, until its client leaves."""
    silence = MutedExchanges()
    silence.after(Unit(answers(1, response(1))[:2]), [], mute=False)

    assert silence.covers(S2C, 1, ended=False)
    assert silence.covers(S2C, 1, ended=True)
    assert not silence.covers(C2S, 1, ended=True)
    assert not silence


def test_behind_an_end_nothing_comes() -> None:
    """What a fault has ended, the server does not end again."""
    silence = MutedExchanges()
    silence.after(Unit(answers(1, response(1))[1:2]), [ends(1, "reset")], mute=False)
    silence.after(Unit([s2c(b"x")]), [], mute=True)

    assert {1} == silence.muted


def test_what_is_over_is_forgotten() -> None:
    """A request that we have answered whole, and the end of an answer itself."""
    silence = MutedExchanges()
    silence.after(Unit(post(1, request(1, "ping"))), answers(1, response(1)), mute=False)
    silence.after(Unit([ends(2)]), [ends(2)], mute=False)

    assert not silence
