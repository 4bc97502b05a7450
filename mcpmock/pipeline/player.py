"""`Player`: a stage that answers from a cassette, as the server. It stands at the end of the row
and only sends back.

Which recorded session a live one is, is left open as long as it can be: a live session begins with
all episodes that could be meant as candidates, each request keeps those that know it, and the first
of the rest leads: only its cues go out. What no candidate knows is a miss, which explains itself.
`performance` plays one score, `cassette.match` finds, `modes` reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

from mcpmock.cassette.keys import TIERS, Asked, asked_of
from mcpmock.cassette.match import ELSEWHERE, Match, Matcher, Miss, NearMiss
from mcpmock.cassette.model import Cassette, Episode
from mcpmock.cassette.score import Score, compose
from mcpmock.protocol.messages import (
    Batch,
    Content,
    Fragment,
    Frame,
    Notification,
    Opaque,
    ProcessExit,
    Request,
    Response,
    Stderr,
    StreamEnd,
    parse_items,
)
from mcpmock.protocol.session import CANCELLED
from mcpmock.protocol.stage import Action, Hangup, Send, Stage, Wake

from .answers import empty_result, method_not_found, miss_error, too_long
from .performance import Pace, Performance
from .whole import Assembler


@attrs.frozen(kw_only=True)
class Playing:
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
class Casting:
    """The episodes of a cassette, shared by all sessions that are played from it."""

    cassette: Cassette
    playing: Playing
    _episodes: list[Episode] = attrs.field(init=False)
    _scores: dict[int, Score] = attrs.field(factory=dict)
    _played: set[int] = attrs.field(factory=set)

    def __attrs_post_init__(self) -> None:
        self._episodes = self.cassette.episodes()

    def candidates(self) -> list[Performance]:
        """A performance of every episode that may be played, those not played yet first, in
        recorded order.
        """
        fresh = [number for number in range(len(self._episodes)) if number not in self._played]
        again = sorted(self._played) if self.playing.sessions == "reuse" else []
        return [self.perform(self.score(number)) for number in (*fresh, *again)]

    def perform(self, score: Score) -> Performance:
        """A new performance of a score."""
        strict = self.playing.order == "strict"
        tiers = 1 if self.playing.exact else len(TIERS)
        return Performance(score, self.playing.pace, Matcher(score, strict, tiers))

    def score(self, number: int) -> Score:
        if number not in self._scores:
            strict = self.playing.order == "strict"
            self._scores[number] = compose(self._episodes[number], strict=strict)
        return self._scores[number]

    def elsewhere(self, live: Asked, cast: Sequence[Performance]) -> list[NearMiss]:
        """The near misses of the episodes that a session is not."""
        mine = {id(performance.score) for performance in cast}
        others = (score for score in self._scores.values() if id(score) not in mine)
        found = (near for score in others for near in Matcher(score).near(live))
        return [attrs.evolve(near, why=ELSEWHERE) for near in found]

    def played(self, performance: Performance) -> None:
        """An answer was taken from this episode alone."""
        scores = self._scores.items()
        self._played |= {n for n, score in scores if score.episode is performance.score.episode}


@attrs.frozen
class Note:
    """Something worth telling about a match that was not the strictest, or a message that changed
    nothing.
    """

    method: str
    text: str


Report = Callable[[Miss | Note], None]


@attrs.define
class Player(Stage):
    """Plays the server to one live session."""

    casting: Casting
    report: Report = lambda _what: None
    missed: int = 0
    _cast: list[Performance] = attrs.field(factory=list)
    _encores: list[Performance] = attrs.field(factory=list)
    _times_asked: dict[tuple[int, int], int] = attrs.field(factory=dict)
    _ready: list[Frame] = attrs.field(factory=list)
    _assembler: Assembler = attrs.field(factory=Assembler)
    _armed: float | None = None
    _closing: str | None = None

    def begin(self, now: float) -> Iterable[Action]:
        self._cast = self.casting.candidates()
        if self.casting.playing.order != "any":
            for performance in self._cast:
                performance.begin(now)
        return self._play(now)

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        for frame in seen:
            whole = self._whole(frame)
            if whole is not None:
                self._hear(whole, now)
        return self._play(now)

    def wake(self, now: float) -> Iterable[Action]:
        return self._play(now)

    @property
    def leading(self) -> Performance | None:
        """The performance whose cues go out."""
        return self._cast[0] if self._cast else None

    def leftovers(self) -> list[str]:
        """What the recording still had when the session was over, in words; empty if it was used
        up.
        """
        lead = self.leading
        if lead is None:
            return []
        methods = [asked.method for e in lead.unused if (asked := asked_of(e.frame)) is not None]
        unplayed = lead.unplayed
        answers = sum(cue.answers for cue in unplayed)
        told = (
            (len(methods), f"recorded requests never came: {', '.join(sorted(set(methods)))}"),
            (answers, "requests were left without their recorded answer"),
            (len(unplayed) - answers, "other recorded messages of the server were never due"),
        )
        return [f"{number} {words}" for number, words in told if number]

    def _whole(self, frame: Frame) -> Frame | None:
        if not isinstance(frame.fact, Fragment):
            return frame
        whole = self._assembler.add(frame)
        if whole is not None and whole.digest is not None:
            self._ready.append(too_long(whole.size))
            return None
        return None if whole is None else whole.frame

    def _hear(self, frame: Frame, now: float) -> None:
        for performance in self._cast:
            performance.heard(now)
        match frame.content:
            case Request():
                self._hear_request(frame, now)
            case Batch() if _ids(frame):
                self._hear_request(frame, now)
            case Notification(method) if method == CANCELLED:
                self._hear_tied(lambda performance: performance.cancel(frame, now), frame, now)
            case Response():
                self._hear_tied(lambda performance: performance.reply(frame, now), frame, now)
            case Notification() | Opaque() | Batch():
                self._hear_other(frame, now)
            case StreamEnd():
                self._hear_other(frame, now)
                self._all(lambda performance: performance.stop_waiting(now))
                if self.leading is not None and self.leading.answered:
                    self.casting.played(self.leading)
                self._closing = self._closing or "the client closed"
            case _:
                pass

    def _all(self, act: Callable[[Performance], object]) -> list[object]:
        return [act(performance) for performance in (*self._cast, *self._encores)]

    def _hear_tied(self, act: Callable[[Performance], bool], frame: Frame, now: float) -> None:
        """What belongs to a request by an id: a cancel, an answer. One that belongs to none is as
        good as noise.
        """
        lead = self.leading
        expected = lead.matcher.next() if lead and self.casting.playing.order == "strict" else None
        if not any(self._all(act)):
            self._hear_other(frame, now)
        elif lead is not None and expected is not None and expected not in lead.matcher.used:
            self._miss(Asked(_method(frame), None))

    def _hear_other(self, frame: Frame, now: float) -> None:
        """What wants no answer: it only lets things happen that waited for it."""
        matches = [(cast, cast.matcher.find(frame)) for cast in self._cast]
        for performance, match in matches:
            if match is not None:
                performance.hear(match, frame, now)
        unknown = self._cast and all(match is None for _, match in matches)
        if unknown and not isinstance(frame.fact, StreamEnd):
            if self.casting.playing.order == "strict":
                self._miss(Asked(_method(frame), None))
            else:
                self.report(Note(_method(frame), "not in the recording; nothing waited for it"))

    def _hear_request(self, frame: Frame, now: float) -> None:
        live = asked_of(frame)
        if live is None:
            return
        if self.casting.playing.order == "any":
            matches: list[tuple[Performance, Match]] = []
        else:
            found = [(performance, performance.matcher.find(frame)) for performance in self._cast]
            matches = [(performance, match) for performance, match in found if match is not None]
        if matches:
            self._narrow(matches, live, frame, now)
        elif not self._repeat(frame, now):
            self._answer_unknown(frame, live)

    def _narrow(
        self, matches: list[tuple[Performance, Match]], live: Asked, frame: Frame, now: float
    ) -> None:
        """Only the candidates that know this request stay, at the strictest tier that any knows it
        at.
        """
        tier = min(match.tier for _, match in matches)
        kept = [(performance, match) for performance, match in matches if match.tier == tier]
        leader = self.leading
        self._cast = [performance for performance, _ in kept]
        if leader is not None and self._cast[0] is not leader:
            self._cast[0].take_over(leader, now)
        for performance, match in kept:
            performance.hear(match, frame, now)
        if tier:
            self.report(Note(live.method, f"matched in spite of {TIERS[tier]}"))
        if len(self._cast) == 1:
            self.casting.played(self._cast[0])

    def _repeat(self, frame: Frame, now: float) -> bool:
        """Answers once more with an answer that was given before, where that was asked for."""
        stub = self.casting.playing.order == "any"
        repeats = self.casting.playing.repeats
        if repeats == "error" and not stub:
            return False
        for performance in self._cast:
            matches = performance.matcher.repeats(frame)
            if not matches:
                continue
            what = (id(performance.score), matches[0].event.index)
            times = self._times_asked.get(what, 0)
            self._times_asked[what] = times + 1
            match = matches[-1] if repeats == "last" else matches[times % len(matches)]
            encore = self.casting.perform(performance.score.excerpt(match.event.index))
            encore.matcher.bindings = dict(performance.matcher.bindings)
            encore.hear(match, frame, now)
            self._encores.append(encore)
            return True
        return False

    def _answer_unknown(self, frame: Frame, live: Asked) -> None:
        content = frame.content
        if live.method == "ping" and isinstance(content, Request):
            self._ready.append(empty_result(content.id))
        elif live.method == "server/discover" and isinstance(content, Request):
            self._ready.append(method_not_found(content.id, live.method))
        else:
            miss = self._miss(live)
            if self.casting.playing.on_miss == "error":
                self._ready.append(miss_error(_ids(frame), miss, isinstance(content, Batch)))

    def _miss(self, live: Asked) -> Miss:
        self.missed += 1
        near = [near for cast in self._cast for near in cast.matcher.near(live)]
        near += self.casting.elsewhere(live, self._cast)
        near.sort(key=lambda near: (len(near.differences), near.why == ELSEWHERE, near.n))
        miss = Miss(live.method, tuple(near[:3]))
        self.report(miss)
        if self.casting.playing.on_miss == "close":
            self._closing = f"nothing recorded for {live.method}"
        return miss

    def _play(self, now: float) -> Iterable[Action]:
        """Sends what is due and says when to come again."""
        frames: list[Frame] = []
        for performance in self._performing():  # what the other candidates would say is not lost
            frames += performance.play(now)
        self._encores = [encore for encore in self._encores if not encore.finished]
        frames += self._ready  # behind what answers earlier requests of the same read
        self._ready = []
        if self.casting.playing.mute:
            frames = [frame for frame in frames if not isinstance(frame.fact, Stderr)]
        yield Send(frames)
        due = min((p.next_due for p in self._performing() if p.next_due is not None), default=None)
        if any(isinstance(frame.fact, ProcessExit) for frame in frames):
            yield Hangup("the recorded server ended here")
        elif self._closing and due is None:
            yield Hangup(self._closing)
        elif due is not None and (self._armed is None or due < self._armed or self._armed <= now):
            self._armed = due
            yield Wake(due)

    def _performing(self) -> list[Performance]:
        return [*self._cast[:1], *self._encores]


def _ids(frame: Frame) -> list[bytes]:
    content: Content = frame.content
    items = parse_items(frame.raw) if isinstance(content, Batch) else [content]
    return [item.id for item in items if isinstance(item, Request)]


def _method(frame: Frame) -> str:
    content = frame.content
    if isinstance(content, Notification):
        return content.method
    return "response" if isinstance(content, Response) else "noise"
