"""Where stubs stand in a session: directly in front of the player, on bare messages.

So faults, recorders and logs see a stubbed answer like any other. The modes beside it use this.
"""

from __future__ import annotations

from mcpmock.pipeline.player import Player
from mcpmock.pipeline.stubs.script import Script
from mcpmock.pipeline.stubs.stage import Stubs
from mcpmock.protocol.stage import Stage


def with_stubs(script: Script | None, player: Player) -> list[Stage]:
    """The end of the row: the player, and what was written by hand in front of it."""
    if script is None:
        return [player]
    casting = player.casting
    stubs = Stubs(
        script,
        player.report,
        alone=not casting.cassette.takes,
        breath=casting.playing.pace.after_progress,
    )
    player.understudy = stubs
    return [stubs, player]
