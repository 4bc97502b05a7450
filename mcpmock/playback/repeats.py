"""`Repeats`: recorded answers that are played once more, beside the session they were taken from.

A repeat is a candidate of its own, made of what belongs to one client event: its requests and its
exchange. The option `repeats` decides whether a message is answered once more, and with which of
several equal answers. Used by `playback.player`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from mcpmock.protocol.messages import HttpRequest

from .candidates import Candidate
from .matcher import MatchResult
from .request_assembly import ClientMessage
from .session_selection import SessionSelection


@attrs.define(eq=False, repr=False)
class Repeats:
    """The repeats that are being played to one live session."""

    selection: SessionSelection
    session: Callable[[], str]
    playing: list[Candidate] = attrs.field(factory=list)
    _times_repeated: dict[tuple[int, int], int] = attrs.field(factory=dict)

    def allowed(self, live: ClientMessage) -> bool:
        """Return whether the options let a message be answered more often than it was recorded."""
        options = self.selection.options
        if options.order == "any" or options.repeats != "auto":
            return options.order == "any" or options.repeats != "error"
        if options.order == "strict" or options.on_miss == "live":
            return False  # a real server knows better
        return all(map(self.selection.may_be_asked_again, live.requests))

    def add(self, candidate: Candidate, live: ClientMessage, level: int | None, now: float) -> bool:
        """Repeat the recorded answer to an equal message, at this level or at the strictest that
        has any; False without one.
        """
        matches = candidate.matcher.repeats(live, level)
        if matches:
            self.play(candidate, live, matches, now)
        return bool(matches)

    def play(
        self, candidate: Candidate, live: ClientMessage, matches: Sequence[MatchResult], now: float
    ) -> MatchResult:
        """Repeat the recorded answer to one of these messages; gives which."""
        index = candidate.matcher.index
        key = (id(index), matches[0].event.index)
        times = self._times_repeated.get(key, 0)
        self._times_repeated[key] = times + 1
        match = matches[-1] if self._last_stays else matches[times % len(matches)]
        excerpt = attrs.evolve(index, plan=index.plan.excerpt(match.event.index), answers=None)
        repeat = self.selection.candidate(excerpt, self.session)
        repeat.join(candidate)
        repeat.accept(match, live, now)
        if isinstance(live.frame.fact, HttpRequest) and self.selection.options.order == "any":
            # Answers to other requests come on the stream that this one opens.
            candidate.ids.bind(match.event, live)
        self.playing.append(repeat)
        return match

    def drop_exchange(self, exchange: int) -> None:
        """Send nothing more on a live exchange that its client left."""
        self.playing = [repeat for repeat in self.playing if exchange not in repeat.ids.recorded]

    def drop_finished(self) -> None:
        self.playing = [repeat for repeat in self.playing if not repeat.finished]

    @property
    def _last_stays(self) -> bool:
        """Stubs and `repeats = cycle` begin again after the last answer; else it is given again."""
        options = self.selection.options
        return options.repeats == "last" or (options.repeats != "cycle" and options.order != "any")
