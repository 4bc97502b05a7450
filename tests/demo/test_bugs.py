"""The bugs of the demo server: each shows in the order of messages that it is about."""

from __future__ import annotations

import pytest

from mcpmock.demo.bugs import BUGS
from mcpmock.demo.routes import DemoServer
from tests.demo.talking import Conversation, call, talk, welcome
from tests.support import cancelled, request, response

ABLE = welcome(sampling={}, elicitation={})
COUNT = {"steps": 2, "pause": 1}


def _tokens(heard: Conversation) -> list[object]:
    return [params["progressToken"] for params in heard.notified("notifications/progress")]


def _overlap(bug: type[DemoServer]) -> Conversation:
    one = call(1, "countdown", token="a", **COUNT)
    return talk(ABLE, one, 0.5, call(2, "countdown", token="b", **COUNT), 9, server=bug())


def test_sound_server() -> None:
    """Without a bug every overlap and every cancel is survived."""
    heard = _overlap(DemoServer)

    assert ([0, 1, 2], ["a", "b", "a", "b"]) == (heard.ids, _tokens(heard))


def test_answers_after_cancel() -> None:
    """The cancelled call is answered."""
    bug = BUGS["answers-after-cancel"]()

    assert [1] == talk(call(1, "slow", seconds=1), cancelled(1), 9, server=bug).ids


def test_loses_overlapping_answer() -> None:
    """The first of two calls of a tool has no answer."""
    assert [0, 2] == _overlap(BUGS["loses-overlapping-answer"]).ids


def test_crashes_on_early_cancel() -> None:
    """A cancel before the first report kills it; one behind that does not."""
    early: list[bytes | float] = [call(1, "countdown", token="a", **COUNT), cancelled(1)]
    with pytest.raises(KeyError):
        talk(*early, server=BUGS["crashes-on-early-cancel"]())

    late = [early[0], 1.5, early[1], request(2, "ping")]
    assert [2] == talk(*late, server=BUGS["crashes-on-early-cancel"]()).ids


def test_swaps_progress_tokens() -> None:
    """The second of two calls gets the progress of both."""
    assert ["b", "b", "b", "b"] == _tokens(_overlap(BUGS["swaps-progress-tokens"]))


def test_deadlocks_when_asking() -> None:
    """Two questions at once stop both calls; one behind the other do not."""
    bug = BUGS["deadlocks-when-asking"]
    ask = [call(id_, "ask", question="?") for id_ in (1, 2)]
    answers = [response(id_, {"content": {"text": "!"}}) for id_ in (1, 2)]

    assert [0] == talk(ABLE, *ask, *answers, server=bug()).ids
    assert [0, 1, 2] == talk(ABLE, ask[0], answers[0], ask[1], answers[1], server=bug()).ids


def test_leaks_task_per_cancel() -> None:
    """The server does not end after a cancel of a running call."""
    bug = BUGS["leaks-task-per-cancel"]
    heard = talk(call(1, "slow", seconds=1), cancelled(1), server=bug(), ends=False)

    assert [] == heard.ids
    talk(call(1, "slow", seconds=1), 2, cancelled(1), server=bug())
