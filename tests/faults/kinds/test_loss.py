"""Faults that lose messages, where a row of the fault matrix cannot show all that they do."""

from __future__ import annotations

from mcpmock.faults.kinds.loss import BlackHole, Drop, NeverRespond, SseGap
from mcpmock.faults.match import Match
from mcpmock.protocol.messages import C2S, S2C
from tests.support import (
    INITIALIZED,
    answers,
    ends,
    hangs_up,
    opens,
    post,
    progress,
    response,
    says,
)
from tests.support.faulty import ANSWER, CALL, body, engine_of, faulty


def test_drop_over_http() -> None:
    """What would have carried an answer stays open; a notification is accepted all the same."""
    lost = Drop(toward="server", match=Match(method="notifications/*"))
    wire = faulty(lost, transport="streamable-http")

    assert [] == body(Drop(match=Match(tool="x")))
    assert ["1 202 ", "1 eof"] == [
        f"{line} "[:6].rstrip("\n") if "202" in line else line
        for line in wire.hears(0, post(1, INITIALIZED))
    ]


def test_sse_gap_an_event_is_missing() -> None:
    """The others come."""
    stream = [*opens(1), *says(1, progress("t"), id="1"), *says(1, ANSWER, id="2"), ends(1)]
    lost = SseGap(match=Match(method="notifications/progress"))

    assert ["1 200 text/event-stream", "1 sse id=2", "1 " + ANSWER.decode(), "1 eof"] == body(
        lost, CALL, stream
    )


def test_sse_gap_a_body_in_json() -> None:
    """It is an empty stream then."""
    assert ["1 200 text/event-stream", "1 eof"] == body(SseGap())


def test_never_respond_over_http() -> None:
    """The stream stays open, whatever the server does."""
    stream = [*opens(1), *says(1, progress("t")), *says(1, ANSWER), ends(1)]

    assert ["1 200 text/event-stream", "1 " + progress("t").decode()] == body(
        NeverRespond(), CALL, stream
    )
    assert [] == body(NeverRespond(match=Match(tool="x")))


def test_black_hole_nothing_comes_any_more() -> None:
    """From the message on; the other way is open."""
    wire = faulty(BlackHole(match=Match(nth=2)))

    wire.at(0, server=b"a", to_client=b"a").at(0, server=b"b").at(0, server=b"c")
    wire.at(0, client=b"d", to_server=b"d").at(0, server=hangs_up(S2C)).nothing_more().still_there()


def test_black_hole_over_http() -> None:
    """One exchange, not the others."""
    wire = faulty(BlackHole(match=Match(tool="x")), transport="streamable-http")
    wire.hears(0, post(1, CALL))

    assert ["1 200 text/event-stream"] == wire.hears(0, opens(1), says(1, ANSWER), [ends(1)])
    assert 3 == len(wire.hears(0, answers(2, response(2))))


def test_black_hole_an_exchange_that_is_over() -> None:
    """Nothing of it is remembered, whoever has ended it; what comes later is not looked at."""
    wire = faulty(BlackHole(match=Match(tool="x")), transport="streamable-http")
    for number in (1, 2):
        wire.hears(0, post(number, CALL))
        wire.hears(0, opens(number), says(number, ANSWER))
        assert engine_of(wire)._state
        wire.hears(0, [ends(number) if number == 1 else ends(number, direction=C2S)])

        assert not engine_of(wire)._state
