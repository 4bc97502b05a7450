"""What is said of a miss, for a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpmock.playback.miss import Miss
from mcpmock.view.miss_report import miss_lines


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("tools/call", " --filter method=tools/call"),
        ("GET", " --filter method=GET"),
        ("a batch", ""),
        ("POST", ""),
    ],
)
def test_the_command_that_shows_the_recording(method: str, options: str) -> None:
    """It selects the method, where `show` has rows of it."""
    lines = miss_lines(Miss(method, ()), Path("a.jsonl"))

    assert f"  see `mcpmock show a.jsonl{options}`; record again to add it" == lines[-1]
