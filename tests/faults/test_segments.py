"""Frames in the pieces that faults act on."""

from __future__ import annotations

from mcpmock.faults.segments import Held, On, UnitSplitter
from mcpmock.protocol.messages import Frame
from tests.support import (
    accepts,
    answers,
    c2s,
    ends,
    get,
    hangs_up,
    logs,
    notification,
    opens,
    post,
    request,
    response,
    s2c,
    says,
    shown,
)

PING, PONG = request(1, "ping"), response(1)


def units(of: UnitSplitter, *frames: Frame) -> list[tuple[int, On | None, bool]]:
    return [(len(unit.frames), unit.on, unit.late) for unit in of.feed(frames)]


def test_stdio() -> None:
    """Every message is one."""
    frames = [s2c(PONG), s2c(notification("a")), logs("x"), s2c(b"banner")]

    assert [On.RESPONSE, On.NOTIFICATION, None, On.OTHER] == [
        on for _, on, _ in units(UnitSplitter(), *frames)
    ]
    assert [(1, On.REQUEST, False)] == units(UnitSplitter(), c2s(PING))
    assert [(1, On.END, False)] == units(UnitSplitter(), hangs_up(c2s(b"").direction))
    assert [(1, On.CLOSE, False)] == units(UnitSplitter(), hangs_up(s2c(b"").direction))


def test_requests_over_http() -> None:
    """A POST goes with its message, a GET alone."""
    assert [(2, On.REQUEST, False)] == units(UnitSplitter(), *post(1, PING))
    assert [(1, On.EXCHANGE, False)] == units(UnitSplitter(), *get(1))
    assert [(1, None, False)] == units(UnitSplitter(), post(1, PING)[0])


def test_responses_over_http() -> None:
    """An event goes with its meta; a head in JSON waits where it was asked for."""
    of = UnitSplitter(watched={1: Held.BODY})
    head, message, end = answers(1, PONG)

    assert [] == units(of, head)
    assert [(2, On.RESPONSE, True), (1, On.CLOSE, False)] == units(of, message, end)
    assert [(2, On.RESPONSE, False), (1, On.CLOSE, False)] == units(of, head, message, end)
    assert [(1, None, False), (1, On.CLOSE, False)] == units(of, *accepts(1))
    assert [(1, None, False)] == units(of, *opens(1))
    assert [(2, On.RESPONSE, False)] == units(of, *says(1, PONG, id="7"))
    assert [(1, None, False), (1, On.CLOSE, False)] == units(of, says(1, PONG, id="7")[0], ends(1))
    assert [(1, None, False)] == units(UnitSplitter(), head)


def test_a_response_that_ends_early() -> None:
    """A head that waits comes with the end, and is forgotten with the exchange."""
    of = UnitSplitter(watched={1: Held.BODY})
    head = answers(1, PONG)[0]
    units(of, head)

    assert ["1 200 application/json", "1 reset"] == [
        line for unit in of.feed([ends(1, "reset")]) for line in shown(unit.frames)
    ]
    units(of, head)
    of.forget(1)
    assert [(1, On.RESPONSE, False)] == units(of, *says(1, PONG))


def test_what_comes_behind_a_head_that_waits_waits_too() -> None:
    """An event without data is no message."""
    of = UnitSplitter(watched={1: Held.STREAM})

    assert [] == units(of, *opens(1), says(1, PONG, id="1")[0])
    assert [(4, On.RESPONSE, True)] == units(of, *says(1, PONG, id="2"))
