"""Recorded frames with live identities."""

from __future__ import annotations

from itertools import count

import pytest
from msgspec.structs import replace

from mcpmock.playback.live_ids import LiveIds
from mcpmock.playback.plan.plan import AGREED_VERSION_PATH, ClientEvent, LiveValue, PlannedMessage
from mcpmock.playback.request_assembly import ClientMessage
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    ExchangeEnd,
    Frame,
    HttpBody,
    HttpResponse,
    SseMeta,
)
from tests.support import batch, ends, post, progress, replies, request, response, s2c, says

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
    assert "live-1" == head_of(found, {}, {"Mcp-Session-Id": "S"}).header("mcp-session-id")


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


@pytest.mark.parametrize(("event", "calls"), [("message", ()), ("endpoint", (0,))])
def test_other_events_are_no_endpoint(event: str, calls: tuple[int, ...]) -> None:
    """A message that looks like one stays, and what belongs to a call."""
    meta = Frame(S2C, fact=SseMeta(event=event), exchange=1)
    told = replace(planned(says(1, b"/m?sessionId=S")[0], meta=meta), calls=calls)
    [_, data] = identities().render(told, {})

    assert b"/m?sessionId=S" == data.raw


@pytest.mark.parametrize("recorded", [None, 1])
@pytest.mark.parametrize("live", [None, 7])
def test_bare_messages_bind_no_exchange(recorded: int | None, live: int | None) -> None:
    """Where one of the two has no exchange, ids alone are bound."""
    found = LiveIds(lambda: "")
    event = ClientEvent(0, Frame(C2S, b"{}", exchange=recorded), (0,))
    found.bind(event, ClientMessage(Frame(C2S, request(5, "x"), exchange=live)))

    both = recorded is not None and live is not None
    assert ({1: 7} if both else {}, b"5") == (found.exchanges, found.calls[0].id)
    assert ({7: 1} if both else {}) == found.recorded


def _id(call: int, item: int) -> LiveValue:
    return LiveValue(call, ("id",), item=item)


def _token(call: int, item: int) -> LiveValue:
    return LiveValue(call, ("params", "progressToken"), token=True, item=item)


@pytest.mark.parametrize(
    ("recorded", "values", "rendered"),
    [
        (
            b"[ %b , %b ]" % (response(1), progress(5)),
            [_id(0, 0), _token(0, 1)],
            b"[ %b , %b ]" % (response("a"), progress("t")),
        ),
        (
            batch(response(1), response(9)),
            [_id(0, 0), _id(5, 1)],
            batch(response("a"), response(9)),
        ),
        (
            batch(response(1), response(2)),
            [_id(1, 0), _id(0, 1)],
            batch(response(1.5), response("a")),
        ),
        (batch(response(1), progress(5)), [_id(0, 0), _token(1, 1)], batch(response("a"))),
        (batch(progress(5)), [_token(1, 0)], None),
        (batch(b"1", response(1)), [_id(0, 1)], batch(b"1", response("a"))),
    ],
)
def test_batches(recorded: bytes, values: list[LiveValue], rendered: bytes | None) -> None:
    """Each member has the ids of its own call; without progress that the client did not ask for,
    and without a batch in which there would be nothing else.
    """
    told = identities().render(planned(s2c(recorded), *values), {})

    assert ([] if rendered is None else [s2c(rendered)]) == told


@pytest.mark.parametrize(
    ("fact", "recorded", "live", "is_sent"),
    [
        (SseMeta(id="1"), "2025-11-25", "2025-06-18", False),
        (SseMeta(id="1"), "2026-07-28", "2025-03-26", False),
        (SseMeta(id="1"), "2025-06-18", "2025-03-26", True),
        (SseMeta(id="1"), "2025-06-18", "2025-11-25", True),
        (SseMeta(id="1"), "2025-11-25", "2025-11-25", True),
        (SseMeta(retry=5), "2025-11-25", "2025-06-18", True),
        (SseMeta(id=""), "2025-11-25", "2025-06-18", True),
        (HttpResponse(200, "", []), "2025-11-25", "2025-06-18", True),
        (ExchangeEnd(), "2025-11-25", "2025-06-18", True),
    ],
)
def test_events_that_only_have_an_id(
    fact: SseMeta | HttpResponse | ExchangeEnd, recorded: str, live: str, is_sent: bool
) -> None:
    """They are left out for a client of a revision in which there was no such event."""
    found = identities()
    found.agree(0, recorded, live)

    assert is_sent is bool(found.render(planned(Frame(S2C, fact=fact, exchange=1)), {}))
    if recorded == live:
        assert found.versions is None
        assert found.calls[0].version is None


def test_the_agreed_revision() -> None:
    """It stands in the answer to its call, until another one is agreed."""
    told = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}'
    value = LiveValue(0, AGREED_VERSION_PATH)
    found = identities()

    def rendered() -> bytes:
        return found.render(planned(s2c(told), value), {})[0].raw

    assert told == rendered()
    found.agree(0, "2025-11-25", "2025-06-18")
    assert told.replace(b"2025-11-25", b"2025-06-18") == rendered()
    assert ("2025-11-25", "2025-06-18") == found.versions
    found.agree(1, "2025-11-25", "2025-11-25")
    assert found.versions is None


def test_what_stands_for_nothing_stays() -> None:
    """The id of a call that never came, and a place that the message does not have."""
    values = LiveValue(5, ("id",)), LiveValue(0, ("params", "progressToken"))
    assert [s2c(response(1))] == identities().render(planned(s2c(response(1)), *values), {})


def test_no_event_fields_without_an_event() -> None:
    """Progress that nobody asked for takes the fields of its event with it."""
    [data] = says(1, progress(5), b"\r\n")
    meta = Frame(S2C, fact=SseMeta(id="1"), exchange=1)
    nobody = LiveValue(1, ("params", "progressToken"), token=True)

    assert [] == identities().render(planned(data, nobody, meta=meta), {})
