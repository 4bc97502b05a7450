"""How recorded pauses are played."""

from __future__ import annotations

import pytest

from mcpmock.errors import McpMockError
from mcpmock.playback.timing import Timing


@pytest.mark.parametrize(
    ("text", "pauses"),
    [
        ("none", [0, 0]),
        ("recorded", [0.5, 3.0]),
        ("scale:2", [1.0, 6.0]),
        ("scale:0.5", [0.25, 1.5]),
        ("scale:0", [0, 0]),
        ("fixed:100", [0.1, 0.1]),
        ("cap:1000", [0.5, 1.0]),
        ("cap:0", [0, 0]),
    ],
)
def test_pauses(text: str, pauses: list[float]) -> None:
    """Each kind of timing turns recorded pauses into its own."""
    assert pauses == [Timing.parse(text).pause(recorded) for recorded in (0.5, 3.0)]


@pytest.mark.parametrize("text", ["none", "scale:2", "fixed:500", "cap:5000"])
def test_numbers_are_meant(text: str) -> None:
    """What somebody asked for in numbers he gets, on any clock."""
    assert Timing.parse(text) == Timing.parse(text).on_a_real_clock()


def test_recorded_on_a_real_clock() -> None:
    """Nobody waits for half a minute without having said so."""
    timing = Timing.parse("recorded").on_a_real_clock()

    assert [0.05, 0.1] == [timing.pause(recorded) for recorded in (0.05, 30.0)]


def test_the_default_is_no_pause() -> None:
    """Nothing said means no pauses."""
    assert 0.0 == Timing().pause(5.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fast",
        "scale",
        "scale:",
        "scale:x",
        "scale:-1",
        "none:1",
        "recorded:1",
        "fixed:nan",
        "cap",
        "NONE",
        ":1",
    ],
)
def test_mistakes_name_what_is_right(text: str) -> None:
    """A mistake is refused with all that would have been right."""
    with pytest.raises(McpMockError, match="say none, recorded, scale:X, fixed:MS or cap:MS"):
        Timing.parse(text)
