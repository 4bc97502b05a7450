"""What is answered without a plan is what the player would answer: the same bytes in the same order
at the same times (over HTTP on each exchange), the same misses and remarks, and the same is left
over. On 2,000 generated conversations; `tools/known_answers.py` plays more. And the plan that is
made of an index is the one that is made of the events.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from msgspec.structs import asdict

from mcpmock.playback.answer_index import AnswerIndex, index_answers
from mcpmock.playback.matcher import Matcher
from mcpmock.playback.plan.builder import build_plan
from mcpmock.playback.plan.ordinary import plan_of
from mcpmock.playback.plan.plan import ReplayPlan
from mcpmock.playback.session_selection import SessionSelection
from tests.support import cassette
from tests.support.conversations import Conversation, take
from tests.support.http_conversations import HttpConversation

CHUNK, CHUNKS = 100, 10


class Planned(SessionSelection):
    """Always makes a plan, and of the events."""

    def _answer_index(self, number: int) -> AnswerIndex | None:
        del number
        return None


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize(("kind", "least"), [(Conversation, 25), (HttpConversation, 8)])
def test_the_answers_are_those_of_the_player(
    kind: type[Conversation], least: int, chunk: int
) -> None:
    """Whether everything is known, something in the middle is not, or nothing is."""
    handed_over, known = 0, 0
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        played = kind(seed)

        assert kind(seed, Planned).play() == played.play(), seed
        handed_over += played.taken_over
        known += played.known
    assert (handed_over > least, known > least) == (True, True), (handed_over, known)


def test_the_next_as_written_is_what_a_search_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A player that always searches answers the same."""
    found = [Conversation(seed, Planned).play() for seed in range(CHUNK)]
    monkeypatch.setattr(Matcher, "_next_as_written", lambda *_: None)

    assert [Conversation(seed, Planned).play() for seed in range(CHUNK)] == found


def test_both_plans_are_equal() -> None:
    """Whatever is ordinary enough for an index."""
    indexed = 0
    for seed in range(300):
        for episode in cassette(*take(Random(seed))).takes[0].episodes():
            index = index_answers(episode)
            if index is not None:
                indexed += 1

                assert _as_value(build_plan(episode)) == _as_value(plan_of(index)), seed
    assert indexed > 100, indexed


def _as_value(plan: ReplayPlan) -> list[Any]:
    messages = [
        {**asdict(one), "frame": one.frame.raw, "overlaps": [*one.overlaps]}
        for one in plan.messages
    ]
    client = [{**asdict(one), "frame": one.frame.raw} for one in plan.client_events.values()]
    replies = {id_: [*events] for id_, events in plan.replies.items()}
    cancels = {call: [*events] for call, events in plan.cancels.items()}
    return [messages, client, replies, cancels, plan.request_ranks]
