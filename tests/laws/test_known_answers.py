"""What is answered without a plan is what the player would answer: the same bytes in the same order
at the same times, the same misses and remarks, and the same is left over. On 1,000 generated
conversations; `tools/known_answers.py` plays more.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcpmock.playback.known_answers import KnownAnswers
from mcpmock.playback.session_selection import SessionSelection
from tests.support.conversations import Conversation

CHUNK, CHUNKS = 100, 10


class Planned(SessionSelection):
    """Always makes a plan."""

    def known_answers(self, choice: Sequence[int], now: float) -> KnownAnswers | None:
        del choice, now
        return None


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_answers_are_those_of_the_player(chunk: int) -> None:
    """Whether everything is known, something in the middle is not, or nothing is."""
    handed_over, known = 0, 0
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        played = Conversation(seed)

        assert Conversation(seed, Planned).play() == played.play(), seed
        handed_over += played.taken_over
        known += played.known
    assert (handed_over > CHUNK / 4, known > CHUNK / 4) == (True, True), (handed_over, known)
