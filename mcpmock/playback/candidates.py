"""`Candidates`: the recorded sessions that one live session may be, each a plan and a cursor.

The cursor of a `Candidate` is what the client did: which client events happened, and which live ids
stand for the recorded ones. The rules:

* All candidates follow every message of the client. The first of them, the lead, alone sends, and
  alone has a `Schedule`.
* A request keeps the candidates that know it at the strictest level at which any does, those with
  the nearest handshake first. No other message rules a candidate out.
* When the lead is ruled out, the next one makes its schedule from its cursor and continues there.
  Nothing that was sent is taken back: of what it would have sent by then, as much counts as sent as
  the former lead sent for the same calls.
* A near match keeps candidates that do not know the request. Where one of them becomes the lead,
  the former one still answers that call.

`matcher` finds the client event that a live message stands for, `player` passes the messages on.
Neither clocks nor HTTP are known here: times are arguments, in seconds.
"""

from __future__ import annotations

from bisect import bisect
from collections import ChainMap, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from operator import attrgetter

import attrs
from msgspec import Struct

from mcpmock.playback.plan.plan import ClientEvent, PlannedMessage, ReplayPlan
from mcpmock.protocol.messages import (
    Frame,
    HttpRequest,
    HttpResponse,
    Notification,
    Request,
    Response,
    answers_id,
    member,
)
from mcpmock.protocol.revisions import agreed_version, initialized_version

from .known_answers import EpisodeCursor, KnownAnswers
from .live_ids import LiveIds
from .matcher import Matcher, MatchResult
from .request_assembly import ClientMessage
from .schedule import ENDINGS, Schedule
from .timing import Pace
from .variables import with_numbers_as_written


@attrs.define(eq=False, repr=False)
class Candidate:
    """A plan and its cursor in one session."""

    matcher: Matcher
    pace: Pace = attrs.field(factory=Pace)
    session: Callable[[], str] = lambda: "mcpmock"
    """Gives the id of the live session."""
    answered: int = 0
    """How many answers were sent."""
    done: set[int] = attrs.field(factory=set)
    """The positions (in `plan.messages`) of what was sent or will never be."""
    ids: LiveIds = attrs.field(init=False)
    plan: ReplayPlan = attrs.field(init=False)
    _schedule: Schedule | None = None
    """Present only in a candidate that sends."""
    _began: float | None = None

    def __attrs_post_init__(self) -> None:
        self.plan = self.matcher.plan
        self.ids = LiveIds(self.session, self.plan.session_ids)

    # What it sends.

    def speak(self) -> Schedule:
        """Send from now on."""
        happened, stateless = self.matcher.happened, self.matcher.index.stateless
        self._schedule = Schedule(self.plan, self.pace, happened, self.done, stateless)
        return self._schedule

    def join(self, other: Candidate) -> None:
        """Send beside another candidate: to the same client, with its bindings, on its streams."""
        self.speak()
        self.matcher.bindings = dict(other.matcher.bindings)
        self.ids.exchanges = dict(other.ids.exchanges)

    def begin(self, now: float, *, speaks: bool) -> None:
        """Begin the session: what waits for nothing is due."""
        self._began = now
        if speaks:
            self.speak().begin(now)

    def send_due(self, now: float) -> list[Frame]:
        """Return what is due, in order, with the live ids in place of the recorded ones."""
        frames: list[Frame] = []
        texts, values = self.matcher.index.variables, self.matcher.bindings
        filled = values if texts is None else ChainMap(values, texts.recorded)
        for position in () if self._schedule is None else self._schedule.take_due(now):
            planned = self.plan.messages[position]
            self.done.add(position)
            self.answered += planned.answers
            frames += self.ids.render(planned, filled)
        return frames

    @property
    def next_due(self) -> float | None:
        """When `send_due` has something to send, if nothing else happens."""
        return None if self._schedule is None else self._schedule.next_due

    def resume(self, known: KnownAnswers, cursor: EpisodeCursor, now: float) -> None:
        """Continue where a cursor of known answers is."""
        self.begin(known.began, speaks=False)
        places, ranks = cursor.index.places, cursor.index.ranks
        happened = {places[number]: time for number, time in cursor.happened.items()}
        self.matcher.happened.update(happened)
        self.ids.exchanges |= cursor.exchanges
        self.ids.recorded |= {live: recorded for recorded, live in cursor.exchanges.items()}
        for number, call in cursor.live_calls(cursor.happened):
            self.ids.bind_call(ranks[number], call)
        if cursor is known.cursors[0]:
            self.answered = known.answered
            positions = {one.index: at for at, one in enumerate(self.plan.messages)}
            self.speak().resume(known.began, known.pending(positions, now))
        for number, cancel in cursor.cancels:
            self._drop_rest(ranks[number], None if cancel is None else places[cancel])

    def yield_to(self, lead: Candidate) -> bool:
        """Send from now on only what belongs to calls that the new lead does not know; gives
        whether there is anything.
        """
        calls = self.ids.calls.items()
        unknown = [number for number, call in calls if lead.ids.number(call.id) is None]
        owed = {position for number in unknown for position in self.plan.by_call.get(number, ())}
        owed -= self.done
        if not owed:
            self._schedule = None
        elif self._schedule is not None:
            self._schedule.done = {*range(len(self.plan.messages))} - owed
        return bool(owed)

    def take_over(self, former: Candidate, answered: Collection[bytes], now: float) -> None:
        """Send from here on: the `former` lead was ruled out.

        The calls in `answered` (their live ids) stay answered. Of what is due by now, as much
        counts as sent as the former lead sent for the same call, or for no call: first what is
        equal, then the earliest (a banner with another process id).
        """
        sent = former.sent_by_purpose()
        for id_ in answered:
            number = self.ids.number(id_)
            for position in () if number is None else self.plan.by_call.get(number, ()):
                planned = self.plan.messages[position]
                if planned.exchange is None or planned.frame.fact is None:
                    self._drop(position)
                if planned.answers:
                    self._drop_logs(position, [sent[None, False], sent[(id_,), False]])
        schedule = self.speak()
        if self._began is not None:
            schedule.begin(self._began)
        for event, time in self.matcher.happened.items():
            schedule.note_event(event, time)
        schedule.put_back(self._still_to_send(schedule.take_due(now), sent), now)

    def _drop_logs(self, answer: int, sent: Iterable[list[object]]) -> None:
        """Drop the log lines among those `sent` that were recorded between a call and its answer
        beside other calls, and so wait for the latest of them.
        """
        # A change of a list may be told twice, but must not be lost: the other call may make it.
        messages = self.plan.messages
        began = bisect(messages, min(messages[answer].causes), hi=answer, key=attrgetter("index"))
        for position in range(began, answer):
            planned = messages[position]
            if _is_log(planned) and not planned.calls and position not in self.done:
                same = next((some for some in sent if _content(planned) in some), None)
                if same is not None:
                    same.remove(_content(planned))
                    self._drop(position)

    def _still_to_send(self, due: list[int], sent: Mapping[object, list[object]]) -> list[int]:
        """Return what is due without what counts as `sent`."""
        different: list[int] = []
        for position in due:
            planned = self.plan.messages[position]
            for_same = sent.get(self._purpose(planned), [])
            if _content(planned) in for_same:
                for_same.remove(_content(planned))
            else:
                different.append(position)
        unsent: list[int] = []
        for position in different:
            planned = self.plan.messages[position]
            for_same = sent.get(self._purpose(planned), [])
            if for_same and not (_must_be_sent(planned) or _asks(planned)):
                for_same.pop()
            else:
                unsent.append(position)
        return unsent

    def sent_by_purpose(self) -> defaultdict[object, list[object]]:
        """Return what was sent, or counts as sent, but for answers and endings."""
        sent: defaultdict[object, list[object]] = defaultdict(list)
        for position in sorted(self.done):
            planned = self.plan.messages[position]
            if not _must_be_sent(planned):
                sent[self._purpose(planned)].append(_content(planned))
        return sent

    def _purpose(self, planned: PlannedMessage) -> object:
        """Return the live calls or the live exchange that a message is sent for, if any, and
        whether it asks something.
        """
        calls = self.ids.calls
        purpose: object = None
        if planned.calls:
            purpose = tuple(calls[call].id for call in planned.calls if call in calls)
        elif planned.is_http_detail:
            purpose = self.ids.exchanges.get(planned.exchange or 0)
        return purpose, _asks(planned)

    # What the client does.

    def note_activity(self, now: float) -> None:
        """Note that the client sent something: the session is not quiet."""
        if self._schedule is not None:
            self._schedule.held.last_activity = now

    def accept(self, match: MatchResult, live: ClientMessage, now: float) -> None:
        """Release the messages that waited for the matched client event."""
        if match.bindings:
            self.matcher.bindings |= with_numbers_as_written(match.bindings, live.frame.raw)
        self._note_event(match.event.index, live, now)
        if live.name == "initialize" and self.matcher.index.loosest:
            self._agree_on_version(match.event, live)

    def _agree_on_version(self, event: ClientEvent, live: ClientMessage) -> None:
        """Note in which revision the recorded server would answer the live `initialize`."""
        content = event.frame.content
        recorded = initialized_version(content.params if isinstance(content, Request) else None)
        for number, request in zip(event.calls, live.requests, strict=False):
            for position in self.plan.by_call.get(number, ()):
                content = self.plan.messages[position].frame.content
                result = content.result if isinstance(content, Response) else None
                answered = initialized_version(result)
                if answered is not None:
                    asked = initialized_version(request.params)
                    agreed = agreed_version(asked, recorded, answered)
                    self.ids.agree(number, answered, agreed)

    def accept_reply(self, live: ClientMessage, now: float) -> bool:
        """Follow an answer of the live client to a server request; False if this plan has no such
        request.
        """
        content = live.content
        if not isinstance(content, Response) or content.id is None:
            return False
        for index in self._replies_to(content.id):
            if index in self.plan.client_events and index not in self.matcher.happened:
                self._note_event(index, live, now)
                return True
        return False

    def accept_cancel(self, live: ClientMessage, now: float) -> bool:
        """Follow a cancellation of the live client; False if this plan has no such call.

        Of its remaining messages only those recorded after the cancel are sent; none if the
        recording has no cancel.
        """
        content = live.content
        id_ = member(content.params, "requestId") if isinstance(content, Notification) else None
        number = None if id_ is None else self.ids.number(id_)
        if number is None:
            return False
        events = self.plan.cancels.get(number, ())
        recorded = next((event for event in events if event not in self.matcher.happened), None)
        self._drop_rest(number, recorded)
        if recorded is not None:
            self._note_event(recorded, live, now)
        return True

    def end_session(self, exchange: int, now: float) -> None:
        """End the session, as the client did on this live exchange: events recorded before that
        match nothing any more, and open streams end.
        """
        recorded = self.ids.recorded.get(exchange)
        events = self.plan.client_events.values()
        ends = (e.index for e in events if recorded is not None and e.frame.exchange == recorded)
        self.matcher.first_place = next(ends, len(self.plan.episode.events))
        if self._schedule is not None:
            self._schedule.end_streams(self.ids.exchanges, now)

    def stop_waiting(self, now: float) -> None:
        """Wait for no overlap: the client will send nothing more."""
        if self._schedule is not None:
            self._schedule.stop_waiting(now)

    # What it knows.

    def answers_on(self, exchange: int) -> bool:
        """Return whether the plan has something to send on this live exchange, now or later."""
        return self.ids.recorded.get(exchange) in self.plan.by_exchange

    def status_on(self, exchange: int) -> int | None:
        """Return the recorded status of the response to this live exchange."""
        recorded = self.ids.recorded.get(exchange, -1)
        messages, positions = self.plan.messages, self.plan.by_exchange.get(recorded, ())
        facts = (messages[position].frame.fact for position in positions)
        return next((fact.status for fact in facts if isinstance(fact, HttpResponse)), None)

    @property
    def answered_ids(self) -> set[bytes]:
        """The live ids of the calls whose answer was sent."""
        answers = (self.plan.messages[p] for p in self.done if self.plan.messages[p].answers)
        calls = self.ids.calls
        return {calls[call].id for planned in answers for call in planned.calls if call in calls}

    @property
    def finished(self) -> bool:
        """Whether all that the plan has was sent."""
        return len(self.done) == len(self.plan.messages)

    @property
    def unused(self) -> list[ClientEvent]:
        """The recorded requests that never came."""
        happened = self.matcher.happened
        return [e for e in self.plan.client_events.values() if e.calls and e.index not in happened]

    @property
    def unsent(self) -> list[PlannedMessage]:
        """The messages that were never sent although their requests came."""
        calls, exchanges = self.ids.calls.keys(), {None, *self.ids.exchanges}
        return [
            planned
            for position, planned in enumerate(self.plan.messages)
            if position not in self.done
            and calls >= set(planned.calls)
            and planned.exchange in exchanges
            and not planned.is_http_detail
        ]

    def _note_event(self, index: int, live: ClientMessage, now: float) -> None:
        if (event := self.plan.client_events.get(index)) is not None:
            self.ids.bind(event, live)
        self.matcher.happened[index] = now
        if self._schedule is not None:
            self._schedule.note_event(index, now)

    def _drop_rest(self, number: int, cancel: int | None) -> None:
        """Drop what is left of a call, but for what was recorded after its cancel."""
        for position in self.plan.by_call.get(number, ()):
            planned = self.plan.messages[position]
            head = isinstance(planned.frame.fact, HttpResponse)  # what follows needs it
            if cancel is None or (planned.index < cancel and not head):
                self._drop(position)

    def _drop(self, position: int) -> None:
        self.done.add(position)
        if self._schedule is not None:
            self._schedule.drop(position)

    def _replies_to(self, id_: bytes) -> Sequence[int]:
        replies = self.plan.replies
        if id_ in replies:
            return replies[id_]
        return next((replies[known] for known in replies if answers_id(known, id_)), ())


def _must_be_sent(planned: PlannedMessage) -> bool:
    """Return whether it must be sent even if another candidate sent an equal message."""
    return planned.answers or isinstance(planned.frame.fact, ENDINGS)


def _asks(planned: PlannedMessage) -> bool:
    """Return whether it asks the client: what follows waits for the answer to just this id."""
    return isinstance(planned.frame.content, Request)


def _is_log(planned: PlannedMessage) -> bool:
    content = planned.frame.content
    return isinstance(content, Notification) and content.method == "notifications/message"


def _content(planned: PlannedMessage) -> object:
    return type(planned.frame.fact), planned.frame.raw


class CandidateMatch(Struct, frozen=True):
    """A candidate that knows a live message, and what the message stands for there."""

    candidate: Candidate
    match: MatchResult
    """The nearest, where it is not exactly so."""
    _others: Iterable[MatchResult] = ()
    """The others, the nearest first; read once."""

    @classmethod
    def first(
        cls, candidate: Candidate, matches: Iterable[MatchResult]
    ) -> Iterator[CandidateMatch]:
        """Yield the nearest of some matches, if there are any."""
        found = iter(matches)
        for match in found:
            yield cls(candidate, match, found)
            return

    @property
    def equally_near(self) -> list[MatchResult]:
        """All that differ in as many places."""
        near = takewhile(lambda one: one.distance[0] == self.match.distance[0], self._others)
        return [self.match, *near]

    def number(self, match: MatchResult) -> int:
        """Return the number of the event in its take."""
        return self.candidate.plan.episode.events[match.event.index].n


Accept = Callable[[Candidate, ClientMessage, float], bool]
"""Lets a candidate follow a message if it knows it; gives whether it does."""


@attrs.define(eq=False, repr=False)
class Candidates:
    """The candidates of one live session, the lead first."""

    all: list[Candidate] = attrs.field(factory=list)
    owing: list[Candidate] = attrs.field(factory=list)
    """The former leads that have calls to answer which the lead does not know."""
    _answered: set[bytes] = attrs.field(factory=set)
    """The live ids of the calls that former leads answered."""

    @property
    def lead(self) -> Candidate | None:
        """The candidate that sends."""
        return self.all[0] if self.all else None

    @property
    def followers(self) -> Iterable[Candidate]:
        """All that follow what belongs to a call: those that owe something may be no candidates any
        more.
        """
        return dict.fromkeys((*self.all, *self.owing))

    def begin(self, now: float) -> None:
        """Begin the session: the lead sends what waits for nothing."""
        for candidate in self.all:
            candidate.begin(now, speaks=candidate is self.lead)

    def accept_request(self, live: ClientMessage, now: float, *, keep: bool) -> int | None:
        """Let the candidates follow that know a live request, at the strictest level at which any
        knows it, those with the nearest handshake first; the others stay only if `keep`. Gives the
        level; None if no candidate knows it.
        """
        found = self._find(live)
        level = min((one.match.level for one in found), default=None)
        found = [one for one in found if one.match.level == level]
        found.sort(key=lambda one: one.match.distance)
        self.accept(found, live, now, keep=keep)
        return level

    def find_loosened(self, live: ClientMessage) -> list[CandidateMatch]:
        """Return what the candidates have that is equal to a live request under the rules of the
        user, at the strictest level at which any has it; the nearest first.
        """
        found = [
            one
            for candidate in self.all
            for one in CandidateMatch.first(candidate, candidate.matcher.find_loosened(live))
        ]
        level = min((one.match.level for one in found), default=0)
        found = [one for one in found if one.match.level == level]
        return sorted(found, key=lambda one: one.match.distance)

    def find_nearest(self, live: ClientMessage) -> list[CandidateMatch]:
        """Return the candidate whose nearest unused request is the nearest, if any has one."""
        found = [
            one
            for candidate in self.all
            for one in CandidateMatch.first(candidate, candidate.matcher.nearest(live))
            if one.match.event.index not in candidate.matcher.happened
        ]
        return sorted(found, key=lambda one: one.match.distance)[:1]

    def accept(
        self, found: Sequence[CandidateMatch], live: ClientMessage, now: float, *, keep: bool
    ) -> None:
        """Let these candidates follow a live message, the first as the lead; the others stay,
        behind them, only if `keep`.
        """
        if not found:
            return
        known, former = [one.candidate for one in found], self.lead
        if keep:
            ids = {id(candidate) for candidate in known}
            known += [candidate for candidate in self.all if id(candidate) not in ids]
        self.all = known
        if former is not None and known[0] is not former:
            formers = [*self.owing, former]
            self._answered.update(*(one.answered_ids for one in formers))
            known[0].take_over(former, self._answered, now)
            self.owing = [one for one in formers if one is not known[0] and one.yield_to(known[0])]
        for one in found:
            one.candidate.accept(one.match, live, now)

    def accept_any(self, live: ClientMessage, now: float) -> bool:
        """Let the candidates follow that know a live message, at any level. One that knows what
        a request without a message (GET, DELETE) opens or ends goes before one that does not, and
        the one that knows it at the strictest level first.
        """
        found = self._find(live)
        if isinstance(live.frame.fact, HttpRequest):
            found.sort(key=lambda one: one.match.level)
            self.accept(found, live, now, keep=True)
        else:
            for one in found:
                one.candidate.accept(one.match, live, now)
        return bool(found)

    def accept_by_id(self, accept: Accept, live: ClientMessage, now: float) -> bool:
        """Let the candidates follow a cancel or a reply; False if none has its request."""
        accepted = [accept(candidate, live, now) for candidate in self.followers]
        return any(accepted)

    def _find(self, live: ClientMessage) -> list[CandidateMatch]:
        """Return the candidates that know a live message, at any level, in their order."""
        matches = ((candidate, candidate.matcher.find(live)) for candidate in self.all)
        return [CandidateMatch(one, match) for one, match in matches if match is not None]
