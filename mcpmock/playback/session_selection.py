"""`SessionSelection`: which recorded sessions a live one may be, for all sessions played from one
cassette.

`ReplayOptions` is how the user wants it. A `Player` asks for its candidates, and says which of
them it
took answers from; the others of its kind are dealt first then. Exchanges that belong to no session
are played from one score of all such exchanges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import count

import attrs
import msgspec
from msgspec import UNSET

from mcpmock.cassette.model import Cassette, Episode, Event
from mcpmock.playback.plan.builder import build_plan
from mcpmock.playback.plan.join_resumed import resumed
from mcpmock.playback.plan.plan import ReplayPlan
from mcpmock.playback.plan.steps import is_message, merged
from mcpmock.protocol.messages import HttpRequest
from mcpmock.protocol.transport_facts import NO_SESSION

from .matcher import ELSEWHERE, Matcher, NearMiss
from .request_key import TIERS, Asked
from .schedule import Schedule
from .timing import Pace

Session = Callable[[], str]
"""Gives the id of a live session."""


@attrs.frozen(kw_only=True)
class ReplayOptions:
    """How a cassette is played: the options of `mcpmock replay`, with their names and defaults
    (`replay --help`).
    """

    order: str = "causal"
    pace: Pace = attrs.field(factory=Pace)
    repeats: str = "error"
    sessions: str = "reuse"
    exact: bool = False
    on_miss: str = "error"
    mute: bool = False


@attrs.define
class SessionSelection:
    """The episodes of a cassette, shared by all sessions that are played from it."""

    cassette: Cassette
    playing: ReplayOptions
    _episodes: list[Episode] = attrs.field(init=False)
    """What a live session can be: all of stdio; over HTTP those with a session of their own."""
    _alone: list[Episode] = attrs.field(init=False)
    """What exchanges without a session can be."""
    _scores: dict[int, ReplayPlan] = attrs.field(factory=dict)
    _merged: ReplayPlan | None = None
    _paths: set[str] | None = None
    _played: set[int] = attrs.field(factory=set)
    _led: dict[int, int] = attrs.field(factory=dict)
    """In which turn a session last led with an episode."""
    _turns: count[int] = attrs.field(factory=lambda: count(1))

    def __attrs_post_init__(self) -> None:
        own: list[Episode] = []
        self._alone = []
        for take in self.cassette.takes:
            on_http = take.transport != "stdio"
            for episode in msgspec.structs.replace(take, events=resumed(take.events)).episodes():
                session = episode.events[0].s
                own += [episode] if not on_http or session != NO_SESSION else []
                self._alone += [episode] if not on_http or session == NO_SESSION else []
        self._episodes = own or self._alone

    def paced(self, pace: Pace) -> SessionSelection:
        """The same casting, all that was played included, at another pace."""
        twin = copy(self)
        twin.playing = attrs.evolve(self.playing, pace=pace)
        return twin

    def candidates(self, session: Session) -> list[Schedule]:
        """A performance of every episode that may be played, those not played yet first, in
        recorded order; of these, those first that no session leads with.
        """
        fresh = [number for number in range(len(self._episodes)) if number not in self._played]
        fresh.sort(key=lambda number: (self._led.get(number, 0), number))
        again = sorted(self._played) if self.playing.sessions == "reuse" else []
        return [self.perform(self.score(number), session) for number in (*fresh, *again)]

    def stateless(self, session: Session) -> Schedule:
        """A performance of all that belongs to no session."""
        if self._merged is None:
            whole = merged(self._alone)
            self._merged = build_plan(whole, strict=self.playing.order == "strict")
        return self.perform(self._merged, session, stateless=True)

    def perform(self, score: ReplayPlan, session: Session, *, stateless: bool = False) -> Schedule:
        """A new performance of a score."""
        strict = self.playing.order == "strict"
        tiers = 1 if self.playing.exact else len(TIERS)
        matcher = Matcher(score, strict, tiers, stateless)
        return Schedule(score, self.playing.pace, matcher, session, stateless)

    def score(self, number: int) -> ReplayPlan:
        if number not in self._scores:
            strict = self.playing.order == "strict"
            self._scores[number] = build_plan(self._episodes[number], strict=strict)
        return self._scores[number]

    @property
    def paths(self) -> set[str]:
        """The paths on which messages were recorded."""
        if self._paths is None:
            takes = self.cassette.takes
            self._paths = {path for take in takes for path in _paths_of(take.events)}
        return self._paths

    def elsewhere(self, live: Asked, cast: Sequence[Schedule]) -> list[NearMiss]:
        """The near misses of the episodes that a session is not."""
        mine = {id(performance.score) for performance in cast}
        others = (score for score in self._scores.values() if id(score) not in mine)
        found = (near for score in others for near in Matcher(score).near(live))
        return [attrs.evolve(near, why=ELSEWHERE) for near in found]

    def played(self, performance: Schedule) -> None:
        """An answer was taken from this episode alone."""
        self._played |= self._numbers(performance)

    def led(self, performance: Schedule) -> None:
        """An answer was taken from this episode, though the session might still be another one."""
        self._led.update((number, next(self._turns)) for number in self._numbers(performance))

    def _numbers(self, performance: Schedule) -> set[int]:
        episode = performance.score.episode
        return {number for number, score in self._scores.items() if score.episode is episode}


def _paths_of(events: Sequence[Event]) -> set[str]:
    heads: dict[int, str] = {}
    found = set()
    for event in events:
        if event.x is None:
            continue
        if event.http is not UNSET and "method" in event.http:
            heads[event.x] = HttpRequest(**event.http).path
        elif event.x in heads and (event.sse is not UNSET or is_message(event)):
            found.add(heads[event.x])
    return found
