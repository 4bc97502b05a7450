"""`Matcher`: which recorded client event a live message stands for, and, where none does, how near
the nearest come.

A `RequestIndex` belongs to a plan and finds its client events by key; all live sessions share it,
and it never changes but for what it has looked up. A `Matcher` belongs to one live session. The
rules:

* Each client event is used once: the nth equal call gets the nth answer.
* Match levels are tried from the strictest on, and the first that has an unused event wins. At one
  level the first recorded event wins; of handshakes the nearest; of events that differ in `_meta`
  the one that agrees most.
* A placeholder stands for any value until it is bound; an event that holds one is found by
  comparing, every other by its key.
* A request matches an event with requests only. Anything but JSON-RPC is matched by its bytes.
* Strict order takes only the next event. What was recorded before the end of a session answers
  nothing after it (`first_place`).

`request_key` says what makes two requests the same, `header_verdicts` which heads may differ.
Cancels and replies to the server's requests are matched by id, in `candidates`, which uses
matchers. No time and no output is known here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from heapq import merge, nsmallest
from itertools import filterfalse, islice
from typing import TYPE_CHECKING

import attrs
import msgspec
from msgspec import UNSET, Struct

from mcpmock.playback.plan.plan import ClientEvent, ReplayPlan
from mcpmock.protocol.messages import (
    Batch,
    HttpRequest,
    Opaque,
    Request,
    Response,
    StreamEnd,
    decode,
    encode,
)
from mcpmock.protocol.mirrored_headers import is_mirror
from mcpmock.redaction.placeholders import fill, holds_placeholder

from .header_profile import (
    FIRST_HEADER_LEVEL,
    LAST_EVENT,
    SESSION,
    SESSION_PARAMETER,
    Fingerprint,
    at,
    fingerprint,
    session_parameter,
)
from .header_verdicts import MIN_ERROR_STATUS, HeaderVerdicts, contradict
from .miss import (
    DIFFERENT,
    IN_ANY_TURN,
    OUT_OF_ORDER,
    REPEAT,
    USED_UP,
    NearMiss,
    ProposedOption,
    first_near,
    propose_rules,
)
from .request_assembly import ClientMessage
from .request_key import (
    MATCH_LEVELS,
    META_LEVEL,
    Key,
    MatchSubject,
    MessageKeys,
    as_written,
    handshake_distance,
    match_subject,
    named,
)
from .variables import Bindings, Leaves, Mismatch, compare, unify

if TYPE_CHECKING:
    from mcpmock.matching.match_rule import MatchRules

    from .answer_index import AnswerIndex
    from .echo import Variables
    from .loosened import LooseIndex, LooseRequest


# A Struct, because one is made for every message: a frozen attrs class sets each field by
# object.__setattr__.
class MatchResult(msgspec.Struct, frozen=True):
    """A recorded client event that fits. `level` says what had to be forgiven (see
    `request_key.MATCH_LEVELS`).
    """

    event: ClientEvent
    level: int = 0
    bindings: Bindings = msgspec.field(default_factory=dict)
    allowed: tuple[Mismatch, ...] = ()
    """Where it differs and may, by rules of the user."""
    distance: tuple[int, int] = (0, 0)
    """How far it differs: of handshakes `handshake_distance` and 0, else as `Leaves.distance`."""


_MAX_COMPARED = 100
"""How many requests that rules may make equal are compared with a live one."""
_MAX_MEASURED = 1_000
"""How many requests it is measured of how near they are to one that matches none."""


class MeasuredRequest(Struct, frozen=True):
    """A recorded request, and how far it is from a live one of the same method."""

    event: ClientEvent
    subject: MatchSubject
    distance: tuple[int, int]
    """As `Leaves.distance` has it."""
    same_name: bool
    """Whether it is of the same tool, prompt or resource."""
    is_used: bool

    @property
    def place(self) -> tuple[tuple[int, int], bool, int]:
        """Where it stands among all: the nearest first, of these the unused, then as recorded."""
        return self.distance, self.is_used, self.event.index


@attrs.define(eq=False, repr=False, slots=False)
class RequestIndex:
    """Looks up client events. `stateless`: the exchanges of the plan belong to no session. `strict`
    takes only the next one. `rules` are those of the user about what may differ.
    """

    plan: ReplayPlan
    stateless: bool = False
    strict: bool = False
    loosest: int = len(MATCH_LEVELS) - 1
    """The last match level that is in force."""
    rules: MatchRules | None = None
    variables: Variables | None = None
    """The texts that the user wants back: among the placeholders of the plan."""
    answers: AnswerIndex | None = None
    """What the plan was made of, if that is an index."""
    _subjects: dict[int, MatchSubject | None] = attrs.field(init=False, factory=dict)
    _tables: dict[tuple[int, bool], dict[Key, list[int]]] = attrs.field(init=False, factory=dict)
    _metas: dict[int, Leaves] = attrs.field(init=False, factory=dict)

    def may_bind(self, bindings: Iterable[tuple[str, str]]) -> bool:
        """Return whether placeholders may stand for these live values."""
        return not self.variables or self.variables.allow(bindings)

    def subject(self, event: ClientEvent) -> MatchSubject | None:
        """Return what a client event asks; None for what is matched by its bytes."""
        if event.index in self._subjects:
            return self._subjects[event.index]
        subject = self.placed(match_subject(event.frame, event.head), event.head)
        if event.head is not None or event.frame.fact is not None:
            # Others are needed once, for their key: 100,000 decoded ones would be 200 MB.
            self._subjects[event.index] = subject
        return subject

    def heads(self, index: int) -> Fingerprint | None:
        """Return the profile of the head of a client event; None if it was recorded without."""
        event = self.plan.client_events[index]
        subject = None if event.head is None else self.subject(event)
        return None if subject is None else subject.http

    def meta(self, index: int) -> Leaves:
        """Return what a client event says in `_meta` in words of its client."""
        if index not in self._metas:
            recorded = self.subject(self.plan.client_events[index])
            self._metas[index] = _meta_leaves(recorded)
        return self._metas[index]

    def placed(self, subject: MatchSubject | None, head: HttpRequest | None) -> MatchSubject | None:
        """Return what is asked, with the recorded names of streams and sessions in the place of
        live ones.

        Of a request that resumes a stream, the stream counts: at which event the connection was
        lost was chance. A request outside any session that names one names a wrong one, and servers
        tell those apart.
        """
        if subject is None or subject.http is None or head is None:
            return subject
        places = {}
        if LAST_EVENT in subject.http:
            stream = self.plan.streams.get(head.header(LAST_EVENT) or "", "unknown")
            places[LAST_EVENT] = str(stream)
        if self.stateless and SESSION_PARAMETER in subject.http:
            places[SESSION_PARAMETER] = session_parameter(head) or ""
        if not places:
            return subject
        return msgspec.structs.replace(subject, http={**subject.http, **places})

    def by_key(self, level: int, *, bare: bool) -> Mapping[Key, Sequence[int]]:
        """Return the client events by key; with `bare` by the key of their message alone."""
        if bare and not (level and self.keys.has_meta):
            return self.keys.by_key
        table = self._tables.get((level, bare))
        if table is None:
            table = self._tables[level, bare] = {}
            for event in self.plan.client_events.values():
                recorded = self.subject(event)
                if recorded is not None:
                    table.setdefault(recorded.key(level, bare=bare), []).append(event.index)
        return table

    @cached_property
    def keys(self) -> MessageKeys:
        """The client events by what they ask, without their heads."""
        if self.answers is not None:
            return self.answers.keys.renumbered(self.answers.places)
        subjects = ((e.index, self.subject(e)) for e in self.plan.client_events.values())
        return MessageKeys.of((index, asked) for index, asked in subjects if asked is not None)

    @cached_property
    def with_placeholders(self) -> Mapping[int, MatchSubject]:
        """The client events that hold placeholders, which no key finds."""
        events = self.plan.client_events.values()
        bare = all(event.head is None for event in events)
        if bare and not holds_placeholder(b"\n".join([event.frame.raw for event in events])):
            return {}
        found = ((e.index, self.subject(e)) for e in events if self._has_placeholder(e))
        return {index: asked for index, asked in found if asked is not None}

    @cached_property
    def loosened(self) -> LooseIndex:
        """The client events by what the rules leave of them, at the loosest level."""
        from .loosened import LooseIndex

        assert self.rules is not None
        index = LooseIndex(self.rules, self.loosest, self.may_bind)
        for event in self.plan.client_events.values():
            holds = self._has_placeholder(event)
            index.add(event.index, self.subject(event), holds_placeholder=holds)
        return index

    @cached_property
    def header_verdicts(self) -> HeaderVerdicts:
        """Which heads the recorded server refused."""
        events = self.plan.client_events.values()
        subjects = ((self.subject(event), event.status) for event in events)
        return HeaderVerdicts.of((asked, status) for asked, status in subjects if asked is not None)

    def _has_placeholder(self, event: ClientEvent) -> bool:
        if holds_placeholder(event.frame.raw):
            return True
        return any(map(holds_placeholder, (self.heads(event.index) or {}).values()))


@attrs.define(eq=False, repr=False)
class Matcher:
    """Finds the client events of one plan for one session."""

    index: RequestIndex
    bindings: Bindings = attrs.field(factory=dict)
    happened: dict[int, float] = attrs.field(factory=dict)
    """The client events that are used up, in the order they happened, and when that was."""
    first_place: int = 0
    """What was recorded before this client event answers nothing any more."""
    _first: dict[Hashable, int] = attrs.field(factory=dict)
    """Where in the events of one key the first one is that may be unused; 0 if absent."""
    _passed: int = 0
    """How many client events strict order has behind it."""

    @property
    def plan(self) -> ReplayPlan:
        return self.index.plan

    def find(self, live: ClientMessage, level: int | None = None) -> MatchResult | None:
        """Return the first unused client event that a live message stands for, at the strictest
        level that has one, or at this one.
        """
        content = live.content
        if level is None and (event := self._next_as_written(live)) is not None:
            return MatchResult(event, 0)
        levels = self.levels_for(live) if level is None else (level,)
        found: Iterator[MatchResult | None]
        if isinstance(content, (Opaque, StreamEnd, Response)):
            found = (
                MatchResult(self.plan.client_events[index], level)
                for level in levels
                for index in self._same_bytes(live, level)
                if index not in self.happened and self._allowed(index, request=False)
            )
        else:
            subject = self.index.placed(live.subject, live.head)
            if subject is None:
                return None
            request = isinstance(content, Request)
            found = (self._find_request(subject, request, level) for level in levels)
        return next((match for match in found if match is not None), None)

    def repeats(self, live: ClientMessage, level: int | None = None) -> list[MatchResult]:
        """Return all client events that ask the same as a live message, used or not, at the
        strictest level that has any, or at this one. For a request only events with requests count.
        """
        subject = self.index.placed(live.subject, live.head)
        for one in self.levels_for(live) if level is None else (level,):
            if subject is None:
                found = {index: Bindings() for index in self._same_bytes(live, one)}
            else:
                found = self._same(subject, one)
            events = [(self.plan.client_events[index], found[index]) for index in sorted(found)]
            if isinstance(live.content, Request):
                events = [(event, bindings) for event, bindings in events if event.calls]
            matches = [
                MatchResult(event, one, bindings, distance=self._distance(event, subject))
                for event, bindings in events
            ]
            if one == META_LEVEL and len(matches) <= _MAX_COMPARED:
                own = _meta_leaves(subject)
                matches = [self._with_distance(match, own) for match in matches]
            if matches:
                nearest = min(match.distance for match in matches)
                return [match for match in matches if match.distance == nearest]
        return []

    def find_loosened(self, live: ClientMessage, *, used: bool = False) -> Iterator[MatchResult]:
        """Yield the unused client events (or with `used` all) that a live message stands for under
        the rules of the user, at the strictest level that has any, the nearest first. At most
        _MAX_COMPARED are compared: an answer costs the same however many there are.
        """
        index = self.index.loosened
        asked = index.request(self.index.placed(live.subject, live.head))
        if asked is None:
            return
        rows = [row if used else self._unused(key, row) for key, row in index.rows(asked)]
        request = isinstance(live.content, (Request, Batch))
        own = _meta_leaves(asked.subject)
        has_meta = self.index.keys.has_meta
        near = sorted(
            (
                index.distance(place, asked, self.bindings),
                self.index.meta(place).distance(own, self.bindings) if has_meta else (0, 0),
                place,
            )
            for place in islice(merge(*rows), _MAX_COMPARED)
        )
        found = (
            match
            for distance, _, place in near
            if self._allowed(place, request)
            and (match := self._compare_loosened(place, live, asked, distance)) is not None
        )
        if live.head is not None or has_meta:
            matches = [*found]
            strictest = min((match.level for match in matches), default=0)
            found = (match for match in matches if match.level == strictest)
        yield from found

    def _compare_loosened(
        self, index: int, live: ClientMessage, asked: LooseRequest, distance: tuple[int, int]
    ) -> MatchResult | None:
        compared = self.index.loosened.compare(index, asked, self.bindings)
        if compared is None:
            return None
        allowed, bindings = compared
        level = self._loose_level(index, live, asked, allowed)
        if level is None:
            return None
        event = self.plan.client_events[index]
        return MatchResult(event, level, bindings, (*allowed,), distance)

    def _unused(self, key: Hashable, row: Sequence[int]) -> Iterator[int]:
        """Return the client events of one key that are not used up."""
        # Used ones at the front are skipped once and for all: the nth of 100,000 equal calls costs
        # no more than the first.
        first = start = self._first.get(key, 0)
        while first < len(row) and (row[first] in self.happened or row[first] < self.first_place):
            first += 1
        if first != start:
            self._first[key] = first
        return filterfalse(self.happened.__contains__, islice(row, first, None))

    def _loose_level(
        self,
        index: int,
        live: ClientMessage,
        asked: LooseRequest,
        allowed: Sequence[Mismatch],
    ) -> int | None:
        """Return the strictest level at which all is equal but for what the rules allow."""
        subject = self.index.subject(self.plan.client_events[index])
        assert subject is not None
        # What the loosest level compares was judged under the rules.
        loosest = self.index.loosest
        same_client = not loosest or subject.identity == asked.subject.identity
        same_meta = loosest < META_LEVEL or subject.own_meta == asked.subject.own_meta
        recorded, now = subject.http, asked.subject.http
        if recorded is not None and now is not None:
            from .loosened import mirrors

            loose = mirrors(allowed, recorded, now)
            recorded, now = (
                {name: value for name, value in head.items() if name not in loose}
                for head in (recorded, now)
            )
        for level in self.levels_for(live):
            if level < META_LEVEL and not (same_meta and (level or same_client)):
                continue
            if recorded is not None and now is not None:
                if unify(at(recorded, level), at(now, level), self.bindings) is None:
                    continue
                if not self._may_differ(index, recorded, now, asked.subject, level):
                    continue
            return level
        return None

    def near(self, live: MatchSubject, *, may_repeat: bool = False) -> list[NearMiss]:
        """Return the recorded requests that come nearest to one that matches none, the nearest
        first; those of another tool, prompt or resource only where there is none of the same.
        `may_repeat`: a used one answers once more.
        """
        found = self._measured(live) or self._measured(live, other_names=True)
        found = nsmallest(_MAX_COMPARED, found, key=lambda one: one.place)
        misses = [self.near_miss(one, live, may_repeat=may_repeat) for one in found]
        return first_near(misses)

    def near_miss(
        self, measured: MeasuredRequest, live: MatchSubject, *, may_repeat: bool = False
    ) -> NearMiss:
        """Return why a recorded request does not answer a live one, and what would let it."""
        event, recorded = measured.event, measured.subject
        denied, allowed = self._differences(recorded, live)
        heads = self._head_differences(event, recorded, live, [*allowed, *denied])
        is_used = event.index in self.happened
        rules = propose_rules(live.method, recorded.params, denied)
        options: list[ProposedOption] = []
        if is_used and not may_repeat:
            options.append(REPEAT)
        # A used one that is equal without rules is repeated out of its turn.
        in_turn = is_used and not denied and not allowed
        if not in_turn and not self._allowed(event.index, request=True):
            options.append(IN_ANY_TURN)
        if heads or bool(denied) is not bool(rules) or event.index < self.first_place:
            rules, options = (), []
        equal = USED_UP if is_used else OUT_OF_ORDER
        written = [self._as_recorded(one, event) for one in denied]
        places, words = measured.distance
        is_other = bool(denied or heads)
        return NearMiss(
            self.plan.episode.events[event.index].n,
            DIFFERENT if is_other else equal,
            (*written, *heads),
            rules,
            tuple(options),
            # Of those equally near the unused first: they take fewer options.
            (
                (len(denied) if self.index.rules else places) + len(heads),
                words,
                is_used and is_other,
            ),
            measured.same_name,
        )

    def _differences(
        self, recorded: MatchSubject, live: MatchSubject
    ) -> tuple[list[Mismatch], list[Mismatch]]:
        """Return where params differ at the loosest level: against the rules, and as they allow."""
        from mcpmock.matching.match_rule import MatchRules  # only a miss needs it

        from .loosened import all_differences

        level, rules = self.index.loosest, self.index.rules or MatchRules()
        given = recorded, live, level, self.bindings, self.index.may_bind
        if not isinstance(live.params, bytes):
            with suppress(RecursionError):
                return all_differences(rules, *given)
        return compare(recorded.at(level), live.at(level), bindings=self.bindings), []

    def _head_differences(
        self,
        event: ClientEvent,
        recorded: MatchSubject,
        live: MatchSubject,
        differing: Sequence[Mismatch],
    ) -> list[Mismatch]:
        """Leave out the fields that repeat a value of the body which differs."""
        if recorded.http is None or live.http is None:
            return []
        from .loosened import mirrors

        loose = mirrors(differing, recorded.http, live.http)
        one, other = (
            {name: value for name, value in head.items() if name not in loose}
            for head in (recorded.http, live.http)
        )
        level = self.index.loosest
        counted = {*at(one, level), *at(other, level)}
        if level >= FIRST_HEADER_LEVEL:
            counted |= {LAST_EVENT, *filter(is_mirror, one.keys() & other.keys())}
            counted |= {SESSION} if self.index.stateless else set()
        found = _header_differences(one, other)
        blocking = [found[name] for name in found if name in counted]
        if blocking or self._may_differ(event.index, one, other, live, level):
            return blocking
        return [*found.values()]

    def _as_recorded(self, found: Mismatch, event: ClientEvent) -> Mismatch:
        """Return a difference with the recorded value as it was: what counts as absent may be
        there, and what the user wants back is no placeholder.
        """
        if found.recorded is UNSET:
            return attrs.evolve(found, recorded=as_written(event.frame, found.place))
        return self.with_texts(found)

    def with_texts(self, found: Mismatch) -> Mismatch:
        """Return a difference without placeholders of what the user wants back."""
        if found.recorded is UNSET or not self.index.variables:
            return found
        value = decode(fill(encode(found.recorded), self.index.variables.recorded))
        return attrs.evolve(found, recorded=value)

    def nearest(self, live: ClientMessage) -> list[MatchResult]:
        """Return the recorded requests of the same method, and of the same tool, prompt or
        resource, the nearest first; only the unused ones if there are any.
        """
        assert live.subject is not None, "only a request has a nearest one"
        found = [
            MatchResult(one.event, distance=one.distance) for one in self._measured(live.subject)
        ]
        unused = [
            match
            for match in found
            if match.event.index not in self.happened
            and self._allowed(match.event.index, request=True)
        ]
        found = unused if unused or self.index.strict else found
        return sorted(found, key=lambda match: match.distance)

    def measure(self, event: ClientEvent, live: MatchSubject) -> MeasuredRequest:
        """Return how far a recorded request is from a live one of the same method."""
        recorded, level = self.index.subject(event), self.index.loosest
        assert recorded is not None
        distance = Leaves.of(((), recorded.at(level))).distance(
            Leaves.of(((), live.at(level))), self.bindings
        )
        same_name = named(recorded.method, recorded.params) == named(live.method, live.params)
        is_used = event.index in self.happened
        return MeasuredRequest(event, recorded, distance, same_name, is_used)

    def _measured(self, live: MatchSubject, *, other_names: bool = False) -> list[MeasuredRequest]:
        """Return the recorded requests of a method and of the same tool, prompt or resource, or of
        any, each with how far it is from a live one: at most _MAX_MEASURED, those that are equal
        and those that are unused before the others.
        """
        keys, label = self.index.keys, (live.method, named(live.method, live.params))
        places: Iterable[int] = keys.by_name.get(label, ())
        if other_names:
            places = merge(*(same for name, same in keys.by_name.items() if name[0] == label[0]))
        unused, used = list[int](), list[int]()
        for place in places:
            (used if place in self.happened else unused).append(place)
        loosest = self.index.loosest
        equal = self.index.by_key(loosest, bare=True).get(live.key(loosest, bare=True), ())
        nearest = islice(dict.fromkeys([*equal, *unused, *used]), _MAX_MEASURED)
        events = (self.plan.client_events[place] for place in nearest)
        return [self.measure(event, live) for event in events if event.calls]

    def levels_for(self, live: ClientMessage) -> Sequence[int]:
        """Return the match levels that can make a difference: without a head those of heads
        cannot.
        """
        levels = range(self.index.loosest + 1)
        if live.head is not None:
            return levels
        return [level for level in levels if not FIRST_HEADER_LEVEL <= level < META_LEVEL]

    def next_in_order(self) -> int | None:
        """Return the first client event not used yet: the only one that strict order takes."""
        in_order = self.plan.in_order
        while self._passed < len(in_order) and in_order[self._passed] in self.happened:
            self._passed += 1
        return in_order[self._passed] if self._passed < len(in_order) else None

    def _next_as_written(self, live: ClientMessage) -> ClientEvent | None:
        """Return the next client event, if it is a request that a live one is written as, id and
        all, with an equal head: no other one is nearer.
        """
        # speed: the player takes 41 us for a call over HTTP instead of 52, where the table of known
        # answers has stopped (python -m timeit, `Player.feed`)
        place = self.next_in_order()
        event = None if place is None else self.plan.client_events[place]
        if (
            event is None
            or event.frame.raw != live.frame.raw
            or not isinstance(live.content, Request)
            or self.index.stateless
            or event.index < self.first_place
        ):
            return None
        head = None if live.head is None else fingerprint(live.head, with_path=False)
        return event if self.index.heads(event.index) == head else None

    def _find_request(self, live: MatchSubject, request: bool, level: int) -> MatchResult | None:
        """Return the first unused client event that fits; of handshakes the nearest, and of
        requests that are equal but for `_meta` the one whose `_meta` agrees most.
        """
        found = self._fitting(live, request, level)
        if live.handshake is not None:
            found = (
                msgspec.structs.replace(match, distance=self._distance(match.event, live))
                for match in found
            )
        elif level == META_LEVEL:
            own = _meta_leaves(live)
            found = (self._with_distance(match, own) for match in islice(found, _MAX_COMPARED))
        else:
            return next(found, None)
        matches: list[MatchResult] = []
        for match in found:
            if match.distance == (0, 0):  # of 1,000 equal handshakes the others are not compared
                return match
            matches.append(match)
        return min(matches, key=lambda match: match.distance, default=None)

    def _fitting(self, live: MatchSubject, request: bool, level: int) -> Iterator[MatchResult]:
        """Yield the unused client events that fit at one level, in recorded order."""
        bare, held = live.http is None, self.index.with_placeholders
        table = self.index.by_key(level, bare=bare)
        rows = [
            ((index, True) for index in self._unused((level, bare, key), table.get(key, ())))
            for key in _keys(live, level)
        ]
        if held:
            unused = filterfalse(self.happened.__contains__, held)
            rows.append((index, False) for index in unused)
        for index, by_key in merge(*rows) if len(rows) > 1 else rows[0]:
            if not self._allowed(index, request) or not self._eligible(index, live, level):
                continue
            bindings = Bindings() if by_key else self._bind(index, live, level)
            if bindings is not None:
                yield MatchResult(self.plan.client_events[index], level, bindings)

    def _with_distance(self, match: MatchResult, own: Leaves) -> MatchResult:
        """Return a match with how far the client's own members of `_meta` differ."""
        distance = self.index.meta(match.event.index).distance(own, self.bindings)
        return msgspec.structs.replace(match, distance=distance)

    def _distance(self, event: ClientEvent, live: MatchSubject | None) -> tuple[int, int]:
        if live is None or live.handshake is None:
            return 0, 0
        recorded = self.index.subject(event)
        assert recorded is not None
        return handshake_distance(recorded, live), 0

    def _same(self, live: MatchSubject, level: int) -> dict[int, Bindings]:
        """Return the events that have the key of a live message, or can have it with its values."""
        table = self.index.by_key(level, bare=live.http is None)
        found = {index: Bindings() for key in _keys(live, level) for index in table.get(key, ())}
        for index in self.index.with_placeholders:
            bindings = self._bind(index, live, level)
            if bindings is not None:
                found[index] = bindings
        return {i: bindings for i, bindings in found.items() if self._eligible(i, live, level)}

    def _eligible(self, index: int, live: MatchSubject, level: int) -> bool:
        """Return whether a head may differ: a good request never gets the refusal of a bad one, nor
        a bad one the answer to a good one.
        """
        recorded = self.index.heads(index) if level >= FIRST_HEADER_LEVEL else None
        if recorded is None or live.http is None:
            return True
        return self._may_differ(index, recorded, live.http, live, level)

    def _may_differ(
        self, index: int, recorded: Fingerprint, head: Fingerprint, live: MatchSubject, level: int
    ) -> bool:
        if level < FIRST_HEADER_LEVEL:
            return True
        status = self.plan.client_events[index].status
        if self.index.header_verdicts.refused(live):
            return False
        if status is not None and status >= MIN_ERROR_STATUS:
            return False
        if self.index.stateless and (SESSION in recorded) is not (SESSION in head):
            return False
        return not contradict(recorded, head)

    def _bind(self, index: int, live: MatchSubject, level: int) -> Bindings | None:
        recorded = self.index.with_placeholders[index]
        found = _unify_subjects(recorded, live, level, self.bindings)
        if found and not self.index.may_bind(found.items() - self.bindings.items()):
            return None
        return found

    def _same_bytes(self, live: ClientMessage, level: int) -> Iterator[int]:
        """Match what is not JSON-RPC by its bytes."""
        frame = live.frame
        for event in self.plan.client_events.values():
            if event.frame.raw != frame.raw or type(event.frame.content) is not type(frame.content):
                continue
            if live.head is None or event.head is None or self._same_heads(event, live.head, level):
                yield event.index

    @staticmethod
    def _same_heads(event: ClientEvent, live: HttpRequest, level: int) -> bool:
        assert event.head is not None
        recorded, other = (
            at(fingerprint(head, with_path=False), level) for head in (event.head, live)
        )
        refused = event.status is not None and event.status >= MIN_ERROR_STATUS
        return recorded == other and not (refused and level >= FIRST_HEADER_LEVEL)

    def _allowed(self, index: int, request: bool) -> bool:
        event = self.plan.client_events[index]
        if index < self.first_place or (request and not event.calls):
            return False
        return not self.index.strict or not event.in_order or index == self.next_in_order()


def _keys(live: MatchSubject, level: int) -> tuple[Key, ...]:
    """Add the key of what was recorded without a head: a head then counts on neither side."""
    if live.http is None:
        return (live.key(level, bare=True),)
    key = live.key(level)
    return key, (*key[:2], ())


def _meta_leaves(subject: MatchSubject | None) -> Leaves:
    return Leaves.of(*(() if subject is None else subject.own_meta.items()))


def _header_differences(recorded: Fingerprint, live: Fingerprint) -> dict[str, Mismatch]:
    found = {str(one.place[0]): one for one in compare(recorded, live)}
    return {n: attrs.evolve(one, path=f"header.{n}", place=()) for n, one in found.items()}


def _unify_subjects(
    recorded: MatchSubject, live: MatchSubject, level: int, bindings: Bindings
) -> Bindings | None:
    if recorded.method != live.method:
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
    return unify(at(recorded.http, level), at(live.http, level), found)
