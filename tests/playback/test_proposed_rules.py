"""What misses propose, in generated sessions; `tools/proposed_rules.py` tries thousands."""

from __future__ import annotations

from random import Random

import pytest

from tests.support.generated_sessions import broken_promise, generate_session


@pytest.mark.parametrize("seed", range(60))
def test_following_what_is_proposed_ends_without_a_miss(seed: int) -> None:
    """Each proposal changes the outcome, and there are at most as many rounds as places differ."""
    assert None is broken_promise(generate_session(Random(seed)))
