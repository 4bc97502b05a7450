"""What is said where the recording has nothing to say."""

from __future__ import annotations

import pytest

from mcpmock.playback.fallback import (
    answer_lost,
    answer_request,
    answer_too_long,
    answer_unasked,
    ends_session,
    ids_of,
)
from mcpmock.playback.request_assembly import ClientMessage
from mcpmock.protocol.messages import Frame, HttpRequest
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
    shown,
)

EMPTY = response(5).decode()


def heard(frames: list[Frame]) -> ClientMessage:
    head = frames[0].fact
    return ClientMessage(frames[-1], head if isinstance(head, HttpRequest) else None)


def test_ids() -> None:
    """The ids of all requests in a frame."""
    both = batch(request(1, "a"), INITIALIZED, request("b", "b"))

    assert [[b"1", b'"b"'], [b"1"], []] == [
        ids_of(c2s(raw)) for raw in (both, request(1, "a"), INITIALIZED)
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
    answer = answer_request(heard(live))

    assert expected == (None if answer is None else shown(answer))


def test_a_probe() -> None:
    """Over HTTP an older server refuses a probe with a status too."""
    answer = answer_request(heard(post(1, request(5, "server/discover")))) or []

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
    answer = answer_unasked(heard(live), is_path=is_path, in_session=in_session)

    assert str(status) == shown(answer)[0].split()[1]
    assert "1 eof" == shown(answer)[-1]


def test_a_session_that_is_not_there() -> None:
    """A request gets the error under its own id."""
    head, message, _ = shown(answer_lost(heard(post(1, call("q", "x")))))

    assert "1 404 application/json" == head
    assert '"id":"q"' in message


def test_too_long() -> None:
    """A message too long to look at is refused."""
    [frame] = post(1, b"")[:1]

    assert "1 413 application/json" == shown(answer_too_long(ClientMessage(frame, size=5)))[0]


def test_ends() -> None:
    """A DELETE ends a session, nothing else does."""
    assert [True, False, False] == [
        ends_session(heard(live)) for live in (bodiless(1, "DELETE"), get(1), post(1, INITIALIZED))
    ]
