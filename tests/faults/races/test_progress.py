"""What is remembered of a call on its way to its cell."""

from __future__ import annotations

from mcpmock.faults.races.fault import RaceProgress
from mcpmock.faults.races.grid import Cell
from mcpmock.faults.segments import On
from mcpmock.protocol.correlation import PendingCall
from mcpmock.protocol.messages import C2S, Frame, Request, parse
from tests.support import ends, progress, request, response, says, seen

ANSWER = response(1)


def race(own: int | None = None) -> RaceProgress:
    asked = parse(request(1, "tools/call"))
    assert isinstance(asked, Request)
    return RaceProgress(PendingCall(0, C2S, asked, None), own)


def event(x: int, n: int, raw: bytes) -> list[Frame]:
    return says(x, raw, id=f"3-{n}")


def shown(frames: list[Frame] | None) -> list[tuple[int | None, bytes]]:
    return [(frame.exchange, frame.raw) for frame in frames or [] if frame.fact is None]


def test_what_is_given_and_what_waits() -> None:
    """They make the cell, together with what crossed."""
    call = race()
    for on in (On.NOTIFICATION, On.NOTIFICATION):
        call.count(on, None)
    call.give(On.NOTIFICATION, says(3, progress("t")))
    call.keep(On.NOTIFICATION, says(3, progress("t", 2)), 30)
    call.keep(On.RESPONSE, says(3, ANSWER), 30)

    assert call.waits()
    assert [On.NOTIFICATION, On.RESPONSE] == [on for on, _ in call.take()]
    assert not call.waits()
    call.emitted = 2
    assert {"i": 1, "j": 2, "cell": "cancel_crosses_progress"} == call.reached()
    for on in (On.RESPONSE, On.CLOSE, On.RESPONSE):
        call.count(on, None)
    assert {"i": 1, "j": 2, "k": 3, "cell": Cell(1, 2, 3).name} == call.reached()
    assert (C2S, b"1") == call.key


def test_what_has_waited_too_long() -> None:
    """It came out by itself, so it was given; nothing waits any more."""
    call = race()
    keep = call.keep(On.RESPONSE, says(3, ANSWER), 30)
    assert not call.hurried

    keep.take()
    assert not call.waits()
    assert (1, True, True) == (call.given, call.answered, call.hurried)
    assert [] == call.take()


def test_events_that_come_again() -> None:
    """As they came, where they wait now, or what came in their place."""
    call = race(own=3)
    assert call.again(event(3, 1, ANSWER)) is None
    call.give(On.NOTIFICATION, event(3, 1, progress("t")))
    keep = call.keep(On.RESPONSE, event(3, 2, ANSWER), 30)
    assert call.resumable

    assert [(6, progress("t"))] == shown(call.again(event(6, 1, progress("t"))))
    assert [] == call.again(event(6, 2, ANSWER))
    assert [(6, ANSWER)] == shown(keep.frames)
    call.settle(event(6, 2, ANSWER), [Frame(C2S, b"x", exchange=6)])
    assert [(7, b"x")] == shown(call.again(event(7, 2, ANSWER)))


def test_events_whose_time_was_over() -> None:
    """They went as they came, and go so again."""
    call = race(own=3)
    call.keep(On.RESPONSE, event(3, 1, ANSWER), 30).take()

    assert [(6, ANSWER)] == shown(call.again(event(6, 1, ANSWER)))


def test_nobody_listens() -> None:
    """On an exchange that was left, and behind the end of one."""
    call = race(own=3)
    call.comes_on(6)
    assert [True, True, False] == [call.carries(x) for x in (3, 6, None)]
    call.leave(3)
    last = ends(6)

    assert [seen(last)] == [seen(f) for f in call.settle([last], [*says(3, ANSWER), last, ends(6)])]
    one_stream = race()
    one_stream.comes_on(1)
    assert not one_stream.carries(1)
    assert not one_stream.resumable
