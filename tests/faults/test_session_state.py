"""What faults leave for what comes next: lines that frames stand in, and muted exchanges."""

from __future__ import annotations

from mcpmock.faults.match import Subject
from mcpmock.faults.segments import Unit
from mcpmock.faults.session_state import MutedExchanges, SessionState, lines_of, way_of
from mcpmock.protocol.correlation import PendingCall
from mcpmock.protocol.messages import C2S, S2C, Request, parse
from tests.support import answers, c2s, ends, hangs_up, post, request, response, s2c, says

CALL = request(1, "tools/call", {"name": "x"})


def about(frame: object) -> Subject:
    asked = parse(CALL)
    assert isinstance(asked, Request)
    return Subject(frame, None, "tools/call", PendingCall(0, C2S, asked, None))  # type: ignore[arg-type]


def test_lines() -> None:
    """A call's, an exchange's, a stream's for its end; beside an event stream none of a call."""
    call, other = (S2C, C2S, b"1"), s2c(b"x")
    answer, end, told = s2c(response(1)), hangs_up(S2C), says(3, response(1))

    assert [call] == list(lines_of([answer], about(answer), None))
    assert [] == list(lines_of([other], Subject(other, None, None), None))
    assert [(S2C, None), ("end", S2C, None)] == list(
        lines_of([end], Subject(end, None, None), None)
    )
    assert [call, (S2C, 3)] == list(lines_of(told, about(told[-1]), None))
    assert [call] == list(lines_of(told, about(told[-1]), 3))
    assert [(S2C, 4), ("end", S2C, 4)] == list(lines_of([ends(4)], about(ends(4)), 3))
    assert (C2S, None) == way_of([c2s(b"x")])


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


def test_what_may_concern_what_comes_next() -> None:
    """A muted exchange, and a way on which everything is lost."""
    muted, lost = SessionState(), SessionState()
    assert not muted

    muted.mute(3)
    lost.lose_rest([c2s(b"x")])
    assert muted
    assert lost
