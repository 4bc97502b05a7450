"""Where stubs stand in a session: directly in front of the player, on bare messages.

So faults, recorders and logs see a stubbed answer like any other. Without a stub nothing of it is
imported. The modes beside it use this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpmock.pipeline.stage import Stage
from mcpmock.playback.fallback import Fallback
from mcpmock.playback.player import Player

if TYPE_CHECKING:
    from mcpmock.stubs.script import StubScript


def with_stubs(script: StubScript | None, player: Player) -> list[Stage]:
    """The end of the row: the player, and what was written by hand in front of it."""
    if script is None:
        return [player]

    from mcpmock.stubs.stage import StubStage

    casting = player.selection
    stubs = StubStage(
        script,
        player.report,
        alone=not casting.cassette.takes,
        breath=casting.options.pace.after_progress,
    )
    player.fallback = Fallback(stubs.answer, stubs.near)
    return [stubs, player]
