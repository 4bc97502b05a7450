"""What a program that embeds us may put in front of every conversation, to see what passes.

The command line never does. `api.log` makes such stages.
"""

from __future__ import annotations

from collections.abc import Callable

from mcpmock.pipeline.stage import Stage
from mcpmock.playback.player import Player

Watch = Callable[[int, Player | None], Stage]
"""Gives the stage for a conversation, by its number and who plays it (None: a real server)."""


def watching(watch: Watch | None, conversation: int, player: Player | None = None) -> list[Stage]:
    """The stages to put next to the client: one, or none."""
    return [] if watch is None else [watch(conversation, player)]
