"""`Matcher`: which recorded client event a live message stands for, and, where none does, how near
the nearest come.

A `RequestIndex` belongs to a plan and finds its client events by key; all live sessions share it. A
`Matcher` belongs to one live session: it knows which recorded events are used up (the nth call gets
the nth answer), and which values the placeholders of redacted ones are bound to. `request_key` says
what makes two requests the same, `header_verdicts` which heads may differ. Cancels and replies to
the server's requests are matched by id, in `candidates`, which uses matchers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

import attrs

from mcpmock.playback.plan.plan import ClientEvent, ReplayPlan
from mcpmock.protocol.messages import Frame, HttpRequest, Opaque, Request, Response, StreamEnd
from mcpmock.redaction.placeholders import holds_placeholder

from .header_profile import (
    FIRST_HEADER_LEVEL,
    LAST_EVENT,
    SESSION,
    SESSION_PARAMETER,
    fingerprint,
    is_mirror,
    session_parameter,
)
from .header_verdicts import MIN_ERROR_STATUS, HeaderVerdicts, contradict
from .miss import USED_UP, NearMiss
from .request_assembly import ClientMessage
from .request_key import MATCH_LEVELS, Key, MatchSubject, handshake_distance, match_subject
from .variables import Bindings, compare, unify


@attrs.frozen
class MatchResult:
    """A recorded client event that fits. `level` says what had to be forgiven (see
    `request_key.MATCH_LEVELS`), `handshake_distance` how far two handshakes are apart.
    """

    event: ClientEvent
    level: int = 0
    bindings: Bindings = attrs.field(factory=dict)
    handshake_distance: int = 0


@attrs.define(slots=False)
class RequestIndex:
    """Looks up client events. `stateless`: the exchanges of the plan belong to no session."""

    plan: ReplayPlan
    stateless: bool = False
    _subjects: dict[int, MatchSubject | None] = attrs.field(factory=dict)
    _tables: dict[tuple[int, bool], dict[Key, list[int]]] = attrs.field(factory=dict)

    def subject(self, event: ClientEvent) -> MatchSubject | None:
        """What a client event asks; None for what is matched by its bytes."""
        if event.index not in self._subjects:
            self._subjects[event.index] = self.subject_of(event.frame, event.head)
        return self._subjects[event.index]

    def subject_of(self, frame: Frame, head: HttpRequest | None) -> MatchSubject | None:
        """What a client frame asks, recorded or live."""
        subject = match_subject(frame, head)
        return subject if subject is None or head is None else self.placed(subject, head)

    def placed(self, subject: MatchSubject, head: HttpRequest) -> MatchSubject:
        """What is asked, with the recorded names of streams and sessions in the place of live ones.

        Of a request that resumes a stream, the stream counts: at which event the connection was
        lost was chance. A request outside any session that names one names a wrong one, and servers
        tell those apart.
        """
        if subject.http is None:
            return subject
        places = {}
        if LAST_EVENT in subject.http:
            stream = self.plan.streams.get(head.header(LAST_EVENT) or "", "unknown")
            places[LAST_EVENT] = str(stream)
        if self.stateless and SESSION_PARAMETER in subject.http:
            places[SESSION_PARAMETER] = session_parameter(head) or ""
        return attrs.evolve(subject, http={**subject.http, **places}) if places else subject

    def by_key(self, level: int, *, bare: bool) -> dict[Key, list[int]]:
        """The client events by key; with `bare` by the key of their message alone."""
        if (level, bare) not in self._tables:
            table: dict[Key, list[int]] = {}
            for index, event in self.plan.client_events.items():
                recorded = self.subject(event)
                if recorded is not None:
                    table.setdefault(recorded.key(level, bare=bare), []).append(index)
            self._tables[level, bare] = table
        return self._tables[level, bare]

    @cached_property
    def with_placeholders(self) -> list[int]:
        """The client events that hold placeholders: no key finds those."""
        events = self.plan.client_events.items()
        return [index for index, event in events if self._has_placeholder(event)]

    @cached_property
    def header_verdicts(self) -> HeaderVerdicts:
        """Which heads the recorded server refused."""
        events = self.plan.client_events.values()
        subjects = ((self.subject(event), event.status) for event in events)
        return HeaderVerdicts.of((asked, status) for asked, status in subjects if asked is not None)

    def _has_placeholder(self, event: ClientEvent) -> bool:
        if holds_placeholder(event.frame.raw):
            return True
        asked = None if event.head is None else self.subject(event)
        fields = {} if asked is None or asked.http is None else asked.http
        return any(holds_placeholder(value) for value in fields.values())


@attrs.define
class Matcher:
    """Finds the client events of one plan for one session. `strict` takes only the next one."""

    index: RequestIndex
    strict: bool = False
    levels: int = len(MATCH_LEVELS)
    bindings: Bindings = attrs.field(factory=dict)
    happened: dict[int, float] = attrs.field(factory=dict)
    """The client events that are used up, in the order they happened, and when that was."""
    since: int = 0
    """What was recorded before this client event answers nothing any more."""
    _first: dict[tuple[int, bool, Key], int] = attrs.field(factory=dict)
    """Where in the events of one key the first one is that may be unused; 0 if absent."""
    _order: deque[int] | None = None

    @property
    def plan(self) -> ReplayPlan:
        return self.index.plan

    def find(self, live: ClientMessage, level: int | None = None) -> MatchResult | None:
        """The first unused client event that a live message stands for, at the strictest level that
        has one, or at this one.
        """
        content = live.content
        levels = self.levels_for(live) if level is None else (level,)
        found: Iterator[MatchResult | None]
        if isinstance(content, Opaque | StreamEnd | Response):
            found = (
                MatchResult(self.plan.client_events[index], level)
                for level in levels
                for index in self._same_bytes(live, level)
                if index not in self.happened and self._allowed(index, request=False)
            )
        else:
            subject = self._subject(live)
            if subject is None:
                return None
            request = isinstance(content, Request)
            found = (self._find_request(subject, request, level) for level in levels)
        return next((match for match in found if match is not None), None)

    def repeats(self, live: ClientMessage, level: int | None = None) -> list[MatchResult]:
        """All client events that ask the same as a live message, used or not, at the strictest
        level that has any, or at this one. For a request only events with requests count.
        """
        subject = self._subject(live)
        for one in self.levels_for(live) if level is None else (level,):
            if subject is None:
                found = {index: Bindings() for index in self._same_bytes(live, one)}
            else:
                found = self._same(subject, one)
            events = [(self.plan.client_events[index], found[index]) for index in sorted(found)]
            if isinstance(live.content, Request):
                events = [(event, bindings) for event, bindings in events if event.calls]
            matches = [
                MatchResult(event, one, bindings, self._distance(event, subject))
                for event, bindings in events
            ]
            if matches:
                nearest = min(match.handshake_distance for match in matches)
                return [match for match in matches if match.handshake_distance == nearest]
        return []

    def near(self, live: MatchSubject, count: int = 3) -> list[NearMiss]:
        """The recorded requests that come nearest to one that matches none."""
        found = []
        for index, event in self.plan.client_events.items():
            recorded = self.index.subject(event)
            if not event.calls or recorded is None or recorded.method != live.method:
                continue
            differences = tuple(compare(recorded.params, live.params))
            if recorded.http is not None and live.http is not None:
                differences += tuple(compare(recorded.http, live.http, "header"))
            why = "different" if differences else USED_UP
            if not differences and index not in self.happened:
                why = "out of order"
            n = self.plan.episode.events[index].n
            found.append(NearMiss(n, why, differences))
        return sorted(found, key=lambda near: (len(near.differences), near.n))[:count]

    def levels_for(self, live: ClientMessage) -> range:
        """The match levels that can make a difference: without a head those of heads cannot."""
        headless = live.head is None and not isinstance(live.frame.fact, HttpRequest)
        return range(min(self.levels, FIRST_HEADER_LEVEL) if headless else self.levels)

    def next_in_order(self) -> int | None:
        """The first client event not used yet: the only one that strict order takes."""
        if self._order is None:
            events = self.plan.client_events.items()
            self._order = deque(index for index, event in events if event.in_order)
        while self._order and self._order[0] in self.happened:
            self._order.popleft()
        return self._order[0] if self._order else None

    def _subject(self, live: ClientMessage) -> MatchSubject | None:
        subject, head = live.subject, live.head
        return subject if subject is None or head is None else self.index.placed(subject, head)

    def _find_request(self, live: MatchSubject, request: bool, level: int) -> MatchResult | None:
        if live.handshake is not None:
            return self._find_handshake(live, request, level)
        exact: int | None = None
        for key in _keys(live, level):
            first = self._first_unused(live, level, key)
            if first is not None and (exact is None or first < exact):
                exact = first
        if exact is not None and not self._allowed(exact, request):
            exact = None
        for index in self.index.with_placeholders:
            if exact is not None and index > exact:
                break
            if index in self.happened or not self._eligible(index, live, level):
                continue
            bindings = self._bind(index, live, level)
            if bindings is not None and self._allowed(index, request):
                return MatchResult(self.plan.client_events[index], level, bindings)
        return None if exact is None else MatchResult(self.plan.client_events[exact], level)

    def _find_handshake(self, live: MatchSubject, request: bool, level: int) -> MatchResult | None:
        """The nearest handshake, and of several the first."""
        indices = sorted(self._same(live, level))
        events = [self.plan.client_events[i] for i in indices if i not in self.happened]
        matches = [
            MatchResult(event, level, handshake_distance=self._distance(event, live))
            for event in events
            if self._allowed(event.index, request)
        ]
        return min(matches, key=lambda match: match.handshake_distance, default=None)

    def _distance(self, event: ClientEvent, live: MatchSubject | None) -> int:
        recorded = self.index.subject(event)
        return 0 if recorded is None or live is None else handshake_distance(recorded, live)

    def _same(self, live: MatchSubject, level: int) -> dict[int, Bindings]:
        """All that have the key of a live message, or can have it with its values."""
        table = self.index.by_key(level, bare=live.http is None)
        found = {index: Bindings() for key in _keys(live, level) for index in table.get(key, ())}
        for index in self.index.with_placeholders:
            bindings = self._bind(index, live, level)
            if bindings is not None:
                found[index] = bindings
        return {i: bindings for i, bindings in found.items() if self._eligible(i, live, level)}

    def _first_unused(self, live: MatchSubject, level: int, key: Key) -> int | None:
        bare = live.http is None
        indices = self.index.by_key(level, bare=bare).get(key)
        if indices is None:
            return None
        first = 0
        if len(indices) > 1:
            # Used ones at the front are skipped once and for all: the nth of 100,000 equal calls
            # costs no more than the first.
            place = (level, bare, key)
            first = start = self._first.get(place, 0)
            while first < len(indices) and (
                indices[first] in self.happened or indices[first] < self.since
            ):
                first += 1
            if first != start:
                self._first[place] = first
        for index in islice(indices, first, None):
            if index not in self.happened and self._eligible(index, live, level):
                return index
        return None

    def _eligible(self, index: int, live: MatchSubject, level: int) -> bool:
        """Whether a head may differ: a good request never gets the refusal of a bad one, nor a bad
        one the answer to a good one.
        """
        if level < FIRST_HEADER_LEVEL:
            return True
        event = self.plan.client_events[index]
        recorded = self.index.subject(event)
        if recorded is None or recorded.http is None or live.http is None:
            return True
        if self.index.header_verdicts.refused(live):
            return False
        if event.status is not None and event.status >= MIN_ERROR_STATUS:
            return False
        if self.index.stateless and (SESSION in recorded.http) is not (SESSION in live.http):
            return False
        return not contradict(recorded.http, live.http)

    def _bind(self, index: int, live: MatchSubject, level: int) -> Bindings | None:
        recorded = self.index.subject(self.plan.client_events[index])
        return None if recorded is None else _unify_subjects(recorded, live, level, self.bindings)

    def _same_bytes(self, live: ClientMessage, level: int) -> Iterator[int]:
        """What is not JSON-RPC matches what has the very same bytes."""
        frame = live.frame
        for index, event in self.plan.client_events.items():
            if type(event.frame.content) is not type(frame.content) or event.frame.raw != frame.raw:
                continue
            if live.head is None or event.head is None or self._same_heads(event, live.head, level):
                yield index

    @staticmethod
    def _same_heads(event: ClientEvent, live: HttpRequest, level: int) -> bool:
        assert event.head is not None
        recorded, other = (
            MatchSubject("", None, fingerprint(head, with_path=False)).http_at(level)
            for head in (event.head, live)
        )
        refused = event.status is not None and event.status >= MIN_ERROR_STATUS
        return recorded == other and not (refused and level >= FIRST_HEADER_LEVEL)

    def _allowed(self, index: int, request: bool) -> bool:
        event = self.plan.client_events[index]
        if index < self.since or (request and not event.calls):
            return False
        return not self.strict or not event.in_order or index == self.next_in_order()


def _keys(live: MatchSubject, level: int) -> tuple[Key, ...]:
    """The key of a live message, and the key of what was recorded without a head: a head then
    counts on neither side.
    """
    if live.http is None:
        return (live.key(level, bare=True),)
    key = live.key(level)
    return key, (*key[:2], ())


def _unify_subjects(
    recorded: MatchSubject, live: MatchSubject, level: int, bindings: Bindings
) -> Bindings | None:
    if recorded.method != live.method or isinstance(recorded.params, bytes):
        return None
    found = unify(recorded.at(level), live.at(level), bindings)
    if found is None or recorded.http is None or live.http is None:
        return found
    # Header fields that repeat values of the body agree with it, at every level.
    for name in (name for name in recorded.http if is_mirror(name) and name in live.http):
        bound = unify(recorded.http[name], live.http[name], found)
        if bound is None:
            return None
        found = bound
    return unify(recorded.http_at(level), live.http_at(level), found)
