"""Who awaits what: what each message of a session belongs to."""

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


class Told:
    """A session that is told messages, numbered in order."""

    def __init__(self) -> None:
        self.session = Correlation()
        self._number = -1

    def note(self, direction: Direction, raw: bytes) -> Attribution:
        self._number += 1
        return self.session.note(direction, parse(raw), self._number)

    def belongs_to(self, direction: Direction, raw: bytes) -> tuple[str | None, int | None, bool]:
        note = self.note(direction, raw)
        return note.method, note.call.index if note.call else None, note.late


def told(*messages: tuple[Direction, bytes]) -> Told:
    session = Told()
    for direction, raw in messages:
        session.note(direction, raw)
    return session


def test_a_response_answers_its_request() -> None:
    """A response belongs to the open request of its id that went the other way."""
    session = told((C2S, request(1, "tools/list")), (C2S, request(2, "prompts/list")))

    assert ("prompts/list", 1, False) == session.belongs_to(S2C, response(2))
    assert ("tools/list", 0, False) == session.belongs_to(S2C, error(1))


def test_ids_of_both_directions_are_apart() -> None:
    """The client's id 0 and the server's id 0 are open at once and do not mix."""
    session = told((C2S, request(0, "tools/call")), (S2C, request(0, "sampling/createMessage")))

    assert ("sampling/createMessage", 1, False) == session.belongs_to(C2S, response(0))
    assert ("tools/call", 0, False) == session.belongs_to(S2C, response(0))


@pytest.mark.parametrize(
    ("asked", "answered", "index"),
    [
        (1, 1, 0),
        ("1", "1", 0),
        (b"1.0", 1, 0),
        (b"1e2", 100, 0),
        (b'"\\u0061"', "a", 0),
        ("1", 1, None),
        (1, "1", None),
        (True, 1, None),
        (b"9007199254740993", b"9007199254740992", None),
        (1, b"null", None),
    ],
)
def test_ids_keep_their_type(asked: Any, answered: Any, index: int | None) -> None:
    """An id is answered by its own spelling or by another one of the same value, never by another
    type.
    """
    session = told((C2S, request(asked, "ping")))

    assert index == session.belongs_to(S2C, response(answered))[1]


def test_the_exact_spelling_goes_first() -> None:
    """Where `1` and `1.0` are both open, each is answered by its own spelling."""
    session = told((C2S, request(1, "a")), (C2S, request(b"1.0", "b")))

    assert "b" == session.note(S2C, response(b"1.0")).method
    assert "a" == session.note(S2C, response(b"1")).method


def test_late_and_double_answers() -> None:
    """A second answer is late, and still known by its request."""
    session = told((C2S, request(1, "ping")), (S2C, response(1)))

    assert ("ping", 0, True) == session.belongs_to(S2C, response(1))


def test_an_answer_to_nothing() -> None:
    """An answer to an id that nobody used, or to none, belongs to nothing."""
    session = told((C2S, request(1, "ping")))

    assert (None, None, True) == session.belongs_to(S2C, response(9))
    assert (None, None, False) == session.belongs_to(S2C, b'{"id":null,"error":{}}')


def test_an_id_used_again() -> None:
    """An id used again after its answer stands for the newer request."""
    session = told((C2S, request(1, "a")), (S2C, response(1)), (C2S, request(1, "b")))

    assert ("b", 2, False) == session.belongs_to(S2C, response(1))


@pytest.mark.parametrize("token", [1, "1", b"1.0", "t"])
def test_progress_by_its_token(token: Any) -> None:
    """Progress belongs to the request that gave the token, and is late after its answer."""
    session = told((C2S, request(5, "tools/call", token=token)))

    assert ("notifications/progress", 0, False) == session.belongs_to(S2C, progress(token))
    session.note(S2C, response(5))
    assert ("notifications/progress", 0, True) == session.belongs_to(S2C, progress(token))


def test_progress_of_nobody() -> None:
    """Progress with an unknown token, without one, or with the caller's own direction belongs to
    nothing.
    """
    session = told((C2S, request(5, "tools/call", token=1)))

    assert ("notifications/progress", None, False) == session.belongs_to(S2C, progress("1"))
    assert ("notifications/progress", None, False) == session.belongs_to(C2S, progress(1))
    bare = notification("notifications/progress", {})
    assert ("notifications/progress", None, False) == session.belongs_to(S2C, bare)


def test_a_cancel_closes_its_request() -> None:
    """A cancelled request is no longer open, and its answer is late."""
    session = told((C2S, request(1, "tools/call")))

    assert ("notifications/cancelled", 0, False) == session.belongs_to(C2S, cancelled(1))
    assert [] == session.session.open_calls(C2S)
    assert ("tools/call", 0, True) == session.belongs_to(S2C, response(1))


def test_a_server_ends_a_listen_with_a_cancel() -> None:
    """A cancel from the other side belongs to the client's request, as at the end of a listen."""
    session = told((C2S, request("listen-1", "subscriptions/listen")))

    assert 0 == session.belongs_to(S2C, cancelled("listen-1"))[1]


def test_a_cancel_of_its_own_goes_first() -> None:
    """Where both sides have an open request of that id, a side cancels its own."""
    session = told((C2S, request(0, "tools/call")), (S2C, request(0, "sampling/createMessage")))

    assert 1 == session.belongs_to(S2C, cancelled(0))[1]
    assert ["tools/call"] == [call.request.method for call in session.session.open_calls(C2S)]


def test_a_cancel_of_nothing() -> None:
    """A cancel of an unknown id, or of none, belongs to nothing."""
    session = told((C2S, request(1, "tools/call")))

    assert None is session.belongs_to(C2S, cancelled(9))[1]
    assert None is session.belongs_to(C2S, notification("notifications/cancelled"))[1]


def test_notifications_of_a_subscription() -> None:
    """What a listen brings belongs to the listen by its subscription id, type preserved."""
    session = told((C2S, request("listen-1", "subscriptions/listen")))
    tagged = notification("notifications/resources/updated", {"_meta": {SUBSCRIPTION: "listen-1"}})

    assert ("notifications/resources/updated", 0, False) == session.belongs_to(S2C, tagged)


@pytest.mark.parametrize("raw", [b"banner", b"{}", b"", b"[]"])
def test_noise_belongs_to_nothing(raw: bytes) -> None:
    """What is no JSON-RPC changes nothing."""
    session = told((C2S, request(1, "ping")))

    assert (None, None, False) == session.belongs_to(S2C, raw)
    assert 1 == len(session.session.open_calls(C2S))


def test_a_batch_is_not_looked_into() -> None:
    """Who wants the members of a batch gives them one by one."""
    assert (None, None, False) == Told().belongs_to(C2S, batch(request(1, "ping")))


def test_open_calls_in_order() -> None:
    """The open requests of one direction come oldest first."""
    session = told(
        (C2S, request(2, "a")),
        (S2C, request(1, "x")),
        (C2S, request(1, "b")),
        (C2S, request(3, "c")),
        (S2C, response(1)),
    )

    assert ["a", "c"] == [call.request.method for call in session.session.open_calls(C2S)]


def test_a_token_used_for_every_call_stays_with_the_newest() -> None:
    """A token that a client uses again and again means the newest call, however many there were."""
    session = Told()
    for number in range(1002):
        session.note(C2S, request(number, "tools/call", token="t"))
        session.note(S2C, response(number))
    session.note(C2S, request("last", "tools/call", token="t"))

    assert ("notifications/progress", 2004, False) == session.belongs_to(S2C, progress("t"))


def test_only_so_much_is_remembered() -> None:
    """What was closed long ago is forgotten: a late answer to it belongs to nothing."""
    session = Told()
    for number in range(1100):
        session.note(C2S, request(number, "ping"))
        session.note(S2C, response(number))

    assert None is session.belongs_to(S2C, response(0))[1]
    assert 2198 == session.belongs_to(S2C, response(1099))[1]


def test_open_calls_are_found_by_their_very_id() -> None:
    """As long as nobody has answered or cancelled them."""
    session = told((C2S, request(1, "tools/call")))
    call = session.session.open_call(C2S, b"1")

    assert call is not None
    assert "tools/call" == call.request.method
    assert session.session.open_call(S2C, b"1") is None
    session.note(S2C, response(1))
    assert session.session.open_call(C2S, b"1") is None


def test_a_token_outlives_the_calls_that_had_it_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client may give each call the same token; when the first call is forgotten, the last one's
    progress is still its own.
    """
    monkeypatch.setattr(module, "MAX_CLOSED_CALLS", 1)
    session = Told()
    for number in range(3):
        session.note(C2S, request(number, "tools/call", token=7))
        session.note(S2C, response(number))
    session.note(C2S, request(9, "tools/call", token=7))

    assert ("notifications/progress", 6, False) == session.belongs_to(S2C, progress(7))


def test_of_very_many_open_calls_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that answers nobody does not fill the memory."""
    monkeypatch.setattr(module, "MAX_OPEN_CALLS", 2)
    session = told(*((C2S, request(number, "ping", token=number)) for number in range(5)))

    assert [3, 4] == [call.index for call in session.session.open_calls(C2S)]
    assert session.belongs_to(S2C, progress(0))[1] is None


def related(calls: Correlation, raw: bytes, exchange: int | None = None, **how: bool) -> int | None:
    """The number of the client's call that a server message was sent for."""
    message = parse(raw)
    call = calls.related(message, calls.note(S2C, message, -1, exchange), exchange, **how)
    return None if call is None else call.index


def test_what_names_no_call_belongs_to_the_only_open_one() -> None:
    """On stdio that is all there is to go by; with two open calls it belongs to neither."""
    calls = told((C2S, request(1, "tools/call"))).session

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
    calls = told((C2S, request(1, "tools/call"))).session
    asked = calls.note(S2C, parse(request(1, "roots/list")), 1).call
    calls.note(C2S, parse(request(2, "tools/call")), 2)

    assert asked is not None
    assert asked.within is not None
    assert 0 == asked.within.index
    assert 0 == related(calls, cancelled(1))


def test_progress_of_an_unknown_token_belongs_to_no_call() -> None:
    """It names a call, and not the one that is open."""
    calls = told((C2S, request(1, "tools/call", token="t"))).session

    assert None is related(calls, progress("u"))
    assert None is related(calls, response(9))


def test_outside_sessions_each_exchange_has_ids_of_its_own() -> None:
    """Two callers without a session both begin at id 1."""
    assert id_space(NO_SESSION, 4) != id_space(NO_SESSION, 5)
    assert id_space(2, 4) == id_space(2, 5)


def test_the_examples_in_the_module_run() -> None:
    """The docstring of the module shows what the code does."""
    assert 0 == doctest.testmod(module).failed
