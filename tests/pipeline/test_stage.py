"""A stage with nothing of its own."""

from __future__ import annotations

from mcpmock.pipeline.stage import PASS, Stage
from mcpmock.protocol.messages import C2S, Frame


def test_a_stage_lets_everything_pass() -> None:
    """It says nothing at the beginning, passes what comes, and never wakes."""
    stage = Stage()

    assert [] == list(stage.begin(0.0))
    assert PASS is stage.feed([Frame(C2S)], 0.0)
    assert [] == list(stage.wake(0.0))
