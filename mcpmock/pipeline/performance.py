"""`Performance`: one score being played to one live session.

It keeps what has happened of what the recorded client did, which cues are due when, and which live
ids and tokens stand for the recorded ones. Matching is `cassette.match`'s, the order
`cassette.score`'s; which performances are candidates, misses and the end of a session are
`player`'s. Pure: `now` comes in, and `next_due` says when to come again.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable

import attrs

from mcpmock.cassette.match import Bindings, Match, Matcher
from mcpmock.cassette.redact import HOLE, PLACEHOLDER
from mcpmock.cassette.score import ClientEvent, Cue, Score, Tie
from mcpmock.protocol.messages import (
    Batch,
    Frame,
    Notification,
    ProcessExit,
    Request,
    Response,
    StreamEnd,
    encode,
    member,
    parse_items,
    same_id,
)
from mcpmock.protocol.session import PROGRESS, TOKEN_PATH
from mcpmock.protocol.spans import Span, elements, locate, splice

from .timing import Timing


@attrs.frozen
class Pace:
    """When cues are played. All in seconds.

    `overlap_grace`: how quiet a session must be before an answer stops waiting for requests that
    overlapped it in the recording, and `overlap_limit` how long it waits at most. `after_progress`:
    the least time between the last progress of a call and its answer; the TypeScript SDKs lose
    progress that comes in one read with the answer.
    """

    timing: Timing = attrs.field(factory=Timing)
    overlap_grace: float = 0.020
    overlap_limit: float = 0.100
    after_progress: float = 0.002


@attrs.frozen
class LiveCall:
    """What stands for a recorded request: the id and the progress token as the live client spelled
    them.
    """

    id: bytes
    token: bytes | None


@attrs.define
class Performance:
    """The state of one score in one session."""

    score: Score
    pace: Pace
    matcher: Matcher
    answered: int = 0
    """How many answers were played."""
    answered_ids: set[bytes] = attrs.field(factory=set)
    """The live ids of the calls whose answer was played."""
    said: list[bytes] = attrs.field(factory=list)
    """What was played for no call in particular."""
    _calls: dict[int, LiveCall] = attrs.field(factory=dict)
    _numbers: dict[bytes, int] = attrs.field(factory=dict)
    """The numbers of the recorded calls by the ids that the live client gave them, the latest of
    each id.
    """
    _waiting: list[int] = attrs.field(init=False)
    _due: list[tuple[float, int]] = attrs.field(factory=list)
    _held: dict[int, float] = attrs.field(factory=dict)
    """Answers that wait for overlapping requests only, and since when."""
    _chain_due: dict[int | None, float] = attrs.field(factory=dict)
    _progress_due: dict[int | None, float] = attrs.field(factory=dict)
    _last_heard: float = 0.0
    _played: set[int] = attrs.field(factory=set)

    def __attrs_post_init__(self) -> None:
        self._waiting = [len(cue.causes) for cue in self.score.cues]

    def begin(self, now: float) -> None:
        """Releases what waits for nothing."""
        self._last_heard = now
        self._release((i for i, waits in enumerate(self._waiting) if not waits), now)

    def hear(self, match: Match, live: Frame, now: float) -> None:
        """The live client did what `match` says: what waited for it is released."""
        self.matcher.take(match)
        self._bind_calls(match.event, live)
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
                self.matcher.used.add(event)
                self._happened(event, now)
                return True
        return False

    def cancel(self, live: Frame, now: float) -> bool:
        """The live client cancelled a call; False if that is none of this score's.

        Of what is still to come only what the recorded server sent after the recorded cancel is
        played, and nothing where the recording has no cancel.
        """
        content = live.content
        id_ = member(content.params, "requestId") if isinstance(content, Notification) else None
        number = None if id_ is None else self._call_number(id_)
        if number is None:
            return False
        events = self.score.cancels.get(number, ())
        recorded = next((event for event in events if event not in self.matcher.used), None)
        for place in self.score.places.get(number, ()):
            if recorded is None or self.score.cues[place].index < recorded:
                self._drop(place)
        if recorded is not None:
            self.matcher.used.add(recorded)
            self._happened(recorded, now)
        return True

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
        while self._due and self._due[0][0] <= now:
            _, place = heapq.heappop(self._due)
            if place in self._played:
                continue
            cue = self.score.cues[place]
            if _ends_it(cue.frame) and (later := self._still_to_come(place)) is not None:
                heapq.heappush(self._due, (later, place))
                continue
            self._played.add(place)
            self.answered += cue.answers
            if cue.answers:
                live = (self._calls[call].id for call in cue.calls if call in self._calls)
                self.answered_ids.update(live)
            if not cue.calls:
                self.said.append(cue.frame.raw)
            frame = self._render(cue)
            if frame is not None:
                frames.append(frame)
        return frames

    @property
    def next_due(self) -> float | None:
        """When `play` has something to say, if nothing else happens."""
        times = [self._patience_ends(place) for place in self._held]
        if self._due:
            times.append(self._due[0][0])
        return min(times, default=None)

    def _still_to_come(self, place: int) -> float | None:
        """When the next of what was recorded before an ending is played: the ending comes behind
        it.
        """
        times = [self._patience_ends(held) for held in self._held if held < place]
        times += [due for due, other in self._due if other < place and other not in self._played]
        return min(times, default=None)

    def take_over(self, leader: Performance, now: float) -> None:
        """Another candidate led so far: what it answered is not answered again, and what it said
        for no call in particular not said again, the same or in other words (a greeting with its
        pid).
        """
        for id_ in leader.answered_ids:
            for place in self.score.places.get(self._numbers.get(id_, -1), ()):
                self._drop(place)
        self.answered_ids |= leader.answered_ids
        self.said += leader.said
        due = sorted(place for at, place in self._due if at <= now)
        mine = [p for p in due if not self.score.cues[p].calls and p not in self._played]
        other = list(leader.said)
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
    def unplayed(self) -> list[Cue]:
        """The cues that were never played and belong to no request that never came."""
        bound = self._calls.keys()
        cues = enumerate(self.score.cues)
        return [c for place, c in cues if place not in self._played and bound >= set(c.calls)]

    def _happened(self, event: int, now: float) -> None:
        self._last_heard = now
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

        Of those that are ready together none overtakes one recorded before it for the sake of
        `after_progress` alone.
        """
        floor = 0.0
        for place, since in sorted(ready.items()):
            cue = self.score.cues[place]
            pause = self.pace.timing.pause(cue.gap)
            due = max(now, max(since, self._chain_due.get(cue.chain, since)) + pause)
            if cue.answers and cue.chain in self._progress_due:
                due = max(due, self._progress_due[cue.chain] + self.pace.after_progress)
            if pause:
                due = round(due, 6)  # recorded times are in us: what came together stays together
            else:
                due = floor = max(due, floor)
            self._chain_due[cue.chain] = due
            if _is_progress(cue.frame):
                self._progress_due[cue.chain] = due
            heapq.heappush(self._due, (due, place))

    def _missing(self, place: int) -> bool:
        overlaps = self.score.cues[place].overlaps
        return any(event not in self.matcher.used for event in reversed(overlaps))

    def _patience_ends(self, place: int) -> float:
        quiet = self._last_heard + self.pace.overlap_grace
        return min(quiet, self._held[place] + self.pace.overlap_limit)

    def _bind_calls(self, event: ClientEvent, live: Frame) -> None:
        """Live ids for recorded ones; a batch in the order of its requests (equal keys mean equal
        order).
        """
        batch = isinstance(live.content, Batch)
        items = parse_items(live.raw) if batch else [live.content]
        requests = [item for item in items if isinstance(item, Request)]
        for number, request in zip(event.calls, requests, strict=False):
            self._calls[number] = LiveCall(request.id, member(request.params, *TOKEN_PATH))
            self._numbers[request.id] = number

    def _call_number(self, id_: bytes) -> int | None:
        if id_ in self._numbers:
            return self._numbers[id_]
        return next((self._numbers[live] for live in self._numbers if same_id(live, id_)), None)

    def _replies(self, id_: bytes) -> tuple[int, ...]:
        replies = self.score.replies
        if id_ in replies:
            return replies[id_]
        return next((replies[known] for known in replies if same_id(known, id_)), ())

    def _render(self, cue: Cue) -> Frame | None:
        """The recorded frame with live ids, tokens and values; None for progress that nobody asked
        for.
        """
        if not cue.ties and PLACEHOLDER not in cue.frame.raw:
            return cue.frame
        raw = cue.frame.raw
        if not isinstance(cue.frame.content, Batch):
            new = self._render_item(raw, cue.ties)
        else:
            new = self._render_batch(raw, cue.ties)
        if new is None:
            return None
        new = _fill(new, self.matcher.bindings)
        return Frame(cue.frame.direction, new, cue.frame.eol, cue.frame.fact)

    def _render_batch(self, raw: bytes, ties: tuple[Tie, ...]) -> bytes | None:
        """Each member by itself; one that nobody asked for is left out."""
        spans = elements(raw) or []
        rendered = [
            (span, self._render_item(raw[span.start : span.end], [t for t in ties if t.item == i]))
            for i, span in enumerate(spans)
        ]
        kept = [(span, new) for span, new in rendered if new is not None]
        if len(kept) < len(rendered):
            return b"[" + b",".join(new for _, new in kept) + b"]" if kept else None
        return splice(raw, kept)

    def _render_item(self, raw: bytes, ties: Iterable[Tie]) -> bytes | None:
        replacements: list[tuple[Span, bytes]] = []
        for tie in ties:
            live = self._calls.get(tie.call)
            if live is None:
                continue
            value = live.token if tie.token else live.id
            if value is None:
                return None
            span = locate(raw, tie.path)
            if span is not None:
                replacements.append((span, value))
        return splice(raw, replacements)


def _fill(raw: bytes, bindings: Bindings) -> bytes:
    """The live values of the placeholders in a message; one that nothing bound is sent as it
    stands.
    """

    def value(placeholder: re.Match[bytes]) -> bytes:
        live = bindings.get(placeholder[0].decode())
        return placeholder[0] if live is None else encode(live)[1:-1]

    return HOLE.sub(value, raw)


def _is_progress(frame: Frame) -> bool:
    content = frame.content
    return isinstance(content, Notification) and content.method == PROGRESS


def _ends_it(frame: Frame) -> bool:
    return isinstance(frame.fact, StreamEnd | ProcessExit)
