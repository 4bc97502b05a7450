"""`StatelessPlayer`: plays the server to all exchanges that belong to no session, of all clients.

It has one candidate, made of all recorded exchanges of that kind, which speaks from the beginning;
where the client is of the other era, the translated ones go before it. The exchanges are dealt in
recorded order. `player` has what both players do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.pipeline.stage import Action

from .candidates import Candidate, CandidateMatch
from .matcher import MatchResult
from .player import Player
from .request_assembly import ClientMessage


@attrs.define
class StatelessPlayer(Player):
    """Plays the server to all exchanges that belong to no session."""

    in_session: ClassVar[bool] = False

    def begin(self, now: float) -> Iterable[Action]:  # noqa: ARG002
        merged = self.selection.stateless(self._session_id)
        merged.speak()
        self._candidates.all = [merged]
        return ()  # no client is connected yet

    def _session_id(self) -> str:
        return self.mint()  # a new one each time: they belong to none

    def _answer_recorded(self, live: ClientMessage, now: float) -> bool:
        """Answer without a session: such exchanges are dealt in recorded order, and of equal ones
        the last is repeated. A handshake is repeated before another client's handshake is taken for
        it.
        """
        for candidate in self._candidates.all:
            for level in candidate.matcher.levels_for(live):
                match = None if self._stubs else candidate.matcher.find(live, level)
                if match is not None and not self._repeats_nearer(candidate, live, match):
                    candidate.accept(match, live, now)
                elif self._strict or not self._repeats.add(candidate, live, level, now):
                    continue
                self._report_level(live, level)
                return True
        return False

    def _repeats_nearer(
        self, candidate: Candidate, live: ClientMessage, match: MatchResult
    ) -> bool:
        if self._strict or not live.is_handshake or match.distance == (0, 0):
            return False
        return self._distance(candidate, live, match.level) < match.distance

    def _answer_otherwise(self, live: ClientMessage, now: float) -> bool:
        return self._answer_loosened(live, now)

    def _accept_found(
        self,
        found: list[CandidateMatch],
        live: ClientMessage,
        now: float,
        *,
        keep: bool,  # noqa: ARG002
    ) -> None:
        found[0].candidate.accept(found[0].match, live, now)

    def _add_translated(self, added: list[Candidate]) -> None:
        for candidate in added:
            candidate.speak()
        self._candidates.all = [*added, *self._candidates.all]

    def _take_other(self, live: ClientMessage, now: float) -> None:
        if not self._answer_recorded(live, now):
            self._follow(live, now)

    def _is_lost(self, live: ClientMessage) -> bool:
        return live.names_session

    @property
    def _speakers(self) -> list[Candidate]:
        return [*self._candidates.all, *self._repeats.playing]
