"""Which recorded client event a live message stands for, and, where none does, how near the nearest
come.

A `Matcher` belongs to one live session and one episode: it knows which recorded events are used up
(the nth call gets the nth answer) and what the placeholders of redacted values are bound to. `keys`
says what makes two requests the same, `verdicts` which heads may differ, `score` what the client
events are; `playback.player` asks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

import attrs

from mcpmock.playback.plan.plan import ClientEvent, ReplayPlan
from mcpmock.protocol.messages import Frame, HttpRequest, Opaque, Request, Response, StreamEnd
from mcpmock.redaction.redactor import PLACEHOLDER

from .header_policy import REFUSED, HeaderPolicy, contradict
from .header_profile import (
    HEADER_TIER,
    LAST_EVENT,
    SESSION,
    SESSION_PARAMETER,
    fingerprint,
    is_mirror,
    session_parameter,
)
from .request_key import TIERS, Asked, Key, asked_of, strangeness
from .variables import Bindings, Mismatch, compare, unify

ELSEWHERE = "in another recorded session"
STUBBED = 0
"""The number of what was never recorded: somebody wrote it by hand."""


@attrs.frozen
class MatchResult:
    """A recorded client event that fits. `tier` is what had to be forgiven (see keys.TIERS),
    `strangeness` how far two handshakes are apart.
    """

    event: ClientEvent
    tier: int = 0
    bindings: Bindings = attrs.field(factory=dict)
    strangeness: int = 0


@attrs.frozen
class NearMiss:
    """A recorded request (or a STUBBED one) that was not used, `n` in its take, and why."""

    n: int
    why: str
    differences: tuple[Mismatch, ...] = ()


@attrs.frozen
class Miss:
    """A live request that nothing recorded fits, and the nearest of what there is, the nearest
    first.
    """

    method: str
    near: tuple[NearMiss, ...]


@attrs.define
class _Alike:
    """The client events of one key, and the place of the first that may be unused."""

    indices: list[int] = attrs.field(factory=list)
    first: int = 0


@attrs.define
class Matcher:
    """Finds and uses up the client events of one score. `strict` takes only the very next one;
    `stateless` exchanges belong to no session, and one that names a session is another.
    """

    score: ReplayPlan
    strict: bool = False
    tiers: int = len(TIERS)
    stateless: bool = False
    bindings: Bindings = attrs.field(factory=dict)
    used: set[int] = attrs.field(factory=set)
    since: int = 0
    """What was recorded before this client event is over."""
    _asked: dict[int, Asked | None] = attrs.field(factory=dict)
    _by_key: dict[tuple[int, bool], dict[Key, _Alike]] = attrs.field(factory=dict)
    _variable: list[int] | None = None
    _verdicts: HeaderPolicy | None = None
    _order: deque[int] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._order = deque(i for i, event in self.score.client.items() if event.in_order)

    def find(
        self,
        frame: Frame,
        head: HttpRequest | None = None,
        *,
        tier: int | None = None,
        asked: Asked | None = None,
    ) -> MatchResult | None:
        """The first unused client event that a live frame stands for, or a live request by its body
        and its head; at the strictest tier that has one, or at this one. `asked` is what
        `keys.asked_of` says of it, if that is known.
        """
        content = frame.content
        tiers = self.tiers_for(frame, head) if tier is None else (tier,)
        if isinstance(content, Opaque | StreamEnd | Response):
            found = (self._find_alike(frame, head, tier) for tier in tiers)
        else:
            live = asked or self._place(frame, head)
            if live is None:
                return None
            request = isinstance(content, Request)
            found = (self._find_asked(live, request, tier) for tier in tiers)
        return next((match for match in found if match is not None), None)

    def repeats(
        self, frame: Frame, head: HttpRequest | None = None, tier: int | None = None
    ) -> list[MatchResult]:
        """All client events that a live one is the same as, used or not, at the strictest tier that
        has any, or at this one; to a request those with requests only.
        """
        live = self._place(frame, head)
        tiers = self.tiers_for(frame, head) if tier is None else (tier,)
        for tier in tiers:
            if live is None:
                found = {index: Bindings() for index in self._alike(frame, head, tier)}
            else:
                found = self._same(live, tier)
            events = [(self.score.client[index], found[index]) for index in sorted(found)]
            if isinstance(frame.content, Request):
                events = [(event, bindings) for event, bindings in events if event.calls]
            matches = [
                MatchResult(event, tier, bindings, self._strangeness(event, live))
                for event, bindings in events
            ]
            if matches:
                nearest = min(match.strangeness for match in matches)
                return [match for match in matches if match.strangeness == nearest]
        return []

    def take(self, match: MatchResult) -> None:
        """Uses it up."""
        self.used.add(match.event.index)
        self.bindings |= match.bindings

    def near(self, live: Asked, most: int = 3) -> list[NearMiss]:
        """The recorded requests that come nearest to one that nothing fits."""
        found = []
        for index, event in self.score.client.items():
            recorded = self._asked_of(event)
            if not event.calls or recorded is None or recorded.method != live.method:
                continue
            differences = tuple(compare(recorded.params, live.params))
            if recorded.http is not None and live.http is not None:
                differences += tuple(compare(recorded.http, live.http, "header"))
            why = "different" if differences else "already used"
            if not differences and index not in self.used:
                why = "out of order"
            n = self.score.episode.events[index].n
            found.append(NearMiss(n, why, differences))
        return sorted(found, key=lambda near: (len(near.differences), near.n))[:most]

    def tiers_for(self, frame: Frame, head: HttpRequest | None) -> range:
        headless = head is None and not isinstance(frame.fact, HttpRequest)
        return range(min(self.tiers, HEADER_TIER) if headless else self.tiers)

    def _find_asked(self, live: Asked, request: bool, tier: int) -> MatchResult | None:
        if live.greeting is not None:
            return self._find_greeting(live, request, tier)
        exact: int | None = None
        for key in _keys(live, tier):
            first = self._first_unused(live, tier, key)
            if first is not None and (exact is None or first < exact):
                exact = first
        if exact is not None and not self._allowed(exact, request):
            exact = None
        for index in self._variables():
            if exact is not None and index > exact:
                break
            if index in self.used or not self._eligible(index, live, tier):
                continue
            bindings = self._bind(index, live, tier)
            if bindings is not None and self._allowed(index, request):
                return MatchResult(self.score.client[index], tier, bindings)
        return None if exact is None else MatchResult(self.score.client[exact], tier)

    def _find_greeting(self, live: Asked, request: bool, tier: int) -> MatchResult | None:
        """The handshake that comes nearest, of those the first."""
        indices = sorted(self._same(live, tier))
        events = [self.score.client[i] for i in indices if i not in self.used]
        matches = [
            MatchResult(event, tier, strangeness=self._strangeness(event, live))
            for event in events
            if self._allowed(event.index, request)
        ]
        return min(matches, key=lambda match: match.strangeness, default=None)

    def _strangeness(self, event: ClientEvent, live: Asked | None) -> int:
        recorded = self._asked_of(event)
        return 0 if recorded is None or live is None else strangeness(recorded, live)

    def _same(self, live: Asked, tier: int) -> dict[int, Bindings]:
        """All that have the key of a live message, or can have it with its values."""
        table = self._index(tier, bare=live.http is None)
        alike = (table[key] for key in _keys(live, tier) if key in table)
        indices = (index for one in alike for index in one.indices)
        found = {index: Bindings() for index in indices}
        bound = {index: self._bind(index, live, tier) for index in self._variables()}
        found |= {i: bindings for i, bindings in bound.items() if bindings is not None}
        return {i: bindings for i, bindings in found.items() if self._eligible(i, live, tier)}

    def _first_unused(self, live: Asked, tier: int, key: Key) -> int | None:
        """Used ones at the front are never looked at again: 100,000 equal calls cost no more than
        others.
        """
        alike = self._index(tier, bare=live.http is None).get(key)
        if alike is None:
            return None
        used, indices = self.used, alike.indices
        while alike.first < len(indices) and (
            indices[alike.first] in used or indices[alike.first] < self.since
        ):
            alike.first += 1
        for index in islice(indices, alike.first, None):
            if index not in used and (tier < HEADER_TIER or self._eligible(index, live, tier)):
                return index
        return None

    def _eligible(self, index: int, live: Asked, tier: int) -> bool:
        """Whether a head may differ: a good request never gets the refusal of a bad one, nor a bad
        one the answer to a good one.
        """
        recorded = None if tier < HEADER_TIER else self._asked_of(self.score.client[index])
        if recorded is None or recorded.http is None or live.http is None:
            return True
        if self._verdicts is None:
            self._verdicts = HeaderPolicy.of(
                (asked, event.status)
                for event in self.score.client.values()
                if (asked := self._asked_of(event)) is not None
            )
        status = self.score.client[index].status
        if self._verdicts.refused(live) or (status is not None and status >= REFUSED):
            return False
        if self.stateless and (SESSION in recorded.http) is not (SESSION in live.http):
            return False
        return not contradict(recorded.http, live.http)

    def _bind(self, index: int, live: Asked, tier: int) -> Bindings | None:
        recorded = self._asked_of(self.score.client[index])
        return None if recorded is None else _unify_asked(recorded, live, tier, self.bindings)

    def _find_alike(self, frame: Frame, head: HttpRequest | None, tier: int) -> MatchResult | None:
        """What is no JSON-RPC fits what has the very same bytes."""
        for index in self._alike(frame, head, tier):
            if index not in self.used and self._allowed(index, False):
                return MatchResult(self.score.client[index], tier)
        return None

    def _alike(self, frame: Frame, head: HttpRequest | None, tier: int) -> Iterator[int]:
        live = None if head is None else Asked("", None, fingerprint(head, with_path=False))
        for index, event in self.score.client.items():
            if type(event.frame.content) is not type(frame.content) or event.frame.raw != frame.raw:
                continue
            if live is None or event.head is None:
                yield index
                continue
            recorded = Asked("", None, fingerprint(event.head, with_path=False))
            refused = event.status is not None and event.status >= REFUSED
            if recorded.http_at(tier) == live.http_at(tier) and not (
                refused and tier >= HEADER_TIER
            ):
                yield index

    def _allowed(self, index: int, request: bool) -> bool:
        event = self.score.client[index]
        if index < self.since or (request and not event.calls):
            return False
        return not self.strict or not event.in_order or index == self.next()

    def next(self) -> int | None:
        """The first client event not used yet: the only one that strict order takes."""
        while self._order and self._order[0] in self.used:
            self._order.popleft()
        return self._order[0] if self._order else None

    def _index(self, tier: int, *, bare: bool) -> dict[Key, _Alike]:
        """The client events by key; with `bare` by that of their message alone."""
        if (tier, bare) not in self._by_key:
            table: dict[Key, _Alike] = {}
            for index, event in self.score.client.items():
                recorded = self._asked_of(event)
                if recorded is not None:
                    table.setdefault(recorded.key(tier, bare=bare), _Alike()).indices.append(index)
            self._by_key[tier, bare] = table
        return self._by_key[tier, bare]

    def _variables(self) -> list[int]:
        """The client events that hold placeholders: no key finds those."""
        if self._variable is None:
            self._variable = [
                index for index, event in self.score.client.items() if self._is_variable(event)
            ]
        return self._variable

    def _is_variable(self, event: ClientEvent) -> bool:
        if PLACEHOLDER in event.frame.raw:
            return True
        asked = None if event.head is None else self._asked_of(event)
        fields = {} if asked is None or asked.http is None else asked.http
        return any(PLACEHOLDER.decode() in value for value in fields.values())

    def _asked_of(self, event: ClientEvent) -> Asked | None:
        if event.index not in self._asked:
            self._asked[event.index] = self._place(event.frame, event.head)
        return self._asked[event.index]

    def _place(self, frame: Frame, head: HttpRequest | None) -> Asked | None:
        """What is asked. Of an event by which a client wants to take up a stream again, the stream
        counts: where it lost its connection was chance. What belongs to no session and names one
        names a wrong one, and servers tell those apart.
        """
        asked = asked_of(frame, head)
        if asked is None or asked.http is None or head is None:
            return asked
        places = {}
        if LAST_EVENT in asked.http:
            stream = self.score.streams.get(head.header(LAST_EVENT) or "", "unknown")
            places[LAST_EVENT] = str(stream)
        if self.stateless and SESSION_PARAMETER in asked.http:
            places[SESSION_PARAMETER] = session_parameter(head) or ""
        return attrs.evolve(asked, http={**asked.http, **places}) if places else asked


def _keys(live: Asked, tier: int) -> tuple[Key, ...]:
    """Its own key; and that of what was recorded without a head, which then counts on neither
    side.
    """
    if live.http is None:
        return (live.key(tier, bare=True),)
    key = live.key(tier)
    return key, (*key[:2], ())


def _unify_asked(recorded: Asked, live: Asked, tier: int, bindings: Bindings) -> Bindings | None:
    if recorded.method != live.method or isinstance(recorded.params, bytes):
        return None
    found = unify(recorded.at(tier), live.at(tier), bindings)
    if found is None or recorded.http is None or live.http is None:
        return found
    mirrors = [name for name in recorded.http if is_mirror(name) and name in live.http]
    for name in mirrors:  # what they repeat of the body agrees with it, at every tier
        bound = unify(recorded.http[name], live.http[name], found)
        if bound is None:
            return None
        found = bound
    return unify(recorded.http_at(tier), live.http_at(tier), found)
