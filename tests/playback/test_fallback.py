"""What is said where the recording has nothing to say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpmock.playback.fallback import (
    answer_lost,
    answer_too_long,
    answer_unrecorded,
    answer_without_result,
    empty_result,
    exchange,
    method_not_found,
    too_long,
)
from mcpmock.playback.request_assembly import ClientMessage
from mcpmock.protocol.messages import Frame, HttpRequest, HttpResponse
from tests.support import (
    INITIALIZED,
    batch,
    bodiless,
    c2s,
    call,
    get,
    post,
    request,
    response,
    s2c,
    shown,
)

EMPTY = response(5).decode()


def value(raw: bytes) -> Any:
    return json.loads(raw)


def message_of(frames: list[Frame]) -> ClientMessage:
    head = frames[0].fact
    return ClientMessage(frames[-1], head if isinstance(head, HttpRequest) else None)


def test_ids() -> None:
    """The ids of all requests in a frame."""
    both = batch(request(1, "a"), INITIALIZED, request("b", "b"))

    assert [[b"1", b'"b"'], [b"1"], []] == [
        ClientMessage(c2s(raw)).ids for raw in (both, request(1, "a"), INITIALIZED)
    ]


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        ([c2s(request(5, "ping"))], [f"None {EMPTY}"]),
        (post(1, request(5, "ping")), ["1 200 application/json", f"1 {EMPTY}", "1 eof"]),
        ([c2s(call(1, "x"))], None),
        (post(1, call(1, "x")), None),
        ([c2s(batch(request(1, "ping")))], None),
    ],
)
def test_requests(live: list[Frame], expected: list[str] | None) -> None:
    """A ping is answered, over HTTP with a whole response; other requests are misses."""
    answer = answer_unrecorded(message_of(live))

    assert expected == (None if answer is None else shown(answer))


def test_a_probe() -> None:
    """Over HTTP an older server refuses a probe with a status too."""
    answer = answer_unrecorded(message_of(post(1, request(5, "server/discover")))) or []

    assert "1 400 application/json" == shown(answer)[0]


@pytest.mark.parametrize(
    ("live", "is_path", "in_session", "status"),
    [
        (post(1, INITIALIZED), True, True, 202),
        (post(1, response(1)), False, False, 202),
        (post(1, b"{torn"), True, True, 400),
        (get(1), True, True, 405),
        (get(1), False, True, 404),
        (bodiless(1, "DELETE"), True, True, 200),
        (bodiless(1, "DELETE"), True, False, 405),
        (bodiless(1, "DELETE"), False, True, 404),
        (bodiless(1, "OPTIONS"), True, True, 405),
    ],
)
def test_exchanges(live: list[Frame], is_path: bool, in_session: bool, status: int) -> None:
    """The status by what came, where, and whether there is a session to be ended."""
    answer = answer_without_result(message_of(live), is_path=is_path, in_session=in_session)

    assert str(status) == shown(answer)[0].split()[1]
    assert "1 eof" == shown(answer)[-1]


def test_a_session_that_is_not_there() -> None:
    """A request gets the error under its own id."""
    head, message, _ = shown(answer_lost(message_of(post(1, call("q", "x")))))

    assert "1 404 application/json" == head
    assert '"id":"q"' in message


def test_too_long_over_http() -> None:
    """A message too long to be parsed is refused with a status."""
    [frame] = post(1, b"")[:1]

    assert "1 413 application/json" == shown(answer_too_long(ClientMessage(frame, size=5)))[0]


def test_ends() -> None:
    """A DELETE ends a session, nothing else does."""
    assert [True, False, False] == [
        message_of(live).ends_session
        for live in (bodiless(1, "DELETE"), get(1), post(1, INITIALIZED))
    ]


@pytest.mark.parametrize("id_", [b"1", b'"1"', b"1.0", b"null", b'"\\ud800"'])
def test_ids_keep_their_spelling(id_: bytes) -> None:
    """Every answer carries the id as the client spelled it."""
    for frame in (empty_result(id_), method_not_found(id_, "\ud800")):
        assert b'"id":%b,' % id_ in frame.raw


def test_a_ping_is_answered_with_nothing() -> None:
    """The answer to a ping is empty."""
    assert {"jsonrpc": "2.0", "id": 1, "result": {}} == value(empty_result(b"1").raw)


def test_a_probe_is_answered_as_older_servers_do() -> None:
    """A method that is not there is -32601."""
    assert -32601 == value(method_not_found(b"1", "server/discover").raw)["error"]["code"]


def test_too_long() -> None:
    """A message too long to look at is an invalid request without an id."""
    answer = value(too_long(70_000_000).raw)

    assert (None, -32600) == (answer["id"], answer["error"]["code"])


def test_whole_exchanges() -> None:
    """Over HTTP a message comes in a response of its own; bare ones come alone."""
    assert ["7 202", "7 eof"] == shown(exchange(7, 202))
    assert ["7 400 application/json", "7 x", "7 eof"] == shown(exchange(7, 400, s2c(b"x")))
    assert [s2c(b"x")] == exchange(None, 400, s2c(b"x"))
    assert [] == exchange(None, 202)


def test_a_refused_method() -> None:
    """A 405, and nothing else, names the method that is taken; every status has its phrase."""
    head = exchange(7, 405)[0].fact

    assert HttpResponse(405, "Method Not Allowed", [("Allow", "POST")]) == head
    assert HttpResponse(404, "Not Found", []) == exchange(7, 404)[0].fact


def test_sessions_that_do_not_exist() -> None:
    """The error has the id of the only request in the message, else none."""
    lives = [call("q", "x"), INITIALIZED, batch(call(1, "x"), call(2, "x"))]

    assert ["q", None, None] == [
        value(answer_lost(message_of(post(1, raw)))[1].raw)["id"] for raw in lives
    ]


def test_a_message_that_cannot_be_parsed() -> None:
    """A parse error has no id."""
    live = message_of(post(1, b"{torn"))
    answer = value(answer_without_result(live, is_path=True, in_session=True)[1].raw)

    assert (None, -32700) == (answer["id"], answer["error"]["code"])
