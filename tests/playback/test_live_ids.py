"""Recorded frames with live identities."""

from __future__ import annotations

from itertools import count

import pytest

from mcpmock.playback.live_ids import LiveIds
from mcpmock.playback.plan.plan import ClientEvent, LiveValue, PlannedMessage
from mcpmock.playback.request_assembly import ClientMessage
from mcpmock.protocol.messages import S2C, Frame, HttpBody, HttpResponse, SseMeta
from tests.support import batch, c2s, ends, post, progress, replies, request, response, s2c, says

HOLE = "mcpmock:secret:token:1"


def identities(*recorded_sessions: str) -> LiveIds:
    """Of a session in which the recorded exchange 1, with calls 0 and 1, is the live one 7."""
    numbers = count(1)
    found = LiveIds(lambda: f"live-{next(numbers)}", frozenset(recorded_sessions))
    [_, body] = post(7, batch(request("a", "x", token="t"), request(1.5, "y")))
    [_, recorded] = post(1, b"")
    found.bind(ClientEvent(0, recorded, (0, 1)), ClientMessage(body))
    return found


def planned(frame: Frame, *live_values: LiveValue, meta: Frame | None = None) -> PlannedMessage:
    return PlannedMessage(
        0, frame, frozenset(), live_values=live_values, meta=meta, exchange=frame.exchange
    )


def test_ids_and_tokens() -> None:
    """They are put in by path, as the live client spelled them."""
    found = identities()

    assert [s2c(response("a"))] == found.render(
        planned(s2c(response(1)), LiveValue(0, ("id",))), {}
    )
    token = LiveValue(0, ("params", "progressToken"), token=True)
    assert [s2c(progress("t"))] == found.render(planned(s2c(progress(5)), token), {})
    nobody = LiveValue(1, ("params", "progressToken"), token=True)
    assert [] == found.render(planned(s2c(progress(5)), nobody), {})


def test_numbers() -> None:
    """A live id names its recorded call, however it is spelled."""
    found = identities()

    assert [0, 1, 1, None] == [found.number(id_) for id_ in (b'"a"', b"1.5", b"1.50", b"2")]


def test_exchanges() -> None:
    """What an exchange carries goes out on the live one, and nowhere if there is none."""
    found = identities()
    [data] = says(1, b"x", b"\r\n")
    meta = Frame(S2C, fact=SseMeta(id="1"), exchange=1)

    assert [
        Frame(S2C, fact=SseMeta(id="1"), exchange=7),
        Frame(S2C, b"x", b"\r\n", exchange=7),
    ] == (found.render(planned(data, meta=meta), {}))
    assert [ends(7, "reset")] == found.render(planned(ends(1, "reset")), {})
    assert [] == found.render(planned(ends(2)), {})
    assert {7: 1} == found.recorded


def head_of(found: LiveIds, bindings: dict[str, str], fields: dict[str, str]) -> HttpResponse:
    [frame] = found.render(planned(replies(1, 200, None, **fields)), bindings)
    assert isinstance(frame.fact, HttpResponse)
    return frame.fact


def test_heads() -> None:
    """The session id is the live one wherever it stands; framing and date are left out."""
    own = {"Mcp-Session-Id": "S", "X-Also": "S", "X-Not": "aSb"}
    head = head_of(identities("S"), {}, {**own, "Date": "d", "Connection": "c"})

    assert [("Mcp-Session-Id", "live-1"), ("X-Also", "live-1"), ("X-Not", "aSb")] == head.headers


@pytest.mark.parametrize(
    ("live", "expected"),
    [("v", "key v"), (None, f"key {HOLE}"), ("a\r\nEvil: 1", f"key {HOLE}"), ("ü", f"key {HOLE}")],
)
def test_values_in_heads(live: str | None, expected: str) -> None:
    """A bound value comes back, unless it would break the head."""
    bindings = {} if live is None else {HOLE: live}

    assert expected == head_of(identities(), bindings, {"own": f"key {HOLE}"}).header("own")


def test_values_in_bodies() -> None:
    """In a page they come back as they are, in a message escaped."""
    found = identities()
    page = Frame(S2C, f"<{HOLE}>".encode(), fact=HttpBody(), exchange=1)
    [message] = says(1, f'"{HOLE}"'.encode())

    assert b'<a"b>' == found.render(planned(page), {HOLE: 'a"b'})[0].raw
    assert b'"a\\"b"' == found.render(planned(message), {HOLE: 'a"b'})[0].raw


def test_the_session_in_a_message() -> None:
    """A server that names its session gives the live one away."""
    session = "mcpmock:secret:session-id:1"
    found = identities(session)
    [message] = says(1, f'"{session}, {HOLE}"'.encode())

    assert b'"live-1, x"' == found.render(planned(message), {HOLE: "x"})[0].raw


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        (b"/message?sessionId=S", b"/message?sessionId=live-1"),
        (b"/messages/?session_id=S&x=1", b"/messages/?session_id=live-1&x=1"),
        (b"/m?x=1&SessionID=S", b"/m?x=1&SessionID=live-1"),
        (b"/m?t=mcpmock:secret:token:1", b"/m?t=live-1"),
        (b"/m?a=1&b=2", b"/m?a=live-1&b=live-1"),
        (b"/m/S", b"/m/S?sessionId=live-1"),
    ],
)
def test_the_endpoint(recorded: bytes, expected: bytes) -> None:
    """It names the live session, in the parameter that says so, else in all, else in a new one."""
    meta = Frame(S2C, fact=SseMeta(event="endpoint"), exchange=1)
    [_, data] = identities().render(planned(says(1, recorded)[0], meta=meta), {})

    assert expected == data.raw


def test_other_events_are_no_endpoint() -> None:
    """A message that looks like one stays."""
    meta = Frame(S2C, fact=SseMeta(event="message"), exchange=1)
    [_, data] = identities().render(planned(says(1, b"/m?sessionId=S")[0], meta=meta), {})

    assert b"/m?sessionId=S" == data.raw


def test_bare_messages_bind_no_exchange() -> None:
    """Where there are no exchanges, ids alone are bound."""
    found = LiveIds(lambda: "")
    found.bind(ClientEvent(0, c2s(b"{}"), (0,)), ClientMessage(c2s(request(5, "x"))))

    assert ({}, b"5") == (found.exchanges, found.calls[0].id)


def test_no_event_fields_without_an_event() -> None:
    """Progress that nobody asked for takes the fields of its event with it."""
    [data] = says(1, progress(5), b"\r\n")
    meta = Frame(S2C, fact=SseMeta(id="1"), exchange=1)
    nobody = LiveValue(1, ("params", "progressToken"), token=True)

    assert [] == identities().render(planned(data, nobody, meta=meta), {})
