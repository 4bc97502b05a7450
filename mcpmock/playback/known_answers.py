"""`KnownAnswers`: answers what is spelled as it was recorded, in front of the player.

Most sessions are requests spelled as they were recorded. They need a table (`answer_index`) and no
plan: an answer takes a tenth of the time. At the first thing that the table does not know, this
stops for good: the plan is made, and its candidates continue from the cursors that are here
(`Candidates.resume`). So the client gets from here exactly what the player would send: what waits
for what, and when it leaves, follow the rules of `plan.builder`, `schedule` and `overlaps`, for
sessions without pauses. Over HTTP what one request leads to leaves as one: exchanges are in order
each, and not among each other.

It has no key, no level and no rule: what is not spelled alike, the player compares. Spellings are
compared by hashes of 64 bits that only this process knows: a wrong answer is as likely as 1 to
1e13.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice

import attrs

from mcpmock.cassette.model import Episode, frames_at
from mcpmock.protocol.correlation import CANCELLED, SUBSCRIPTION_PATH
from mcpmock.protocol.messages import (
    S2C,
    ExchangeEnd,
    Fact,
    Frame,
    HttpRequest,
    HttpResponse,
    Notification,
    Request,
    Response,
    StreamEnd,
    member,
)
from mcpmock.protocol.raw_json import Span, locate, locate_id, locate_known
from mcpmock.protocol.revisions import initialized_version
from mcpmock.redaction.placeholders import fill, holds_placeholder

from .answer_index import (
    NONE,
    SUBSCRIPTION,
    AnswerIndex,
    ExchangeIndex,
    WaitingMessage,
    spelling,
)
from .fallback import PROBE
from .header_profile import fingerprint
from .live_ids import LiveCall, live_head
from .overlaps import OverlapWaits
from .request_assembly import RequestAssembly
from .request_key import BY_METHOD_ALONE, handshake_distance, match_subject
from .schedule import PendingMessages
from .timing import Pace

_PROGRESS_PATH = ("params", "progressToken")
_SUBSCRIPTION_PATH = ("result", *SUBSCRIPTION_PATH)
_OTHER, _ANSWER, _PROGRESS = range(3)
_ReleasedMessage = tuple[int, int, int]
"""The place of a server message, the client number of its call, and what it is to that."""


class _Unknown(Exception):
    """Only the player knows what to do."""


@attrs.define(eq=False, repr=False)
class EpisodeCursor:
    """How far a live session has come in one episode, `number` of the selection."""

    number: int
    index: AnswerIndex
    happened: dict[int, float] = attrs.field(factory=dict)
    """The client numbers that are used up, and when that was."""
    calls: dict[int, LiveCall] = attrs.field(factory=dict)
    """What the live client calls them, by number, where it is not what was recorded."""
    cancels: list[tuple[int, int | None]] = attrs.field(factory=list)
    """The calls that it cancelled, each with the number of the recorded cancel."""
    exchange: int | None = None
    """The live exchange of the message that is taken."""
    head: HttpRequest | None = None
    exchanges: dict[int, int] = attrs.field(factory=dict)
    """The live exchanges by the recorded ones."""
    _first: dict[Hashable, int] = attrs.field(factory=dict)
    """Where in a list of numbers the first one is that may be unused."""
    _by_id: dict[bytes, int] = attrs.field(factory=dict)
    """The calls by the ids that the client gave them, of the first `_named` that happened."""
    _named: int = 0

    def find(self, frame: Frame, message: Request | Notification, key: int) -> int | None:
        """Return the first unused number that asks the same; None without one."""
        index, method = self.index, message.method
        spelled = index.spelled.get(key, ())
        if method in BY_METHOD_ALONE:
            unused = [number for number in spelled if number not in self.happened]
            if len(unused) > 1:
                raise _Unknown  # the nearest is meant
            found = unused[0] if unused else None
        else:
            found = self._first_unused(key, spelled)
            next_ = self._first_unused(method, index.methods.get(method, ()))
            if found is None or (found != next_ and key in index.respelled):
                found = self._find_in_any_words(frame)  # perhaps an earlier one
        if found is None:
            return None
        if type(message) is Request and index.ranks[found] == NONE:
            raise _Unknown  # it was a notification
        if index.holes and index.holes[0] < found:
            raise _Unknown  # that one may be meant
        if not self.fits(found):
            raise _Unknown  # another head may fit better, or this one was refused
        return found

    def fits(self, number: int) -> bool:
        """Return whether the head of the message is as it was recorded."""
        exchanges, head = self.index.exchanges, self.head
        if exchanges is None or head is None:
            return exchanges is None and head is None
        return exchanges.profiles[number] == fingerprint(head, with_path=False)

    def find_bodiless(self, head: HttpRequest) -> int | None:
        """Return the first unused number of an equal request without a body, unless what came of
        that is unknown.
        """
        assert self.index.exchanges is not None
        profile, exchanges = fingerprint(head, with_path=True), self.index.exchanges
        fields = frozenset(profile.items())
        found = self._first_unused(fields, exchanges.bodiless.get(fields, ()))
        return found if found is not None and exchanges.profiles[found] == profile else None

    def use(self, number: int, now: float, call: LiveCall | None = None) -> None:
        """Note that a client message has happened, of a request what the client calls it."""
        self.happened[number] = now
        if self.exchange is not None and self.index.exchanges is not None:
            self.exchanges[self.index.exchanges.numbers[number]] = self.exchange
        if call is not None:
            self.calls[number] = call

    def live_calls(self, numbers: Iterable[int]) -> Iterator[tuple[int, LiveCall]]:
        """Yield what the client calls each request among these numbers."""
        for number in numbers:
            if number in self.calls:
                yield number, self.calls[number]
            elif self.index.ranks[number] != NONE:
                request = self.index.frame(number).content
                assert isinstance(request, Request)
                yield number, LiveCall.of(request)

    def find_call(self, id_: bytes | None) -> int:
        """Return the latest call to which the client gave this id."""
        # Those that came since the last cancel: of 4,000 open calls each may be cancelled.
        new = [*islice(reversed(self.happened), len(self.happened) - self._named)]
        self._by_id |= {call.id: number for number, call in self.live_calls(reversed(new))}
        self._named = len(self.happened)
        if id_ not in self._by_id:
            raise _Unknown
        return self._by_id[id_]

    def find_reply(self, id_: bytes) -> int | None:
        """Return the first unused reply to the server's request with this id."""
        return self._first_unused(id_, self.index.replies.get(id_, ()))

    def find_cancel(self, call: int) -> int | None:
        """Return the first unused cancel of a call."""
        cancels = self.index.cancels.get(call, ())
        return next((number for number in cancels if number not in self.happened), None)

    def distance(self, number: int, live: Frame) -> int:
        """Return how different a recorded handshake is from a live one."""
        recorded, asked = match_subject(self.index.frame(number)), match_subject(live)
        return 0 if recorded is None or asked is None else handshake_distance(recorded, asked)

    def asks_for(self, number: int) -> str | None:
        """Return the revision that a recorded handshake asks for."""
        content = self.index.frame(number).content
        return initialized_version(content.params if isinstance(content, Request) else None)

    def _find_in_any_words(self, frame: Frame) -> int | None:
        subject = match_subject(frame)
        assert subject is not None
        key = subject.key(0, bare=True)
        return self._first_unused(key, self.index.keys.by_key.get(key, ()))

    def _first_unused(self, place: Hashable, numbers: Sequence[int]) -> int | None:
        first = start = self._first.get(place, 0)
        if first < len(numbers) and numbers[first] not in self.happened:
            return numbers[first]
        while first < len(numbers) and numbers[first] in self.happened:
            first += 1
        if first != start:
            self._first[place] = first
        return numbers[first] if first < len(numbers) else None


@attrs.define(eq=False, repr=False)
class KnownAnswers:
    """Plays the first of these episodes, as long as everything is spelled as it was recorded."""

    cursors: list[EpisodeCursor]
    """Those that know all that the client has sent; the first of them is played."""
    pace: Pace
    began: float
    assembly: RequestAssembly
    session: Callable[[], str]
    """Gives the id of the live session."""
    asked: bool = False
    """The client has sent a request."""
    answered: int = 0
    """How many answers were sent."""
    ended: bool = False
    """The client will send nothing more."""
    deleted_on: int | None = None
    """The live exchange on which the client ended the session: what it asks then is unknown."""
    _index: AnswerIndex = attrs.field(init=False)
    _waits: OverlapWaits[_ReleasedMessage] = attrs.field(init=False)
    _written: Sequence[int] = attrs.field(init=False)
    """The hashes of the requests as they are written: the next one is known by that."""
    _ready: list[_ReleasedMessage] = attrs.field(factory=list)
    """What is due now."""
    _later: list[tuple[float, _ReleasedMessage]] = attrs.field(factory=list)
    """A heap of what is due later."""
    _chain_due: dict[int, float] = attrs.field(factory=dict)
    """When the latest message of a call is due, where that was not at once."""
    _progress_due: dict[int, float] = attrs.field(factory=dict)
    """When the latest progress of a call was due."""
    _heads: dict[HttpResponse, HttpResponse] = attrs.field(factory=dict)
    """The live heads of responses by the recorded ones."""
    _dropped: set[int] = attrs.field(factory=set)
    """The places of what the client no longer wants."""

    def __attrs_post_init__(self) -> None:
        self._follow_lead()

    @property
    def episode(self) -> Episode:
        """The episode that is played."""
        return self._index.episode

    def take(self, seen: Sequence[Frame], now: float) -> Sequence[Frame]:
        """Take what the client sent. Gives the rest, which begins with what only the player
        knows.
        """
        self._waits.last_activity = now
        for place, frame in enumerate(seen):
            # speed: 4.8 us a call of a flood, 12 as a message that is read (tools/bench.py)
            rank = self._waits.first_missing
            number = NONE
            if (
                rank < len(self._written)
                and self._written[rank] == hash(frame.raw)
                and frame.fact is None
            ):
                number = self._index.requests[rank]
            try:
                if frame.exchange is not None:
                    self._take_on_exchange(frame, frame.exchange, number, now)
                elif number != NONE:
                    self._take_as_written(number, now)
                else:
                    self._take(frame, now)
            except _Unknown:
                return seen[place:]
        return ()

    def send_due(self, now: float) -> list[Frame]:
        """Return what is due, in order, with the live ids in place of the recorded ones."""
        if self._waits.since_s:
            expired = self._waits.take_expired(now)
            if expired:
                self._enqueue(expired, now)
        due, self._ready = self._ready, []
        if self._later and self._later[0][0] <= now:
            late = [(now, message) for message in due]
            while self._later and self._later[0][0] <= now:
                late.append(heapq.heappop(self._later))
            due = [message for _, message in sorted(late)]
            if not self._later:
                self._chain_due.clear()
        elif len(due) > 1:
            due.sort()
        if self._dropped:
            due = [message for message in due if message[0] not in self._dropped]
        self.answered += sum([kind == _ANSWER for _, _, kind in due])
        if self._index.exchanges is not None:
            return self._render_parts(due, self._index.exchanges)
        frames = frames_at(self._index.episode.events, [place for place, _, _ in due])
        rendered = [self._render(*pair) for pair in zip(frames, due, strict=True)]
        return [frame for frame in rendered if frame is not None]

    @property
    def next_due(self) -> float | None:
        """When `send_due` has something to send, if nothing else happens."""
        deadline = self._waits.find_deadline()
        if not self._later or deadline is None:
            return self._later[0][0] if self._later else deadline
        return min(deadline, self._later[0][0])

    def pending(self, positions: Mapping[int, int], now: float) -> PendingMessages:
        """Return what is still to be sent, by the positions of the places in a plan."""
        unsent = {positions[at]: now for one in self._ready for at in self._places(one)}
        unsent |= {positions[at]: due for due, one in self._later for at in self._places(one)}
        held = set[int]()
        for message in self._waits.since_s:
            places = [positions[place] for place in self._places(message)]
            held.update(places)
            if len(places) > 1:  # the end of a response waits for what the exchange carries
                unsent[places[-1]] = now
        return PendingMessages(
            unsent,
            held,
            self._waits,
            self._by_chain(self._chain_due),
            self._by_chain(self._progress_due),
        )

    def _places(self, message: _ReleasedMessage) -> Sequence[int]:
        exchanges = self._index.exchanges
        return message[:1] if exchanges is None else exchanges.parts[message[0]].places

    def _by_chain(self, of_calls: Mapping[int, float]) -> dict[int | None, float]:
        ranks = self._index.ranks
        return {None if call == NONE else ranks[call]: due for call, due in of_calls.items()}

    def _follow_lead(self) -> None:
        lead = self.cursors[0]
        self._index = lead.index
        self._waits = OverlapWaits(self.pace, lead.happened)
        self._release(NONE, self.began)
        self._look_ahead()

    def _look_ahead(self) -> None:
        """Take the requests that are written as the next one for it, once it is clear whose."""
        self._written = self._index.written if len(self.cursors) == 1 else ()

    # What the client sends.

    def _take_on_exchange(self, frame: Frame, x: int, number: int, now: float) -> None:
        """Take a frame of an exchange, which may be written as the request with this number."""
        fact, head = frame.fact, self.assembly.head(x)
        for one in self.cursors:
            one.exchange, one.head = x, head
        if fact is None and head is not None:
            if number != NONE and self.cursors[0].fits(number):
                self._take_as_written(number, now)
            else:
                self._take(frame, now)
            self.assembly.take_head(x)
            return
        if type(fact) is HttpRequest and not fact.has_body:
            self._take_bodiless(fact, x, now)
        elif type(fact) not in (HttpRequest, ExchangeEnd):
            raise _Unknown
        self.assembly.add(frame)

    def _take_bodiless(self, head: HttpRequest, x: int, now: float) -> None:
        found = [(one, one.find_bodiless(head)) for one in self.cursors]
        if not self.asked or self.is_over or any(number is None for _, number in found):
            raise _Unknown
        if head.method == "DELETE":
            if self._waits.since_s or self._later or self._has_open_call:
                raise _Unknown  # their responses may end without an answer
            self.deleted_on, self._written = x, ()
        self._use(found, now)

    @property
    def is_over(self) -> bool:
        """Whether the client has ended the session."""
        return self.ended or self.deleted_on is not None

    @property
    def _has_open_call(self) -> bool:
        ranks = self._index.ranks
        asked = sum([ranks[number] != NONE for number in self.cursors[0].happened])
        return asked > self.answered

    def _take(self, frame: Frame, now: float) -> None:
        content = frame.content
        if self.is_over and (self.ended or type(content) is not StreamEnd):
            raise _Unknown
        if type(content) is Request:
            self._take_request(frame, content, now)
        elif type(content) is Notification:
            if content.method != CANCELLED:
                self._take_notification(frame, content, now)
            elif self._index.exchanges is None:
                self._take_cancel(content, now)
            else:
                raise _Unknown  # of the response, the head and the end may have to be sent
        elif type(content) is Response:
            self._take_reply(content, now)
        elif type(content) is StreamEnd:
            self._take_end(now)
        else:
            raise _Unknown

    def _take_as_written(self, number: int, now: float) -> None:
        self.asked = True
        self.cursors[0].use(number, now)
        self._release(number, now)

    def _take_request(self, frame: Frame, request: Request, now: float) -> None:
        key, token = spelling(request.method, request.params)
        found = [(one, one.find(frame, request, key)) for one in self.cursors]
        if request.method in BY_METHOD_ALONE:
            found = self._prefer_nearest(frame, request, found)
        if found[0][1] is None:
            raise _Unknown
        if len(found) > 1:
            found = [(one, number) for one, number in found if number is not None]
            self.cursors = [one for one, _ in found]
            self._look_ahead()
        self.asked = True
        self._use(found, now, LiveCall(request.id, token))

    def _prefer_nearest(
        self, frame: Frame, request: Request, found: list[tuple[EpisodeCursor, int | None]]
    ) -> list[tuple[EpisodeCursor, int | None]]:
        """Return the episodes with the nearest handshake first."""
        if len(found) > 1:
            if request.method == PROBE:
                raise _Unknown
            found.sort(
                key=lambda one: 1 << 30 if one[1] is None else one[0].distance(one[1], frame)
            )
        asked = initialized_version(request.params)
        if any(one.asks_for(number) != asked for one, number in found if number is not None):
            raise _Unknown  # the answer names the revision that the client asks for
        lead, former = found[0][0], self.cursors[0]
        if lead is not former:
            if former.happened or any(NONE in one.index.waiting for one in (lead, former)):
                raise _Unknown  # something was released
            self.cursors = [one for one, _ in found]
            self._follow_lead()
        return found

    def _take_notification(self, frame: Frame, message: Notification, now: float) -> None:
        key, _ = spelling(message.method, message.params)
        found = [(one, one.find(frame, message, key)) for one in self.cursors]
        for one, number in found:
            if number is None and (one is self.cursors[0] or message.method in one.index.methods):
                raise _Unknown  # it may differ in what need not be equal
        self._use(found, now)

    def _take_cancel(self, message: Notification, now: float) -> None:
        id_ = member(message.params, "requestId")
        calls = [one.find_call(id_) for one in self.cursors]
        for one, call in zip(self.cursors, calls, strict=True):
            one.cancels.append((call, one.find_cancel(call)))
        self._drop(*self.cursors[0].cancels[-1])
        self._use([(one, one.cancels[-1][1]) for one in self.cursors], now)

    def _take_reply(self, message: Response, now: float) -> None:
        id_ = message.id
        found = [(one, None if id_ is None else one.find_reply(id_)) for one in self.cursors]
        if found[0][1] is None:
            raise _Unknown
        self._use(found, now)

    def _take_end(self, now: float) -> None:
        self.ended, self._written = True, ()
        ends = [(one, one.index.end) for one in self.cursors]
        self._use([(one, None if end == NONE else end) for one, end in ends], now)
        self._enqueue(self._waits.take_all(), now)

    # What the server sends.

    def _use(
        self,
        found: Sequence[tuple[EpisodeCursor, int | None]],
        now: float,
        call: LiveCall | None = None,
    ) -> None:
        """Note what happened in each episode, and release what waited for it."""
        for one, number in found:
            if number is not None:
                one.use(number, now, call)
        number = found[0][1]
        if number is not None:
            self._release(number, now)

    def _release(self, number: int, now: float) -> None:
        """Release what waited for a client message, which has happened."""
        index, waits = self._index, self._waits
        rank = index.ranks[number] if number != NONE else NONE
        ready = [*waits.note_event(number, None if rank == NONE else rank)]
        answer = index.answers[number] if number != NONE else NONE
        if answer != NONE:
            message, stop = (answer, number, _ANSWER), index.stops[number]
            if stop <= waits.first_missing or not waits.hold(message, rank + 1, stop, now):
                ready.append(message)
        others = index.waiting.get(number, ())
        for other in others:
            if len(other.causes) == 1 or self._have_happened(other.causes):
                message = _released(other)
                start = index.ranks[other.call] + 1 if other.stop else 0
                awaited = () if other.overlap == NONE else (other.overlap,)
                if not waits.hold(message, start, other.stop, now, awaited):
                    ready.append(message)
        if others or self._progress_due:
            self._enqueue(ready, now)
        else:
            self._ready += ready  # nothing has to wait for progress

    def _have_happened(self, causes: Iterable[int]) -> bool:
        return all(cause == NONE or cause in self.cursors[0].happened for cause in causes)

    def _drop(self, call: int, cancel: int | None) -> None:
        """Drop what is left of a call, but for what was recorded after its cancel."""
        index = self._index
        left = [_released(one) for one in index.waiting.get(call, ()) if one.call == call]
        left.append((index.answers[call], call, _ANSWER))
        for message in left:
            if cancel is None or message[0] < index.places[cancel]:
                self._dropped.add(message[0])
                self._waits.drop(message)

    def _enqueue(self, ready: Iterable[_ReleasedMessage], now: float) -> None:
        """Put messages into the queue that were released together: none overtakes an earlier
        recorded one that has to wait until the client has read the progress of its call.
        """
        floor = now
        for message in sorted(ready):
            _, call, kind = message
            due = max(floor, self._chain_due.get(call, floor)) if self._chain_due else floor
            if kind == _ANSWER and call in self._progress_due:
                due = max(due, self._progress_due[call] + self.pace.after_progress)
            elif kind == _PROGRESS:
                self._progress_due[call] = due
            floor = due
            if due > now:
                self._chain_due[call] = due
                heapq.heappush(self._later, (due, message))
            else:
                self._ready.append(message)

    def _render_parts(
        self, due: Sequence[_ReleasedMessage], exchanges: ExchangeIndex
    ) -> list[Frame]:
        parts = [exchanges.parts[place] for place, _, _ in due]
        said = [message[0] for message, part in zip(due, parts, strict=True) if part.has_message]
        recorded = iter(frames_at(self._index.episode.events, said))
        frames = list[Frame]()
        for message, part in zip(due, parts, strict=True):
            rendered = self._render(next(recorded), message) if part.has_message else None
            if rendered is None and part.has_message:
                continue
            x = self.cursors[0].exchanges[part.exchange]
            frames += [Frame(S2C, fact=self._live_fact(one), exchange=x) for one in part.before]
            if rendered is not None:
                frames.append(Frame(S2C, rendered.raw, rendered.eol, None, x))
            frames += [Frame(S2C, fact=one, exchange=x) for one in part.after]
        return frames

    def _live_fact(self, fact: Fact) -> Fact:
        if type(fact) is not HttpResponse:
            return fact
        live = self._heads.get(fact)
        if live is None:
            live = self._heads[fact] = live_head(fact, self._session_ids, self.session, {})
        return live

    @property
    def _session_ids(self) -> Set[str]:
        return frozenset() if self._index.exchanges is None else self._index.exchanges.session_ids

    def _render(self, frame: Frame, message: _ReleasedMessage) -> Frame | None:
        """Put in the live id or token; None for progress that the live client did not ask for."""
        _, call, kind = message
        live = self.cursors[0].calls.get(call)
        if live is None and not self._index.redacted:
            return frame
        raw = frame.raw
        if live is not None and kind == _ANSWER:
            raw = _with_id(raw, live.id)
        elif live is not None and kind == _PROGRESS:
            if live.token is None:
                return None
            raw = _with(raw, locate_known(raw, _PROGRESS_PATH), live.token)
        if self._index.redacted and holds_placeholder(raw):
            raw = fill(raw, {id_: self.session() for id_ in self._session_ids})
        return frame if raw is frame.raw else Frame(S2C, raw, frame.eol, frame.fact)


def _released(message: WaitingMessage) -> _ReleasedMessage:
    kind = _ANSWER if message.stop else _PROGRESS if message.is_progress else _OTHER
    return message.place, message.call, kind


def _with_id(raw: bytes, id_: bytes) -> bytes:
    span = locate_id(raw)
    if span is not None and raw[span.start : span.end] == id_:
        return raw
    raw = _with(raw, span, id_)
    return _with(raw, locate(raw, _SUBSCRIPTION_PATH), id_) if SUBSCRIPTION in raw else raw


def _with(raw: bytes, span: Span | None, value: bytes) -> bytes:
    return raw if span is None else raw[: span.start] + value + raw[span.end :]
