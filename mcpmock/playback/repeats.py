"""`Repeats`: answers played once more, beside the performance they were taken from.

An encore is a performance of what belongs to one client event: its requests, its exchange. Which
one is taken of several that are alike is the user's to say (`repeats`). `player` asks for them.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from mcpmock.protocol.messages import HttpRequest

from .request_assembly import ClientMessage
from .schedule import Schedule
from .session_selection import SessionSelection


@attrs.define
class Repeats:
    """The encores that are being played to one live session."""

    casting: SessionSelection
    session: Callable[[], str]
    stateless: bool
    playing: list[Schedule] = attrs.field(factory=list)
    _times_asked: dict[tuple[int, int], int] = attrs.field(factory=dict)

    def add(
        self, performance: Schedule, heard: ClientMessage, tier: int | None, now: float
    ) -> bool:
        """Answers with what was recorded for the like of it, at this tier or at the strictest that
        has any; False if nothing was.
        """
        matches = performance.matcher.repeats(heard.frame, heard.head, tier)
        if not matches:
            return False
        what = (id(performance.score), matches[0].event.index)
        times = self._times_asked.get(what, 0)
        self._times_asked[what] = times + 1
        match = matches[-1] if self._last_stays else matches[times % len(matches)]
        score = performance.score.excerpt(match.event.index)
        encore = self.casting.perform(score, self.session, stateless=self.stateless)
        encore.join(performance)
        encore.hear(match, heard.frame, now)
        if isinstance(heard.frame.fact, HttpRequest) and self.casting.playing.order == "any":
            performance.live.bind(match.event, heard.frame)  # answers to others come on its stream
        self.playing.append(encore)
        return True

    def left(self, exchange: int) -> None:
        """The client of a live exchange went away: what it had to hear is played to nobody."""
        self.playing = [e for e in self.playing if exchange not in e.live.recorded]

    def settle(self) -> None:
        """Those that are finished are forgotten."""
        if self.playing:
            self.playing = [encore for encore in self.playing if not encore.finished]

    @property
    def _last_stays(self) -> bool:
        """Stubs, and what is to be repeated in a cycle, begin again; else the last one stays."""
        playing = self.casting.playing
        return playing.repeats == "last" or (playing.repeats == "error" and playing.order != "any")
