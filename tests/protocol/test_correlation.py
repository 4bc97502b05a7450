"""Which call each message of a session belongs to."""

from __future__ import annotations

import doctest
from typing import Any

import pytest

from mcpmock.protocol import correlation as module
from mcpmock.protocol.correlation import Attribution, Correlation, id_space
from mcpmock.protocol.messages import C2S, S2C, Direction, parse
from mcpmock.protocol.transport_facts import NO_SESSION
from tests.support import batch, cancelled, error, notification, progress, request, response

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


class Session:
    """A session that takes messages, numbered in order from 0."""

    def __init__(self, *messages: tuple[Direction, bytes]) -> None:
        self.calls = Correlation()
        self._number = -1
        for direction, raw in messages:
            self.note(direction, raw)

    def note(self, direction: Direction, raw: bytes) -> Attribution:
        self._number += 1
        return self.calls.note(direction, parse(raw), self._number)

    def attribute(self, direction: Direction, raw: bytes) -> tuple[str | None, int | None, bool]:
        """The method of a message, the number of the request it names, and whether it is late."""
        note = self.note(direction, raw)
        return note.method, note.call.index if note.call else None, note.late


PROGRESS, CANCELLED = "notifications/progress", "notifications/cancelled"
UPDATED = "notifications/resources/updated"
ESCAPED_CALL = (C2S, request(6, "tools/call", token=b'"a\\/b"'))
CALL, TOKEN_CALL = (C2S, request(1, "tools/call")), (C2S, request(5, "tools/call", token=1))
LISTEN = (C2S, request("listen-1", "subscriptions/listen"))
BOTH_0 = (C2S, request(0, "tools/call")), (S2C, request(0, "sampling/createMessage"))
PING = (C2S, request(1, "ping"))


@pytest.mark.parametrize(
    ("before", "message", "expected"),
    [
        # A response answers the open request of its id that went the other way.
        ([CALL, (C2S, request(2, "a"))], (S2C, response(2)), ("a", 1, False)),
        ([CALL, (C2S, request(2, "a"))], (S2C, error(1)), ("tools/call", 0, False)),
        ([*BOTH_0], (C2S, response(0)), ("sampling/createMessage", 1, False)),
        ([*BOTH_0, (C2S, response(0))], (S2C, response(0)), ("tools/call", 0, False)),
        # Where `1` and `1.0` are both open, each is answered by its own spelling.
        ([CALL, (C2S, request(b"1.0", "b"))], (S2C, response(b"1.0")), ("b", 1, False)),
        ([(C2S, request(b"1.0", "b")), CALL], (S2C, response(1)), ("tools/call", 1, False)),
        # Clients take "1" for 1, where no request has it as it is.
        ([CALL], (S2C, response("1")), ("tools/call", 0, False)),
        ([CALL, (S2C, response(1))], (S2C, response("1")), ("tools/call", 0, True)),
        ([CALL, (C2S, request("1", "b"))], (S2C, response("1")), ("b", 1, False)),
        ([CALL], (S2C, response("1.0")), (None, None, True)),
        ([CALL], (S2C, response("01")), (None, None, True)),
        ([(C2S, request("1", "b"))], (S2C, response(1)), (None, None, True)),
        # A second answer is late; an id that is used again stands for the newer request.
        ([PING, (S2C, response(1))], (S2C, response(1)), ("ping", 0, True)),
        ([PING, (S2C, response(1)), CALL], (S2C, response(1)), ("tools/call", 2, False)),
        ([PING], (S2C, response(9)), (None, None, True)),
        ([PING], (S2C, b'{"id":null,"error":{}}'), (None, None, False)),
        # Progress belongs to the request that the other side sent with its token.
        ([TOKEN_CALL], (S2C, progress(1)), (PROGRESS, 0, False)),
        ([TOKEN_CALL, (S2C, response(5))], (S2C, progress(1)), (PROGRESS, 0, True)),
        ([TOKEN_CALL], (S2C, progress("1")), (PROGRESS, None, False)),
        # Tokens may be spelled in another way, as ids.
        ([TOKEN_CALL], (S2C, progress(b"1.0")), (PROGRESS, 0, False)),
        ([ESCAPED_CALL], (S2C, progress("a/b")), (PROGRESS, 0, False)),
        ([ESCAPED_CALL], (S2C, progress(b'"\\u0061/b"')), (PROGRESS, 0, False)),
        ([ESCAPED_CALL, (S2C, response(6))], (S2C, progress("a/b")), (PROGRESS, 0, True)),
        ([TOKEN_CALL], (C2S, progress(1)), (PROGRESS, None, False)),
        ([TOKEN_CALL], (S2C, notification(PROGRESS, {})), (PROGRESS, None, False)),
        # A cancel closes the request of its own side first; it also ends a listen.
        ([CALL], (C2S, cancelled(1)), (CANCELLED, 0, False)),
        ([CALL, (C2S, cancelled(1))], (S2C, response(1)), ("tools/call", 0, True)),
        ([*BOTH_0], (S2C, cancelled(0)), (CANCELLED, 1, False)),
        ([LISTEN], (S2C, cancelled("listen-1")), (CANCELLED, 0, False)),
        ([CALL], (C2S, cancelled(9)), (CANCELLED, None, False)),
        ([CALL], (C2S, notification(CANCELLED)), (CANCELLED, None, False)),
        # A notification of a subscription belongs to its listen.
        ([LISTEN], (S2C, notification(UPDATED, {"_meta": {SUBSCRIPTION: "listen-1"}})),
         (UPDATED, 0, False)),
        # What is not JSON-RPC names nothing; members of a batch come one by one.
        *(([PING], (S2C, raw), (None, None, False)) for raw in (b"banner", b"{}", b"", b"[]")),
        ([], (C2S, batch(request(1, "ping"))), (None, None, False)),
    ],
)  # fmt: skip
def test_which_request_a_message_names(
    before: list[tuple[Direction, bytes]],
    message: tuple[Direction, bytes],
    expected: tuple[str | None, int | None, bool],
) -> None:
    """A message belongs to the request that it answers, reports on, cancels or was asked for by."""
    assert expected == Session(*before).attribute(*message)


@pytest.mark.parametrize(
    ("asked", "answered", "index"),
    [
        (1, 1, 0),
        ("1", "1", 0),
        (b"1.0", 1, 0),
        (b"1e2", 100, 0),
        (b'"\\u0061"', "a", 0),
        ("1", 1, None),
        (True, 1, None),
        (b"9007199254740993", b"9007199254740992", None),
        (1, b"null", None),
    ],
)
def test_ids_keep_their_type(asked: Any, answered: Any, index: int | None) -> None:
    """An id is answered by its own spelling or by another one of the same value, never by another
    type.
    """
    assert index == Session((C2S, request(asked, "ping"))).attribute(S2C, response(answered))[1]


def test_open_calls_in_order() -> None:
    """The open requests of one direction come oldest first."""
    session = Session(
        (C2S, request(2, "a")),
        (S2C, request(1, "x")),
        (C2S, request(1, "b")),
        (C2S, request(3, "c")),
        (S2C, response(1)),
    )

    assert ["a", "c"] == [call.request.method for call in session.calls.open_calls(C2S)]


def test_only_so_much_is_remembered() -> None:
    """A late answer to a request that was closed long ago names nothing."""
    session = Session()
    for number in range(1100):
        session.note(C2S, request(number, "ping"))
        session.note(S2C, response(number))

    assert None is session.attribute(S2C, response(0))[1]
    assert 2198 == session.attribute(S2C, response(1099))[1]


def test_open_calls_are_found_by_their_very_id() -> None:
    """Until they are answered or cancelled."""
    session = Session((C2S, request(1, "tools/call")))
    call = session.calls.open_call(C2S, b"1")

    assert call is not None
    assert "tools/call" == call.request.method
    assert session.calls.open_call(S2C, b"1") is None
    session.note(S2C, response(1))
    assert session.calls.open_call(C2S, b"1") is None


def test_a_token_outlives_the_calls_that_had_it_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client may give each call the same token; when the first call is forgotten, the last one's
    progress is still its own.
    """
    monkeypatch.setattr(module, "MAX_CLOSED_CALLS", 1)
    session = Session()
    for number in range(3):
        session.note(C2S, request(number, "tools/call", token=7))
        session.note(S2C, response(number))
    session.note(C2S, request(9, "tools/call", token=7))

    assert ("notifications/progress", 6, False) == session.attribute(S2C, progress(7))


def test_of_very_many_open_calls_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that never answers does not fill the memory."""
    monkeypatch.setattr(module, "MAX_OPEN_CALLS", 2)
    session = Session(*((C2S, request(number, "ping", token=number)) for number in range(5)))

    assert [3, 4] == [call.index for call in session.calls.open_calls(C2S)]
    assert session.attribute(S2C, progress(0))[1] is None


def related(calls: Correlation, raw: bytes, exchange: int | None = None, **how: bool) -> int | None:
    """The number of the client's call that a server message was sent for."""
    message = parse(raw)
    call = calls.related(message, calls.note(S2C, message, -1, exchange), exchange, **how)
    return None if call is None else call.index


def test_what_names_no_call_belongs_to_the_only_open_one() -> None:
    """On stdio no more is known; with two open calls it belongs to neither."""
    calls = Session((C2S, request(1, "tools/call"))).calls

    assert 0 == related(calls, notification("notifications/message"))
    assert None is related(calls, notification("notifications/message"), guess=False)
    calls.note(C2S, parse(request(2, "tools/call")), 1)
    assert None is related(calls, notification("notifications/message"))


def test_what_comes_on_the_exchange_of_a_call_belongs_to_it() -> None:
    """Whatever else is open, until the exchange has ended."""
    calls = Correlation()
    for number in (1, 2):
        calls.note(C2S, parse(request(number, "tools/call")), number, exchange=number)

    assert 2 == related(calls, notification("notifications/message"), exchange=2)
    calls.end_exchange(2)
    assert None is related(calls, notification("notifications/message"), exchange=2)


def test_an_id_used_twice_at_once_is_told_apart_by_the_exchange() -> None:
    """Each answer belongs to the call that its own exchange carried."""
    calls = Correlation()
    for number in (1, 2):
        calls.note(C2S, parse(request(7, "tools/call")), number, exchange=number)

    assert [1, 2] == [related(calls, response(7), exchange=number) for number in (1, 2)]


def test_a_server_request_belongs_to_the_call_it_was_sent_for() -> None:
    """So does its cancel, when other calls have come meanwhile."""
    calls = Session((C2S, request(1, "tools/call"))).calls
    asked = calls.note(S2C, parse(request(1, "roots/list")), 1).call
    calls.note(C2S, parse(request(2, "tools/call")), 2)

    assert asked is not None
    assert asked.within is not None
    assert 0 == asked.within.index
    assert 0 == related(calls, cancelled(1))


def test_progress_of_an_unknown_token_belongs_to_no_call() -> None:
    """It names a call, and not the one that is open."""
    calls = Session((C2S, request(1, "tools/call", token="t"))).calls

    assert None is related(calls, progress("u"))
    assert None is related(calls, response(9))


def test_outside_sessions_each_exchange_has_ids_of_its_own() -> None:
    """Two callers without a session both begin at id 1."""
    assert id_space(NO_SESSION, 4) != id_space(NO_SESSION, 5)
    assert id_space(2, 4) == id_space(2, 5)


def test_the_examples_in_the_module_run() -> None:
    """The docstring of the module shows what the code does."""
    assert 0 == doctest.testmod(module).failed
