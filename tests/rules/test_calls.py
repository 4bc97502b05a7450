"""Requests, responses and cancellations."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.rules import calls
from mcpmock.rules.conversation import ConversationChecker
from tests.rules.violations import (
    HTTP,
    Planted,
    ask,
    asked,
    done,
    initialize,
    modern,
    modern_http,
    names,
    opening,
    opening_http,
    posted,
    violations,
)
from tests.support import (
    accepts,
    answers,
    c2s,
    call,
    cancelled,
    error,
    progress,
    request,
    response,
    s2c,
)

CALL = c2s(call(1, "dig"))
TASKS: Any = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}
CANCEL = cancelled(1)
PLANTED = [
    Planted("id-reused", [*opening(), CALL, s2c(response(1)), c2s(request(1, "ping"))]),
    Planted("id-reused", [*opening(), s2c(request(1, "ping")), s2c(request(1, "ping"))]),
    Planted("id-reused", [*modern(), c2s(ask(1, "tools/list")), c2s(ask(1, "tools/call"))]),
    Planted("answers-nothing", [*opening(), s2c(response(1))]),
    Planted("answers-nothing", [*opening("2024-11-05"), CALL, s2c(response("1"))]),
    Planted("answers-nothing", [*opening(), c2s(response(1))]),
    Planted("answers-nothing", [*modern(), s2c(error(5))]),
    Planted("answered-twice", [*opening(), CALL, s2c(response(1)), s2c(response(1))]),
    Planted("answered-twice", [*opening("2025-06-18"), CALL, s2c(response(1)), s2c(error(1))]),
    Planted("answer-after-cancel", [*opening(), CALL, c2s(CANCEL), s2c(response(1))]),
    Planted(
        "answer-after-cancel",
        [*modern(), c2s(ask(1, "tools/call")), c2s(CANCEL), s2c(done(1))],
    ),
    Planted("cancels-nothing", [*opening(), c2s(cancelled(9))]),
    Planted("cancels-nothing", [*opening(), CALL, s2c(cancelled(2))]),
    Planted("cancels-nothing", [*modern(), c2s(cancelled(9))]),
    Planted("cancels-initialize", [c2s(initialize()), c2s(cancelled("opening"))]),
    Planted(
        "cancels-task",
        [
            *opening(server=TASKS),
            c2s(request(1, "tools/call", {"name": "dig", "task": {}})),
            c2s(CANCEL),
        ],
    ),
    Planted("server-cancels", [*modern(), c2s(ask(1, "tools/call")), s2c(CANCEL)]),
    Planted(
        "cancels-over-http",
        [
            *modern_http(),
            asked(2, CANCEL, "notifications/cancelled"),
            accepts(2),
        ],
        HTTP,
    ),
]


def test_ids_of_both_sides_are_apart() -> None:
    """The client's id 1 and the server's id 1 are different requests."""
    asks = [CALL, s2c(request(1, "ping")), c2s(response(1)), s2c(response(1))]

    assert [] == names(*opening(), *asks)


def test_a_modern_id_may_be_used_again_once_it_is_answered() -> None:
    """In the modern era only the ids of open requests must differ."""
    once = [c2s(ask(1, "tools/call")), s2c(done(1))]

    assert [] == names(*modern(), *once, *once)


def test_a_cancel_may_cross_its_answer() -> None:
    """A cancel of an answered request is no violation."""
    assert [] == names(*opening(), CALL, s2c(response(1)), c2s(CANCEL))
    assert ["answered-twice"] == names(
        *opening(), CALL, s2c(response(1)), c2s(CANCEL), s2c(response(1))
    )


def test_a_second_answer_to_what_was_cancelled_is_one_too_many() -> None:
    """The first comes after the cancel, the second after the first."""
    late = [s2c(response(1)), s2c(response(1))]

    assert ["answer-after-cancel", "answered-twice"] == names(*opening(), CALL, c2s(CANCEL), *late)


def test_the_ways_of_the_python_sdk_are_named() -> None:
    """An error 0 or -32800 in answer to a cancel is a notice that names the SDK."""
    for code in (0, -32800):
        [told] = violations(*opening(), CALL, c2s(CANCEL), s2c(error(1, code, "cancelled")))

        assert ("answer-after-cancel", "notice") == (told.rule.name, told.level.value)
        assert told.known is not None
        assert told.known.words.startswith("known of the Python SDK")


def test_callers_without_a_session_do_not_know_of_each_other() -> None:
    """Over HTTP, two exchanges without a session may use the same id, and be open at once."""
    two = [asked(x, ask(1, "tools/list"), "tools/list") for x in (2, 3)]
    both = [answers(x, done(1, {"ttlMs": 0, "cacheScope": "private"})) for x in (2, 3)]

    assert [] == names(*modern_http(), *two, *both, transport=HTTP, sessionless=True)


def test_a_forgotten_call_breaks_no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once ids had to be forgotten, an answer to an unknown one may belong to one of them."""
    monkeypatch.setattr(calls, "MAX_CALLS", 3)
    asks = [c2s(request(number, "ping")) for number in range(2, 7)]

    assert [] == names(*opening(), *asks, s2c(response(99)), c2s(cancelled(99)))


def test_a_session_over_http_has_ids_of_its_own() -> None:
    """In a session an id is used once, whatever the exchange."""
    first = [posted(3, request(1, "ping")), answers(3, response(1))]
    again = [posted(4, request(1, "ping")), answers(4, response(1))]

    assert ["id-reused"] == names(*opening_http(), *first, *again, transport=HTTP)


@pytest.mark.parametrize("status", [307, 401, 403, 408, 425, 429, 503])
def test_a_request_that_http_did_not_take_may_come_again(status: int) -> None:
    """With its id; it was not answered."""
    first = [posted(3, request(1, "ping")), accepts(3, status)]
    again = [posted(4, request(1, "ping")), answers(4, response(1))]

    assert [] == names(*opening_http(), *first, *again, transport=HTTP)


def test_the_memory_of_cancels_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many cancelled calls the latest are remembered."""
    monkeypatch.setattr(calls, "MAX_CALLS", 3)
    conversation = ConversationChecker()
    for number in range(1, 9):
        asks = request(number, "tools/call", {}, token=number)
        for frame in (c2s(asks), c2s(cancelled(number)), s2c(progress(number))):
            conversation.check(frame, number)
    tracker = conversation._checker.session.call_tracker

    assert 3 == len(tracker._cancelled) == len(tracker._progress_seen)
