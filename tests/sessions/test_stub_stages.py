"""Where stubs stand."""

from __future__ import annotations

from mcpmock.playback.fallback import Fallback
from mcpmock.playback.player import Player, ReplayOptions, SessionSelection
from mcpmock.playback.timing import Pace
from mcpmock.sessions.stub_stages import with_stubs
from mcpmock.stubs.script import StubScript
from mcpmock.stubs.stage import StubStage
from tests.support import OPENING, cassette


def test_without_a_stub() -> None:
    """The player stands alone, and asks nobody."""
    player = Player(SessionSelection(cassette(*OPENING), ReplayOptions()))

    assert [player] == with_stubs(None, player)
    assert Fallback() == player.fallback


def test_in_front_of_a_recording() -> None:
    """The stubs know that there is one, and are asked before a miss; their pace is the player's."""
    pace = Pace(after_progress=0.5)
    player = Player(SessionSelection(cassette(*OPENING), ReplayOptions(pace=pace)))
    stubs, last = with_stubs(StubScript(), player)

    assert isinstance(stubs, StubStage)
    assert (last, False, 0.5) == (player, stubs.alone, stubs.breath)
    assert Fallback(stubs.answer, stubs.near) == player.fallback


def test_alone() -> None:
    """A cassette without takes is none."""
    nothing = cassette()
    nothing.takes.clear()
    [stubs, _] = with_stubs(StubScript(), Player(SessionSelection(nothing, ReplayOptions())))

    assert isinstance(stubs, StubStage)
    assert stubs.alone
