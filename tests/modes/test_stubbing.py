"""Where stubs stand."""

from __future__ import annotations

from mcpmock.modes.stubbing import with_stubs
from mcpmock.pipeline.player import Casting, Player, Playing
from mcpmock.pipeline.strays import Understudy
from mcpmock.pipeline.stubs.script import Script
from mcpmock.pipeline.stubs.stage import Stubs
from mcpmock.pipeline.timing import Pace
from tests.helpers import OPENING, cassette


def test_without_a_stub() -> None:
    """The player stands alone, and asks nobody."""
    player = Player(Casting(cassette(*OPENING), Playing()))

    assert [player] == with_stubs(None, player)
    assert type(player.understudy) is Understudy


def test_in_front_of_a_recording() -> None:
    """The stubs know that there is one, and are asked before a miss; their pace is the player's."""
    pace = Pace(after_progress=0.5)
    player = Player(Casting(cassette(*OPENING), Playing(pace=pace)))
    stubs, last = with_stubs(Script(), player)

    assert isinstance(stubs, Stubs)
    assert (last, stubs, False, 0.5) == (player, player.understudy, stubs.alone, stubs.breath)


def test_alone() -> None:
    """A cassette without takes is none."""
    nothing = cassette()
    nothing.takes.clear()
    [stubs, _] = with_stubs(Script(), Player(Casting(nothing, Playing())))

    assert isinstance(stubs, Stubs)
    assert stubs.alone
