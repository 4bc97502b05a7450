"""`Schedule`: one score being played to one live session.

It keeps what has happened of what the recorded client did, and which cues are due when. Matching is
`playback.matcher`'s, the order `playback.plan.builder`'s, the live ids `rendering`'s; which
performances
are candidates, misses and the end of a session are `player`'s. Pure: `now` comes in, and `next_due`
says when to come again.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable

import attrs

from mcpmock.playback.plan.plan import ClientEvent, PlannedMessage, ReplayPlan
from mcpmock.protocol.correlation import PROGRESS
from mcpmock.protocol.messages import (
    ExchangeEnd,
    Frame,
    HttpResponse,
    Notification,
    ProcessExit,
    Response,
    StreamEnd,
    member,
    same_id,
)

from .id_mapping import IdMapping
from .matcher import Matcher, MatchResult
from .timing import Pace

_ENDINGS = (StreamEnd, ProcessExit, ExchangeEnd)


@attrs.define
class Schedule:
    """The state of one score in one session."""

    score: ReplayPlan
    pace: Pace
    matcher: Matcher
    session: Callable[[], str] = lambda: "mcpmock"
    """Gives the id of the live session."""
    stateless: bool = False
    """The exchanges belong to no session: only those that overlap wait for each other."""
    answered: int = 0
    """How many answers were played."""
    answered_ids: set[bytes] = attrs.field(factory=set)
    """The live ids of the calls whose answer was played."""
    said: list[bytes] = attrs.field(factory=list)
    """What was played for no call in particular."""
    sent: Counter[tuple[int, object]] = attrs.field(factory=Counter)
    """What was played on each live exchange besides messages, by its kind."""
    live: IdMapping = attrs.field(init=False)
    _waiting: list[int] = attrs.field(init=False)
    _due: list[tuple[float, int]] = attrs.field(factory=list)
    _endings: list[tuple[float, int]] = attrs.field(factory=list)
    """Those that are due, and that something else must come before."""
    _held: dict[int, float] = attrs.field(factory=dict)
    """Answers that wait for overlapping requests only, and since when."""
    _chain_due: dict[int | None, float] = attrs.field(factory=dict)
    _progress_due: dict[int | None, float] = attrs.field(factory=dict)
    _head_due: dict[int | None, float] = attrs.field(factory=dict)
    """When the head of each recorded exchange is due: nothing on it comes sooner."""
    _last_heard: float = 0.0
    _heard_of: dict[int, float] = attrs.field(factory=dict)
    """When each client event happened."""
    _played: set[int] = attrs.field(factory=set)

    def __attrs_post_init__(self) -> None:
        self.live = IdMapping(self.session, self.score.session_ids)
        self._waiting = [len(cue.causes) for cue in self.score.cues]

    def begin(self, now: float) -> None:
        """Releases what waits for nothing."""
        self._last_heard = now
        self._release((i for i, waits in enumerate(self._waiting) if not waits), now)

    def join(self, other: Schedule) -> None:
        """Plays beside another one: to the same client, with the same values, on its streams."""
        self.matcher.bindings = dict(other.matcher.bindings)
        self.live.exchanges = dict(other.live.exchanges)

    def hear(self, match: MatchResult, live: Frame, now: float) -> None:
        """The live client did what `match` says: what waited for it is released."""
        self.matcher.take(match)
        self.live.bind(match.event, live)
        self._happened(match.event.index, now)

    def reply(self, live: Frame, now: float) -> bool:
        """The live client answered a request of the server's; False if that is none of this
        score's.
        """
        content = live.content
        if not isinstance(content, Response) or content.id is None:
            return False
        for event in self._replies(content.id):
            if event in self.score.client and event not in self.matcher.used:
                self._hear_tied(event, live, now)
                return True
        return False

    def cancel(self, live: Frame, now: float) -> bool:
        """The live client cancelled a call; False if that is none of this score's.

        Of what is still to come only what the recorded server sent after the recorded cancel is
        played, and nothing where the recording has no cancel.
        """
        content = live.content
        id_ = member(content.params, "requestId") if isinstance(content, Notification) else None
        number = None if id_ is None else self.live.number(id_)
        if number is None:
            return False
        events = self.score.cancels.get(number, ())
        recorded = next((event for event in events if event not in self.matcher.used), None)
        for place in self.score.places.get(number, ()):
            cue = self.score.cues[place]
            head = isinstance(cue.frame.fact, HttpResponse)  # what follows needs it
            if recorded is None or (cue.index < recorded and not head):
                self._drop(place)
        if recorded is not None:
            self._hear_tied(recorded, live, now)
        return True

    def answers_on(self, exchange: int) -> bool:
        """Whether the recording has something to say on this live exchange, now or later."""
        recorded = self.live.recorded.get(exchange)
        return recorded is not None and recorded in self.score.carried

    def status_on(self, exchange: int) -> int | None:
        """The recorded status of the response to this live exchange."""
        recorded = self.live.recorded.get(exchange, -1)
        facts = (
            self.score.cues[place].frame.fact for place in self.score.carried.get(recorded, ())
        )
        return next((fact.status for fact in facts if isinstance(fact, HttpResponse)), None)

    def end_session(self, exchange: int) -> None:
        """The client ended the session on this live exchange: what it was answered before, it is
        not answered any more.
        """
        recorded = self.live.recorded.get(exchange)
        events = self.score.client.values()
        ends = (e.index for e in events if recorded is not None and e.frame.exchange == recorded)
        self.matcher.since = next(ends, len(self.score.episode.events))

    def heard(self, now: float) -> None:
        """Anything came from the client: the session is not quiet."""
        self._last_heard = now

    def stop_waiting(self, now: float) -> None:
        """Nothing more comes from the client: no overlap is worth waiting for."""
        self._schedule(dict(self._held), now)
        self._held.clear()

    def play(self, now: float) -> list[Frame]:
        """What is due, in order, with the live identities in place of the recorded ones."""
        expired = [place for place in self._held if self._patience_ends(place) <= now]
        self._schedule({place: self._held.pop(place) for place in expired}, now)
        frames = []
        self._look_again()
        if self.pace.timing.kind == "cap":
            self._keep_order(now)
        while self._due and self._due[0][0] <= now:
            due, place = heapq.heappop(self._due)
            if place in self._played:
                continue
            cue = self.score.cues[place]
            if _ends_it(cue.frame) and self._is_early(place):
                self._endings.append((due, place))
                continue
            if self._endings:
                self._look_again()
            self._played.add(place)
            self._remember(cue)
            frames += self.live.render(cue, self.matcher.bindings)
        return frames

    @property
    def next_due(self) -> float | None:
        """When `play` has something to say, if nothing else happens."""
        times = [self._patience_ends(place) for place in self._held]
        if self._due:
            times.append(self._due[0][0])
        return min(times, default=None)

    def _remember(self, cue: PlannedMessage) -> None:
        """For whoever takes over the lead."""
        self.answered += cue.answers
        if cue.answers:
            calls = self.live.calls
            self.answered_ids.update([calls[call].id for call in cue.calls if call in calls])
        if cue.exchange is not None and (kind := _kind(cue)) is not None:
            self.sent[self.live.exchanges.get(cue.exchange, -1), kind] += 1
        elif not cue.calls:
            self.said.append(cue.frame.raw)

    def _look_again(self) -> None:
        """At the endings that came too early: something was said since, or will not be."""
        while self._endings:
            heapq.heappush(self._due, self._endings.pop())

    def _keep_order(self, now: float) -> None:
        """A cap shortens long pauses more than short ones. What was recorded before something that
        is due now, and can go, goes before it all the same.
        """
        last = max((place for due, place in self._due if due <= now), default=-1)
        early = (max(now, self._after_progress(place)) for _, place in self._due)
        pairs = zip(self._due, early, strict=True)
        self._due = [(min(e, due) if place < last else due, place) for (due, place), e in pairs]
        heapq.heapify(self._due)

    def _after_progress(self, place: int) -> float:
        """When an answer may come at the earliest, for the progress of its call."""
        cue = self.score.cues[place]
        if not cue.answers or cue.chain not in self._progress_due:
            return -math.inf
        return self._progress_due[cue.chain] + self.pace.after_progress

    def _is_early(self, ending: int) -> bool:
        """Whether something recorded before an ending is still to be played: the ending comes
        behind it. The end of an exchange is one for what that carries only.
        """
        cues, exchange = self.score.cues, self.score.cues[ending].exchange
        ahead = (
            place
            for place in (*self._held, *(place for _, place in self._due))
            if place < ending and place not in self._played
        )
        return any(exchange in (None, cues[place].exchange) for place in ahead)

    def take_over(self, leader: Schedule, now: float) -> None:
        """Another candidate led so far: what it answered is not answered again, and what it said
        for no call in particular not said again, the same or in other words (a greeting with its
        pid).
        """
        cues = self.score.cues
        for id_ in leader.answered_ids:
            number = self.live.number(id_)
            for place in () if number is None else self.score.places.get(number, ()):
                if cues[place].exchange is None or cues[place].frame.fact is None:
                    self._drop(place)
        for (exchange, kind), count in leader.sent.items():
            carried = self.score.carried.get(self.live.recorded.get(exchange, -1), ())
            for place in [p for p in carried if _kind(cues[p]) == kind][:count]:
                self._drop(place)
        self._say_once(leader.said, now)
        self.answered_ids |= leader.answered_ids
        self.said += leader.said
        self.sent += leader.sent

    def _say_once(self, said: list[bytes], now: float) -> None:
        due = sorted(place for at, place in self._due if at <= now and place not in self._played)
        mine = [p for p in due if not self.score.cues[p].calls and not _kind(self.score.cues[p])]
        other = list(said)
        for place in list(mine):
            raw = self.score.cues[place].frame.raw
            if raw in other:
                other.remove(raw)
                mine.remove(place)
                self._drop(place)
        for place in mine[: len(other)]:
            self._drop(place)

    def _drop(self, place: int) -> None:
        self._played.add(place)
        self._held.pop(place, None)

    @property
    def finished(self) -> bool:
        """Whether all that there is was played."""
        return len(self._played) == len(self.score.cues)

    @property
    def unused(self) -> list[ClientEvent]:
        """The recorded requests that never came."""
        client = self.score.client.items()
        return [e for index, e in client if e.calls and index not in self.matcher.used]

    @property
    def unplayed(self) -> list[PlannedMessage]:
        """The cues that were never played and belong to no request that never came."""
        calls, exchanges = self.live.calls.keys(), {None, *self.live.exchanges}
        return [
            cue
            for place, cue in enumerate(self.score.cues)
            if place not in self._played
            and calls >= set(cue.calls)
            and cue.exchange in exchanges
            and not _kind(cue)
        ]

    def _hear_tied(self, index: int, live: Frame, now: float) -> None:
        """A client event that is known by the id in it."""
        self.matcher.used.add(index)
        event = self.score.client.get(index)
        if event is not None:
            self.live.bind(event, live)
        self._happened(index, now)

    def _happened(self, event: int, now: float) -> None:
        self._last_heard = self._heard_of[event] = now
        released = []
        for place in self.score.dependents.get(event, ()):
            self._waiting[place] -= 1
            if not self._waiting[place]:
                released.append(place)
        self._release(released, now)

    def _release(self, places: Iterable[int], now: float) -> None:
        """These, and what was held for the sake of overlaps that have come: ready together."""
        self._held.update((place, now) for place in places)
        ready = [place for place in self._held if not self._missing(place)]
        self._schedule({place: self._held.pop(place) for place in ready}, now)

    def _schedule(self, ready: dict[int, float], now: float) -> None:
        """Cues that can go, with the time since when their causes have happened: pauses count from
        there.

        Without pauses, of those that are ready together none overtakes one recorded before it for
        the sake of `after_progress` alone.
        """
        floor = 0.0
        for place, since in sorted(ready.items()):
            cue = self.score.cues[place]
            pause = self.pace.timing.pause(cue.gap)
            due = max(now, max(since, self._chain_due.get(cue.chain, since)) + pause)
            due = max(due, self._after_progress(place))
            if pause:
                due = round(due, 6)  # recorded times are in us: what came together stays together
            elif self.pace.timing.kind == "none":
                due = floor = max(due, floor)
            if cue.exchange is not None:
                due = max(due, self._head_due.get(cue.exchange, due))
                if isinstance(cue.frame.fact, HttpResponse):
                    self._head_due[cue.exchange] = due
            self._chain_due[cue.chain] = due
            if _is_progress(cue.frame):
                self._progress_due[cue.chain] = due
            if cue.made_up:
                due += self.pace.overlap_grace
            heapq.heappush(self._due, (due, place))

    def _missing(self, place: int) -> bool:
        overlaps = self.score.cues[place].overlaps
        return any(event not in self.matcher.used for event in reversed(overlaps))

    def _patience_ends(self, place: int) -> float:
        since = self._held[place]
        heard = self._last_heard
        if self.stateless:
            overlaps = self.score.cues[place].overlaps
            heard = max((self._heard_of.get(event, since) for event in overlaps), default=since)
        quiet = max(heard, since) + self.pace.overlap_grace
        return min(quiet, since + self.pace.overlap_limit)

    def _replies(self, id_: bytes) -> tuple[int, ...]:
        replies = self.score.replies
        if id_ in replies:
            return replies[id_]
        return next((replies[known] for known in replies if same_id(known, id_)), ())


def _is_progress(frame: Frame) -> bool:
    content = frame.content
    return isinstance(content, Notification) and content.method == PROGRESS


def _ends_it(frame: Frame) -> bool:
    return frame.fact is not None and isinstance(frame.fact, _ENDINGS)


def _kind(cue: PlannedMessage) -> object:
    """What is counted for each exchange: all that is no message, and the empty events that streams
    begin with; None for the rest.
    """
    if cue.exchange is None:
        return None
    if cue.frame.fact is not None:
        return type(cue.frame.fact)
    return None if cue.frame.raw else "empty"
