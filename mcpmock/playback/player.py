"""`Player`: a stage that answers from a cassette, as the server. It stands at the end of the row
and only sends back: exchange for exchange where the live frames carry exchanges, else bare
messages.

Which recorded session a live one is, is left open as long as it can be: a live session begins with
all episodes that could be meant as candidates, each request keeps those that know it, and the first
of the rest leads: only its cues go out. Exchanges that belong to no session have one candidate, all
that was recorded of such. What no candidate knows is a miss, which explains itself. `casting` deals
the candidates, `performance` plays one score, `playback.matcher` finds, `modes` reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

from mcpmock.pipeline.stage import Action, Hangup, Send, Stage, Wake
from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.messages import (
    Batch,
    ExchangeEnd,
    Frame,
    HttpRequest,
    HttpResponse,
    Notification,
    Opaque,
    ProcessExit,
    Request,
    Response,
    Stderr,
    StreamEnd,
)

from .fallback import (
    OK,
    PROBE,
    Fallback,
    answer_lost,
    answer_request,
    answer_too_long,
    answer_unasked,
    ends_session,
    ids_of,
    name_of,
)
from .header_policy import REFUSED
from .header_profile import SESSION, session_parameter
from .matcher import ELSEWHERE, MatchResult, Miss
from .own_answers import exchange, miss_error
from .repeats import Repeats
from .request_assembly import ClientMessage, Hearing
from .request_key import TIERS, Asked, asked_of
from .schedule import Schedule
from .session_selection import ReplayOptions, SessionSelection
from .unused import leftovers

__all__ = ["Player", "PlayerNote", "ReplayOptions", "Report", "SessionSelection"]


@attrs.frozen
class PlayerNote:
    """Something worth telling of a match that was not the strictest, or of what changed nothing."""

    method: str
    text: str


Report = Callable[[Miss | PlayerNote], None]


@attrs.define
class Player(Stage):
    """Plays the server to one live session, or (`stateless`) to all exchanges that belong to none.

    `mint` makes ids for live sessions, never the same twice; `understudy` is asked for what nothing
    recorded answers.
    """

    casting: SessionSelection
    report: Report = lambda _what: None
    stateless: bool = attrs.field(default=False, kw_only=True)
    mint: Callable[[], str] = attrs.field(default=lambda: "mcpmock-session", kw_only=True)
    understudy: Fallback = attrs.field(factory=Fallback, kw_only=True)
    missed: int = 0
    unanswered: list[Frame] = attrs.field(factory=list)
    """What is left to a real server, where misses are: `live` takes it away."""
    backed: bool = False
    """That server is up: it answers what we would in its name."""
    _session: str | None = None
    _cast: list[Schedule] = attrs.field(factory=list)
    _encores: Repeats = attrs.field(init=False)
    _ready: list[Frame] = attrs.field(factory=list)
    _hearing: Hearing = attrs.field(factory=Hearing)
    _led: bool = False
    _over: bool = False
    """The client ended the session."""
    _armed: float | None = None
    _closing: str | None = None

    def __attrs_post_init__(self) -> None:
        self._encores = Repeats(self.casting, self._session_id, self.stateless)

    def begin(self, now: float) -> Iterable[Action]:
        if self.stateless:
            self._cast = [self.casting.stateless(self._session_id)]
            return ()  # nobody is there yet
        self._cast = self.casting.candidates(self._session_id)
        if not self._stubs:
            for performance in self._cast:
                performance.begin(now)
        return self._play(now)

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        for frame in seen:
            heard = self._hearing.add(frame)
            if heard is not None:
                self._hear(heard, now)
        return self._play(now)

    def wake(self, now: float) -> Iterable[Action]:
        return self._play(now)

    @property
    def leading(self) -> Schedule | None:
        """The performance whose cues go out."""
        return self._cast[0] if self._cast else None

    def leftovers(self) -> list[str]:
        """What the recording still had when all was over, in words; empty if it was used up."""
        return [] if self.leading is None else leftovers(self.leading)

    @property
    def _stubs(self) -> bool:
        """Every request is answered by its key alone, as often as it comes."""
        return self.casting.playing.order == "any"

    @property
    def _strict(self) -> bool:
        return self.casting.playing.order == "strict"

    def _session_id(self) -> str:
        """The id of the live session. Exchanges that belong to none get a new one each."""
        if self._session is None or self.stateless:
            self._session = self.mint()
        return self._session

    def _hear(self, heard: ClientMessage, now: float) -> None:
        for performance in self._cast:
            performance.heard(now)
        frame = heard.frame
        match frame.content:
            case Request() if not heard.size:
                self._hear_request(heard, now)
            case _ if heard.size:
                self._ready += answer_too_long(heard)
            case Batch() if ids_of(frame):
                self._hear_request(heard, now)
            case StreamEnd():
                self._hear_end(heard, now)
            case ExchangeEnd() if heard.exchange is not None:
                self._encores.left(heard.exchange)
            case Notification() | Response() | Opaque() | Batch() | HttpRequest():
                self._hear_unasked(heard, now)
            case _:
                pass

    def _hear_end(self, heard: ClientMessage, now: float) -> None:
        """The client is done."""
        self._hear_other(heard, now)
        self._all(lambda performance: performance.stop_waiting(now))
        if self.leading is not None and self.leading.answered:
            self.casting.played(self.leading)
        self._closing = self._closing or "the client closed"

    def _all(self, act: Callable[[Schedule], object]) -> list[object]:
        return [act(performance) for performance in (*self._cast, *self._encores.playing)]

    def _hear_unasked(self, heard: ClientMessage, now: float) -> None:
        """What wants no JSON-RPC answer. Over HTTP it gets a response all the same."""
        frame, content = heard.frame, heard.frame.content
        if self.stateless:
            if not self._deal(heard, now):
                self._hear_other(heard, now)
        elif heard.exchange is not None and self._stubs and self._repeat(heard, now):
            pass
        elif isinstance(content, Response):
            self._hear_tied(lambda performance: performance.reply(frame, now), heard, now)
        elif isinstance(content, Notification) and content.method == CANCELLED:
            self._hear_tied(lambda performance: performance.cancel(frame, now), heard, now)
        else:
            self._hear_other(heard, now)
        if heard.exchange is not None and not self._answers_on(heard.exchange):
            self._ready += self._settle(heard)
        if ends_session(heard) and not self.stateless:
            self._end_session(heard.exchange)

    def _end_session(self, live: int | None) -> None:
        """The client says so on this exchange; the recorded server may have refused it."""
        if live is not None and not self._refuses(live):
            self._over = True
            for performance in self._cast:
                performance.end_session(live)

    def _answers_on(self, live: int) -> bool:
        return any(performance.answers_on(live) for performance in self._performing())

    def _refuses(self, live: int) -> bool:
        told = [performance.status_on(live) for performance in self._performing()]
        heads = (frame for frame in self._ready if frame.exchange == live)
        told += [frame.fact.status for frame in heads if isinstance(frame.fact, HttpResponse)]
        return any(status is not None and status >= REFUSED for status in told)

    def _settle(self, heard: ClientMessage) -> list[Frame]:
        """The response to what the recording has none for."""
        if self._is_lost(heard):
            return answer_lost(heard)
        paths = self.casting.paths | self._hearing.paths
        is_path = heard.head is not None and heard.head.path in paths
        return answer_unasked(heard, is_path=is_path, in_session=not self.stateless)

    def _is_lost(self, heard: ClientMessage) -> bool:
        """Whether it names a session that is over, or that never was."""
        head = heard.head
        named = head is not None and (head.header(SESSION) or session_parameter(head)) is not None
        return self._over or (self.stateless and named)

    def _hear_tied(self, act: Callable[[Schedule], bool], heard: ClientMessage, now: float) -> None:
        """What belongs to a request by an id: a cancel, an answer. One that belongs to none is as
        good as noise.
        """
        lead = self.leading
        expected = lead.matcher.next() if lead and self._strict else None
        if not any(self._all(act)):
            self._hear_other(heard, now)
        elif lead is not None and expected is not None and expected not in lead.matcher.used:
            self._miss(Asked(name_of(heard.frame), None))

    def _hear_other(self, heard: ClientMessage, now: float) -> None:
        """What wants no answer: it only lets things happen that waited for it. A candidate that
        knows what a request without a message (GET, DELETE) opens or ends goes before one that does
        not.
        """
        frame = heard.frame
        matches = [(cast, cast.matcher.find(frame, heard.head)) for cast in self._cast]
        alone = isinstance(frame.fact, HttpRequest)
        if alone and matches and matches[0][1] is None:
            matches.sort(key=lambda found: found[1] is None)
            self._lead([performance for performance, _ in matches], now)
        for performance, match in matches:
            if match is not None:
                performance.hear(match, frame, now)
        unknown = self._cast and all(match is None for _, match in matches)
        if unknown and not isinstance(frame.fact, StreamEnd):
            if self._strict and not alone:
                self._miss(Asked(name_of(frame), None))
            else:
                self.report(
                    PlayerNote(name_of(frame), "not in the recording; nothing waited for it")
                )

    def _hear_request(self, heard: ClientMessage, now: float) -> None:
        if self.stateless and self._deal(heard, now):
            return
        live = asked_of(heard.frame, heard.head)
        if live is None:
            return
        if self.stateless:
            self._answer_unknown(heard, live)
            return
        if self._stubs:
            matches: list[tuple[Schedule, MatchResult]] = []
        else:
            found = [
                (cast, cast.matcher.find(heard.frame, heard.head, asked=live))
                for cast in self._cast
            ]
            matches = [(performance, match) for performance, match in found if match is not None]
        if matches:
            self._narrow(matches, live, heard.frame, now)
        elif self._over or not self._repeat(heard, now, live):
            self._answer_unknown(heard, live)

    def _narrow(
        self, matches: list[tuple[Schedule, MatchResult]], live: Asked, frame: Frame, now: float
    ) -> None:
        """Only the candidates that know this request stay, at the strictest tier that any knows it
        at; in front those whose client was most like this one.
        """
        tier = min(match.tier for _, match in matches)
        kept = [(performance, match) for performance, match in matches if match.tier == tier]
        kept.sort(key=lambda found: found[1].strangeness)
        cast = [performance for performance, _ in kept]
        if live.method == PROBE:  # some clients probe in a session of its own
            knows = {id(performance) for performance in cast}
            cast += [performance for performance in self._cast if id(performance) not in knows]
        self._lead(cast, now)
        for performance, match in kept:
            performance.hear(match, frame, now)
        self._tell_tier(live.method, tier)
        if len(self._cast) == 1:
            self.casting.played(self._cast[0])
        elif not self._led:
            self._led = True
            self.casting.led(self._cast[0])

    def _lead(self, cast: list[Schedule], now: float) -> None:
        """These are the candidates from now on, the first of them leads."""
        leader = self.leading
        self._cast = cast
        if leader is not None and cast[0] is not leader:
            cast[0].take_over(leader, now)

    def _tell_tier(self, method: str, tier: int) -> None:
        if tier:
            self.report(PlayerNote(method, f"matched in spite of {TIERS[tier]}"))

    def _deal(self, heard: ClientMessage, now: float) -> bool:
        """Exchanges without a session are dealt in recorded order, and the last of those that are
        alike stays. A handshake is dealt again before another client's is taken for it.
        """
        frame, head = heard.frame, heard.head
        for performance in self._cast:
            for tier in performance.matcher.tiers_for(frame, head):
                match = None if self._stubs else performance.matcher.find(frame, head, tier=tier)
                if match is not None and not self._repeats_nearer(performance, heard, match):
                    performance.hear(match, frame, now)
                elif self._strict or not self._encores.add(performance, heard, tier, now):
                    continue
                self._tell_tier(name_of(frame), tier)
                return True
        return False

    def _repeat(self, heard: ClientMessage, now: float, live: Asked | None = None) -> bool:
        """Answers once more with an answer that was given before, where that was asked for."""
        if self.casting.playing.repeats == "error" and not self._stubs:
            return False
        cast = self._cast
        if live is not None and live.greeting is not None:
            cast = sorted(cast, key=lambda performance: self._strangeness(performance, heard))
        return any(self._encores.add(performance, heard, None, now) for performance in cast)

    def _repeats_nearer(
        self, performance: Schedule, heard: ClientMessage, match: MatchResult
    ) -> bool:
        if self._strict or not match.strangeness:
            return False
        return self._strangeness(performance, heard, match.tier) < match.strangeness

    def _strangeness(
        self, performance: Schedule, heard: ClientMessage, tier: int | None = None
    ) -> int:
        """How far the nearest handshake of a performance is from this one, used or not."""
        again = performance.matcher.repeats(heard.frame, heard.head, tier)
        return again[0].strangeness if again else 0

    def _answer_unknown(self, heard: ClientMessage, live: Asked) -> None:
        answer = answer_lost(heard) if self._is_lost(heard) else self.understudy.answer(heard.frame)
        answer = answer_request(heard) if answer is None else answer
        if answer is not None and not self.backed:
            self._ready += answer
            return
        if self.casting.playing.on_miss == "live":
            self.unanswered.append(heard.frame)
            self.report(PlayerNote(live.method, "not in the recording; the real server is asked"))
            return
        miss = self._miss(live)
        if self.casting.playing.on_miss == "error":
            batch = isinstance(heard.frame.content, Batch)
            error = miss_error(ids_of(heard.frame), miss, batch)
            self._ready += exchange(heard.exchange, OK, error)

    def _miss(self, live: Asked) -> Miss:
        self.missed += 1
        near = [near for cast in self._cast for near in cast.matcher.near(live)]
        near += [*self.casting.elsewhere(live, self._cast), *self.understudy.near(live)]
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
        self._encores.settle()
        frames += self._ready  # behind what answers earlier requests of the same read
        self._ready = []
        if self.casting.playing.mute:
            frames = [frame for frame in frames if not isinstance(frame.fact, Stderr)]
        yield Send(self._hearing.leaving(frames))
        due = min((p.next_due for p in self._performing() if p.next_due is not None), default=None)
        if any(isinstance(frame.fact, ProcessExit) for frame in frames):
            yield Hangup("the recorded server ended here")
        elif self._closing and due is None:
            yield Hangup(self._closing)
        elif due is not None and (self._armed is None or due < self._armed or self._armed <= now):
            self._armed = due
            yield Wake(due)

    def _performing(self) -> list[Schedule]:
        return [*self._cast[:1], *self._encores.playing]
