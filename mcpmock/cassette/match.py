"""Which recorded client event a live message stands for, and, where none does, how near the nearest
come.

A `Matcher` belongs to one live session and one episode: it knows which recorded events are used up
(the nth call gets the nth answer) and what the placeholders of redacted values are bound to. `keys`
says what makes two requests the same, `score` what the client events are; `pipeline.player` asks.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any

import attrs

from mcpmock.protocol.messages import Frame, Opaque, Request, Response, StreamEnd

from .keys import TIERS, Asked, asked_of
from .redact import HOLE, PLACEHOLDER
from .score import ClientEvent, Score

_HOLE = re.compile(HOLE.pattern.decode())
_HOLE_OR_TEXT = re.compile(f"{_HOLE.pattern}|(?:(?!{_HOLE.pattern}).)+", re.S)
Bindings = dict[str, str]
ELSEWHERE = "in another recorded session"


@attrs.frozen
class Match:
    """A recorded client event that fits. `tier` is what had to be forgiven (see keys.TIERS)."""

    event: ClientEvent
    tier: int = 0
    bindings: Bindings = attrs.field(factory=dict)


@attrs.frozen
class Difference:
    """Where a recorded and a live value differ, as JSONPath; None stands for "not there"."""

    path: str
    recorded: Any
    live: Any


@attrs.frozen
class NearMiss:
    """A recorded request that was not used, `n` in its take, and why."""

    n: int
    why: str
    differences: tuple[Difference, ...] = ()


@attrs.frozen
class Miss:
    """A live request that nothing recorded fits, and the nearest of what there is, the nearest
    first.
    """

    method: str
    near: tuple[NearMiss, ...]


@attrs.define
class Matcher:
    """Finds and uses up the client events of one score. `strict` takes only the very next one."""

    score: Score
    strict: bool = False
    tiers: int = len(TIERS)
    bindings: Bindings = attrs.field(factory=dict)
    used: set[int] = attrs.field(factory=set)
    _asked: dict[int, Asked | None] = attrs.field(factory=dict)
    _by_key: dict[int, dict[tuple[str, bytes], list[int]]] = attrs.field(factory=dict)
    _heads: dict[tuple[int, tuple[str, bytes]], int] = attrs.field(factory=dict)
    _variable: list[int] | None = None
    _order: deque[int] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._order = deque(self.score.client)

    def find(self, frame: Frame) -> Match | None:
        """The first unused client event that a live frame stands for."""
        content = frame.content
        if isinstance(content, Opaque | StreamEnd | Response):
            return self._find_alike(frame)
        live = asked_of(frame)
        if live is None:
            return None
        request = isinstance(content, Request)
        found = (self._find_asked(live, request, tier) for tier in range(self.tiers))
        return next((match for match in found if match is not None), None)

    def repeats(self, frame: Frame) -> list[Match]:
        """All requests that a live one is the same as, used or not, at the strictest tier that has
        any.
        """
        live = asked_of(frame)
        if live is None:
            return []
        for tier in range(self.tiers):
            same_key = {index: Bindings() for index in self._index(tier).get(live.key(tier), ())}
            bound = {index: self._bind(index, live, tier) for index in self._variables()}
            found = same_key | {
                i: bindings for i, bindings in bound.items() if bindings is not None
            }
            events = [(self.score.client[index], found[index]) for index in sorted(found)]
            if any(event.calls for event, _ in events):
                return [Match(event, tier, bindings) for event, bindings in events if event.calls]
        return []

    def take(self, match: Match) -> None:
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
            why = "different" if differences else "already used"
            if not differences and index not in self.used:
                why = "out of order"
            n = self.score.episode.events[index].n
            found.append(NearMiss(n, why, differences))
        return sorted(found, key=lambda near: (len(near.differences), near.n))[:most]

    def _find_asked(self, live: Asked, request: bool, tier: int) -> Match | None:
        exact = self._first_unused(tier, live.key(tier))
        if exact is not None and not self._allowed(exact, request):
            exact = None
        for index in self._variables():
            if exact is not None and index > exact:
                break
            if index in self.used:
                continue
            bindings = self._bind(index, live, tier)
            if bindings is not None and self._allowed(index, request):
                return Match(self.score.client[index], tier, bindings)
        return None if exact is None else Match(self.score.client[exact], tier)

    def _first_unused(self, tier: int, key: tuple[str, bytes]) -> int | None:
        """Used ones at the front are never looked at again: 100,000 equal calls cost no more than
        others.
        """
        indices = self._index(tier).get(key, [])
        head = self._heads.get((tier, key), 0)
        while head < len(indices) and indices[head] in self.used:
            head += 1
        self._heads[tier, key] = head
        return indices[head] if head < len(indices) else None

    def _bind(self, index: int, live: Asked, tier: int) -> Bindings | None:
        recorded = self._asked_of(self.score.client[index])
        return None if recorded is None else _unify_asked(recorded, live, tier, self.bindings)

    def _find_alike(self, frame: Frame) -> Match | None:
        """What is no JSON-RPC fits what has the very same bytes."""
        for index, event in self.score.client.items():
            same = type(event.frame.content) is type(frame.content)
            alike = same and event.frame.raw == frame.raw and index not in self.used
            if alike and self._allowed(index, False):
                return Match(event)
        return None

    def _allowed(self, index: int, request: bool) -> bool:
        if request and not self.score.client[index].calls:
            return False
        return not self.strict or index == self.next()

    def next(self) -> int | None:
        """The first client event not used yet: the only one that strict order takes."""
        while self._order and self._order[0] in self.used:
            self._order.popleft()
        return self._order[0] if self._order else None

    def _index(self, tier: int) -> dict[tuple[str, bytes], list[int]]:
        if tier not in self._by_key:
            table: dict[tuple[str, bytes], list[int]] = {}
            for index, event in self.score.client.items():
                recorded = self._asked_of(event)
                if recorded is not None:
                    table.setdefault(recorded.key(tier), []).append(index)
            self._by_key[tier] = table
        return self._by_key[tier]

    def _variables(self) -> list[int]:
        """The client events that hold placeholders: no key finds those."""
        if self._variable is None:
            self._variable = [
                index
                for index, event in self.score.client.items()
                if PLACEHOLDER in event.frame.raw
            ]
        return self._variable

    def _asked_of(self, event: ClientEvent) -> Asked | None:
        if event.index not in self._asked:
            self._asked[event.index] = asked_of(event.frame)
        return self._asked[event.index]


def compare(recorded: Any, live: Any, path: str = "$") -> list[Difference]:
    """Where two JSON values differ, innermost places first named. At most some dozens are worth
    reading.
    """
    if isinstance(recorded, dict) and isinstance(live, dict):
        found = []
        for name in [*recorded, *(name for name in live if name not in recorded)]:
            at, one, other = f"{path}.{name}", recorded.get(name), live.get(name)
            if name in recorded and name in live:
                found += compare(one, other, at)
            else:
                found.append(Difference(at, one, other))
        return found
    if isinstance(recorded, list) and isinstance(live, list) and len(recorded) == len(live):
        pairs = enumerate(zip(recorded, live, strict=True))
        return [d for place, (one, other) in pairs for d in compare(one, other, f"{path}[{place}]")]
    return [] if same(recorded, live) else [Difference(path, recorded, live)]


def same(one: Any, other: Any) -> bool:
    """JSON equality: Python's own takes True for 1."""
    return bool(one == other) and isinstance(one, bool) is isinstance(other, bool)


def unify(recorded: Any, live: Any, bindings: Bindings) -> Bindings | None:
    """The bindings under which a recorded value with placeholders is the live one; None if there
    are none.

    A placeholder takes the first live value it meets, and the same one ever after.
    """
    if isinstance(recorded, str) and isinstance(live, str):
        return _unify_text(recorded, live, bindings)
    if isinstance(recorded, dict) and isinstance(live, dict):
        if recorded.keys() != live.keys():
            return None
        pairs = [(value, live[name]) for name, value in recorded.items()]
    elif isinstance(recorded, list) and isinstance(live, list):
        if len(recorded) != len(live):
            return None
        pairs = list(zip(recorded, live, strict=True))
    else:
        return bindings if same(recorded, live) else None
    for one, other in pairs:
        found = unify(one, other, bindings)
        if found is None:
            return None
        bindings = found
    return bindings


def _unify_text(recorded: str, live: str, bindings: Bindings) -> Bindings | None:
    """By searching, not by an expression: lazy groups side by side take exponential time on hostile
    text.
    """
    parts = [bindings.get(part, part) for part in _HOLE_OR_TEXT.findall(recorded)]
    holes = [part for part in parts if _HOLE.fullmatch(part)]
    if len(set(holes)) < 2:
        return _unify_one(parts, holes, live, bindings)
    found = dict(bindings)
    at, hole, literal = 0, "", ""
    for part in [*parts, None]:
        if part is not None and (part in found or part not in holes):
            literal += found.get(part, part)
            continue
        end = _find(live, literal, at, first=not hole, last=part is None)
        if end is None or part == hole:
            return None
        if hole:
            found[hole] = live[at:end]
        at, hole, literal = end + len(literal), part or "", ""
    return found if at == len(live) else None


def _unify_one(
    parts: list[str], holes: list[str], live: str, bindings: Bindings
) -> Bindings | None:
    """One unknown, however often: its length follows from the rest."""
    if not holes:
        return bindings if "".join(parts) == live else None
    known = sum(len(part) for part in parts if part != holes[0])
    length, odd = divmod(len(live) - known, len(holes))
    start = sum(len(part) for part in parts[: parts.index(holes[0])])
    value = live[start : start + max(length, 0)]
    whole = "".join(value if part == holes[0] else part for part in parts)
    return {**bindings, holes[0]: value} if not odd and whole == live else None


def _find(live: str, literal: str, at: int, *, first: bool, last: bool) -> int | None:
    """Where a known text stands: at the beginning, at the end, or at the first place from
    `at` on.
    """
    if first:
        return at if live.startswith(literal, at) else None
    end = len(live) - len(literal) if last else live.find(literal, at)
    return end if end >= at and live.startswith(literal, end) else None


def _unify_asked(recorded: Asked, live: Asked, tier: int, bindings: Bindings) -> Bindings | None:
    if recorded.method != live.method or isinstance(recorded.params, bytes):
        return None
    return unify(recorded.at(tier), live.at(tier), bindings)
