"""`Replay`: a cassette that answers in the place of a server, alone or with a stub. Every command,
fixture and tool that plays one makes it here, so the rules beside the cassette hold in each.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from mcpmock.batch.match_rules import with_rules_beside
from mcpmock.cassette.model import Cassette
from mcpmock.pipeline.stage import Stage
from mcpmock.playback.fallback import Fallback
from mcpmock.playback.player import Player, PlayerOptions, Report
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.session_selection import PlayedSessions, SessionSelection

if TYPE_CHECKING:
    from mcpmock.faults.receipts import FaultRun
    from mcpmock.stubs.script import StubScript


class Replay(Struct, eq=False, dict=True):
    """A cassette and how it is played. Raises ProjectFileError."""

    cassette: Cassette
    options: PlayerOptions
    """As given, and by the rules beside the cassette."""
    report: Report
    stub: StubScript | None = None
    """Hand-written answers. They come before the recorded ones."""
    past: PlayedSessions = field(default_factory=PlayedSessions)
    """Which recorded sessions were played, over any transport."""

    def __post_init__(self) -> None:
        self.options = with_rules_beside(self.options, self.cassette)

    @cached_property
    def bare_selection(self) -> SessionSelection:
        """What sessions of bare messages (stdio, memory) are played from, one for all of them."""
        return SessionSelection(bare_messages(self.cassette), self.options, self.past)

    def bare_player(self) -> SessionPlayer:
        """Return a player for one session of bare messages."""
        return SessionPlayer(self.bare_selection, self.report)

    def stages(self, player: Player) -> list[Stage]:
        """Return the end of a pipeline without a server. A stub stands directly in front of the
        player, on bare messages, so that faults, recorders and observers see its answers like any
        other.
        """
        if self.stub is None:
            return [player]

        from mcpmock.stubs.stage import StubStage

        stubs = StubStage(
            self.stub,
            report=player.report,
            alone=not player.selection.cassette.takes,
            breath=player.selection.options.pace.after_progress,
        )
        player.fallback = Fallback(stubs.answer, stubs.near)
        return [stubs, player]


def scheduled(cassette: Cassette, faults: FaultRun | None) -> Cassette:
    """Return the cassette in the order of the plan of faults, if that has a `[schedule]`."""
    if faults is None or faults.schedule is None:
        return cassette
    order = faults.schedule
    if not order.order and order.keep is None:
        return cassette  # exchange for exchange, as recorded
    return order.applied(bare_messages(cassette))


def bare_messages(cassette: Cassette) -> Cassette:
    """Return a cassette for a client with one session for everything: what was recorded over HTTP,
    as the messages that its exchanges carried.
    """
    if all(take.transport == "stdio" for take in cassette.takes):
        return cassette

    from mcpmock.playback.plan.steps import bare  # most cassettes need it not

    return bare(cassette, one_session=True)
