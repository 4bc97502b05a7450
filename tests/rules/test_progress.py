"""Progress and its tokens."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.protocol.messages import C2S, S2C, Frame
from mcpmock.rules import progress as module
from mcpmock.rules.conversation import ConversationChecker
from tests.rules.violations import (
    HTTP,
    Planted,
    Step,
    ask,
    done,
    got,
    modern,
    names,
    opening,
    opening_http,
    posted,
    violations,
)
from tests.support import answers, c2s, cancelled, progress, replies, request, response, s2c, says

CALL = c2s(request(1, "tools/call", {"name": "dig"}, token=7))
ASK = c2s(
    ask(1, "tools/call", {"name": "dig"}).replace(b'"_meta":{', b'"_meta":{"progressToken":7,')
)
UP, UP_AGAIN, DOWN = s2c(progress(7, 2)), s2c(progress(7, 3)), s2c(progress(7, 1))
STOP = c2s(cancelled(1))
PLANTED = [
    Planted("token-type", [*opening(), c2s(request(1, "tools/call", {"name": "a"}, token=1.5))]),
    Planted("token-type", [*modern(), c2s(ASK.raw.replace(b":7,", b":null,"))]),
    Planted("token-reused", [*opening(), CALL, c2s(CALL.raw.replace(b'"id":1', b'"id":2'))]),
    Planted("token-reused", [*modern(), ASK, c2s(ASK.raw.replace(b'"id":1', b'"id":2'))]),
    Planted("progress-increases", [*opening(), CALL, UP, DOWN]),
    Planted("progress-increases", [*opening("2024-11-05"), CALL, UP, UP]),
    Planted("progress-increases", [*modern(), ASK, UP, DOWN]),
    Planted("progress-token", [*opening(), CALL, s2c(progress(8))]),
    Planted("progress-token", [*opening(), CALL, s2c(progress("7"))]),
    Planted("progress-token", [*modern(), ASK, s2c(progress(8))]),
    Planted("progress-after-answer", [*opening(), CALL, s2c(response(1)), UP]),
    Planted("progress-after-answer", [*modern(), ASK, s2c(done(1)), UP]),
    Planted("progress-members", [*opening(), CALL, s2c(UP.raw.replace(b":2}", b':"2"}'))]),
    Planted("progress-after-cancel", [*opening(), CALL, STOP, UP, UP_AGAIN]),
    Planted("progress-after-cancel", [*modern(), ASK, STOP, UP, UP_AGAIN]),
]


def test_progress_that_goes_up_is_fine() -> None:
    """Also by fractions, and under a token that another call had before."""
    small = [s2c(UP.raw.replace(b":2}", b":%b}" % amount)) for amount in (b"0.1", b"0.2", b"1e3")]
    again = c2s(CALL.raw.replace(b'"id":1', b'"id":2'))

    assert [] == names(*opening(), CALL, *small, s2c(response(1)), again, *small)


def test_the_first_after_a_cancel_may_have_crossed_it() -> None:
    """One report after a cancel may have crossed it; further ones are a known deviation."""
    assert [] == names(*opening(), CALL, STOP, UP)
    [told] = violations(*opening(), CALL, STOP, UP, UP_AGAIN)

    assert told.known is not None
    assert "TypeScript" in told.known.words


def test_a_task_goes_on_after_its_answer() -> None:
    """The token of a task is good as long as the task is."""
    tasks: Any = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}
    task = c2s(request(1, "tools/call", {"name": "dig", "task": {}}, token=7))
    made = s2c(response(1, {"task": {"taskId": "t", "status": "working"}}))

    assert [] == names(*opening(server=tasks), task, made, UP)


def test_between_streams_there_is_no_order() -> None:
    """Progress on another stream is a violation of its own, and never late."""
    asks: list[Step] = [
        posted(3, CALL.raw),
        answers(3, response(1)),
        got(4),
        replies(4, 200, "text/event-stream"),
    ]

    assert ["message-stream"] == names(*opening_http(), *asks, says(4, UP.raw), transport=HTTP)


def test_progress_without_an_amount() -> None:
    """Progress without an amount is a violation, whatever its token."""
    nobody = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}'

    assert ["progress-members"] == names(*opening(), s2c(nobody))
    assert ["progress-increases"] == names(
        *opening(),
        CALL,
        *(s2c(UP.raw.replace(b":2}", b":%b}" % big)) for big in (b"9" * 400, b"8")),
    )


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many tokens the latest are remembered."""
    monkeypatch.setattr(module, "MAX_CALLS", 3)
    conversation = ConversationChecker()
    for number in range(1, 9):
        for raw in (request(number, "tools/call", {}, token=number), progress(number)):
            conversation.check(Frame(C2S if b"id" in raw else S2C, raw), number)
    reports = conversation._checker.session.progress

    assert 3 == len(reports._amounts) == len(reports._calls_by_token)
