"""`Loosened`: a request without the places that the rules of the user select; and which recorded
requests are equal to a live one under these rules.

A `LooseIndex` belongs to a plan, like the `RequestIndex` that it stands on. What is left of a
request without the selected places is a key; requests of one key are compared pair by pair, because
equality under rules is not transitive. Used by `matcher` and by `semantic_diff.pairing`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import attrs
from msgspec import UNSET

from mcpmock.matching.kinds import are_reordered
from mcpmock.matching.match_rule import Label, MatchRules, Selected
from mcpmock.matching.paths import Place, spell_step
from mcpmock.protocol.messages import canonical
from mcpmock.protocol.mirrored_headers import is_mirror

from .header_profile import Fingerprint
from .request_key import BATCH, MatchSubject, may_be_absent, named, remove_empty
from .variables import Bindings, Leaves, Mismatch, compare, unify

FIXED_NAMES = ("tools/call", "prompts/get")
"""The methods whose name counts whatever a rule selects."""
_MAX_ITEMS_PAIRED = 200
"""Longer lists in any order have to be equal item by item."""


MayBind = Callable[[Iterable[tuple[str, str]]], bool]
"""Says whether placeholders may stand for these live values."""


def _may_always(_bindings: Iterable[tuple[str, str]]) -> bool:
    return True


@attrs.define
class Loosened:
    """A message as rules leave it."""

    labels: tuple[str | Label, ...]
    """The methods and names in it: they count whatever a rule selects."""
    rest: bytes
    """All that no rule selects, as a key."""
    selected: Selected
    values: dict[Place, Any]
    """The outermost places that may differ, and what is there."""
    _leaves: Leaves | None = None

    @property
    def leaves(self) -> Leaves:
        """What may differ, for measuring how far two messages are apart."""
        if self._leaves is None:
            self._leaves = Leaves.of(*self.values.items())
        return self._leaves


def loosen(rules: MatchRules, method: str, params: Any, *, whole: bool = False) -> Loosened:
    """Return a message of this method as rules leave it; of a batch (method BATCH, params
    `[[method, params], ...]`) each member. With `whole`, all of it may differ.
    """
    items = params if method == BATCH else [(method, params)]
    documents = [{"params": inner} for _, inner in items]
    labels: list[Label] = []
    selected: Selected = {}
    outer: set[Place] = set()
    for number, ((inner, its), document) in enumerate(zip(items, documents, strict=True)):
        at: Place = (number,) if method == BATCH else ()
        name = named(inner, its)
        labels.append((inner, name if inner in FIXED_NAMES else ""))
        for rule in rules.of(inner, (inner, name)):
            places = rule.query.places(document)
            if places:
                rules.applied.add(rule)
            for found in places:
                place = (*at, *found)
                selected[place] = (*selected.get(place, ()), rule)
            outer.update((*at, *place) for place in rule.query.outer_places(document))
    message: Any = documents if method == BATCH else documents[0]
    if whole or () in outer:
        return Loosened((method, *labels), b"", selected, {(): message})
    tree, values = _outermost(message, outer)
    return Loosened((method, *labels), canonical(_rest(message, tree)), selected, values)


def allowed_differences(
    recorded: Loosened, live: Loosened, bindings: Bindings, may_bind: MayBind = _may_always
) -> list[Mismatch] | None:
    """Return where two messages of one key differ; None if no rule allows one of these places."""
    found: list[Mismatch] = []
    for one in _differences(recorded, live, bindings, may_bind):
        if not one.allowed:
            return None
        found.append(one)
    return found


def all_differences(
    rules: MatchRules,
    recorded: MatchSubject,
    live: MatchSubject,
    level: int,
    bindings: Bindings,
    may_bind: MayBind = _may_always,
) -> tuple[list[Mismatch], list[Mismatch]]:
    """Return where the params of two requests differ at a match level: the innermost places at
    which no rule allows it, and those at which one does.
    """
    one, other = (
        loosen(rules, asked.method, asked.at(level), whole=True) for asked in (recorded, live)
    )
    denied: list[Mismatch] = []
    allowed: list[Mismatch] = []
    for found in _differences(one, other, bindings, may_bind):
        if not found.allowed:
            # As `compare` has it, in the params; of a batch in the list of methods and params.
            first, rest = found.place[:1], found.place[1:]
            place = (*first, 1, *rest[1:]) if live.method == BATCH and first else rest
            path = "$" + "".join(map(spell_step, place))
            denied.append(attrs.evolve(found, path=path, place=place))
        else:
            allowed.append(found)
    return denied, allowed


def _differences(
    recorded: Loosened, live: Loosened, bindings: Bindings, may_bind: MayBind
) -> Iterator[Mismatch]:
    pair = _Pair(recorded.selected, live.selected, bindings, may_bind)
    for place in dict.fromkeys((*recorded.values, *live.values)):
        values = recorded.values.get(place, UNSET), live.values.get(place, UNSET)
        yield from pair.differences(place, place, *values)


def bind_rest(
    recorded: Any, live: Any, found: Sequence[Mismatch], bindings: Bindings
) -> Bindings | None:
    """Return the bindings under which all that no rule allowed to differ in two documents is
    equal, and besides them what placeholders can stand for where it did.
    """
    for one in found:
        bindings = bind_leaves(one.recorded, one.live, bindings)
    if any(not one.place for one in found):
        return bindings
    rests = (
        _rest(document, _outermost(document, _present(document, (one.place for one in found)))[0])
        for document in (recorded, live)
    )
    one, other = rests
    return unify(one, other, bindings)


def mirrors(differing: Iterable[Mismatch], one: Fingerprint, other: Fingerprint) -> set[str]:
    """Return the header fields of two requests that repeat values which may differ."""
    differences = (found for place in differing for found in compare(place.recorded, place.live))
    pairs = {(_text(found.recorded), _text(found.live)) for found in differences}
    names = filter(is_mirror, {**one, **other})
    return {name for name in names if (one.get(name), other.get(name)) in pairs}


def _text(value: Any) -> str | None:
    """Return a value as a header field has it."""
    if value is UNSET:
        return None
    return value if isinstance(value, str) else canonical(value).decode("utf-8", "replace")


@attrs.define
class _Pair:
    """Two documents, and what their rules allow."""

    recorded: Selected
    live: Selected
    bindings: Bindings
    """Of placeholders, as far as the documents were compared."""
    may_bind: MayBind

    def differences(
        self, at: Place, live_at: Place, recorded: Any, live: Any
    ) -> Iterator[Mismatch]:
        """Yield where two values differ: the outermost places at which a rule allows it, and the
        innermost at which none does.
        """
        if self._is_equal(recorded, live):
            return
        if may_be_absent(at):
            if recorded is UNSET and isinstance(live, dict):
                recorded = {}
            elif live is UNSET and isinstance(recorded, dict):
                live = {}
        for rule in {
            **dict.fromkeys(self.recorded.get(at, ())),
            **dict.fromkeys(self.live.get(live_at, ())),
        }:
            in_any_order = rule.is_unordered and self._is_permuted(at, live_at, recorded, live)
            if in_any_order or rule.allows(recorded, live):
                yield Mismatch(_path(at), recorded, live, at, allowed=True)
                return
        inner = (
            one
            for step, *values in _steps(recorded, live)
            for one in self.differences((*at, step), (*live_at, step), *values)
        )
        if isinstance(recorded, dict) and isinstance(live, dict):
            yield from inner
        elif isinstance(recorded, list) and isinstance(live, list):
            # What is put in, left out or moved changes what stands at the places of others. The
            # requests of a batch are compared one by one: no rule is about their order.
            shifted = len(recorded) != len(live) or (at and are_reordered(recorded, live))
            found = [*inner] if shifted else inner
            if isinstance(found, list) and not all(one.allowed for one in found):
                found = [Mismatch("", recorded, live, at)]
            yield from found
        else:
            yield Mismatch("", recorded, live, at)

    def _is_equal(self, recorded: Any, live: Any) -> bool:
        """Return whether two values are equal with what is known of their placeholders."""
        found = unify(recorded, live, self.bindings)
        if found is None:
            return False
        if not self.may_bind(found.items() - self.bindings.items()):
            return False
        self.bindings = found
        return True

    def _is_allowed(self, at: Place, live_at: Place, recorded: Any, live: Any) -> bool:
        """Return whether two values are equal under the rules."""
        alone = _Pair(self.recorded, self.live, self.bindings, self.may_bind)
        return all(one.allowed for one in alone.differences(at, live_at, recorded, live))

    def _is_permuted(self, at: Place, live_at: Place, recorded: Any, live: Any) -> bool:
        """Return whether two lists have, under the rules, the same members, each as often."""
        if not isinstance(recorded, list) or not isinstance(live, list):
            return False
        if len(recorded) != len(live):
            return False
        if are_reordered(recorded, live):
            return True
        if len(recorded) > _MAX_ITEMS_PAIRED:
            return False
        fits = [
            [
                j
                for j, other in enumerate(live)
                if self._is_allowed((*at, i), (*live_at, j), one, other)
            ]
            for i, one in enumerate(recorded)
        ]
        taken: dict[int, int] = {}
        return all(_find_partner(i, fits, taken, set()) for i in range(len(fits)))


def _path(place: Place) -> str:
    """Return a place as JSONPath, short where it is inside the params."""
    return "$" + "".join(map(spell_step, place[1:] if place[:1] == ("params",) else place))


def _steps(recorded: Any, live: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """Yield the names or numbers in two objects or two lists, with what is there."""
    if isinstance(recorded, dict):
        for name in {**recorded, **live}:
            yield name, recorded.get(name, UNSET), live.get(name, UNSET)
    else:
        for n, (one, other) in enumerate(zip_longest(recorded, live, fillvalue=UNSET)):
            yield n, one, other


def _find_partner(i: int, fits: list[list[int]], taken: dict[int, int], tried: set[int]) -> bool:
    """Pair one more item, by letting those that are paired change their partners (Kuhn)."""
    for j in fits[i]:
        if j not in tried:
            tried.add(j)
            if j not in taken or _find_partner(taken[j], fits, taken, tried):
                taken[j] = i
                return True
    return False


@attrs.define
class LooseRequest:
    """A request with all that matching it under rules takes."""

    subject: MatchSubject
    rules: MatchRules
    level: int
    """The loosest match level that is in force."""
    keyed: Loosened = attrs.field(init=False)
    """It without what the rules select."""
    _whole: Loosened | None = None

    def __attrs_post_init__(self) -> None:
        self.keyed = self._loosen(whole=False)

    @property
    def whole(self) -> Loosened:
        """The same for a comparison with a request that holds placeholders, which no key finds."""
        if self._whole is None:
            self._whole = self._loosen(whole=True)
        return self._whole

    def _loosen(self, *, whole: bool) -> Loosened:
        subject = self.subject
        return loosen(self.rules, subject.method, subject.at(self.level), whole=whole)


@attrs.define
class LooseIndex:
    """The requests of a plan by what the rules leave of them."""

    rules: MatchRules
    level: int
    may_bind: MayBind = _may_always
    _rows: dict[Hashable, list[int]] = attrs.field(factory=dict)
    """By labels and rest; those that hold placeholders by labels."""
    _requests: dict[int, Loosened] = attrs.field(factory=dict)

    def request(self, subject: MatchSubject | None) -> LooseRequest | None:
        """Return a request as rules see it; None if they are not for it: handshakes, requests
        without a message, and what is nested too deeply to be decoded.
        """
        if subject is None or subject.handshake is not None or isinstance(subject.params, bytes):
            return None
        try:
            return LooseRequest(subject, self.rules, self.level)
        except RecursionError:
            return None

    def add(self, index: int, subject: MatchSubject | None, *, holds_placeholder: bool) -> None:
        """Add a recorded request."""
        request = self.request(subject)
        if request is None:
            return
        loosened = request.whole if holds_placeholder else request.keyed
        key = loosened.labels if holds_placeholder else (loosened.labels, loosened.rest)
        self._rows.setdefault(key, []).append(index)
        self._requests[index] = loosened

    def distance(self, index: int, live: LooseRequest, bindings: Bindings) -> tuple[int, int]:
        """Return how far a recorded request is from a live one (`Leaves.distance`)."""
        recorded = self._requests[index]
        one = live.whole if () in recorded.values else live.keyed
        return recorded.leaves.distance(one.leaves, bindings)

    def rows(self, live: LooseRequest) -> list[tuple[Hashable, list[int]]]:
        """Return the recorded requests that may be equal under the rules, in rows by their key."""
        keys = (live.keyed.labels, live.keyed.rest), live.keyed.labels
        return [(key, self._rows[key]) for key in keys if key in self._rows]

    def compare(
        self, index: int, live: LooseRequest, bindings: Bindings
    ) -> tuple[list[Mismatch], Bindings] | None:
        """Return what the rules allow to differ between a recorded request and a live one, and the
        values of its placeholders; None if they are not equal under the rules.
        """
        recorded = self._requests[index]
        is_whole = () in recorded.values
        one = live.whole if is_whole else live.keyed
        try:
            found = allowed_differences(recorded, one, bindings, self.may_bind)
            if found and is_whole:
                bound = bind_rest(recorded.values[()], one.values[()], found, bindings)
            else:
                bound = bindings
        except RecursionError:
            return None
        return (found, bound) if found and bound is not None else None


def bind_leaves(recorded: Any, live: Any, bindings: Bindings) -> Bindings:
    """Return the bindings of the placeholders in texts that stand in the same places."""
    if isinstance(recorded, str):
        return unify(recorded, live, bindings) or bindings
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(recorded, dict) and isinstance(live, dict):
        pairs = ((recorded[name], live[name]) for name in recorded if name in live)
    elif isinstance(recorded, list) and isinstance(live, list):
        pairs = zip(recorded, live, strict=False)
    for one, other in pairs:
        bindings = bind_leaves(one, other, bindings)
    return bindings


def _present(document: Any, places: Iterable[Place]) -> Iterator[Place]:
    for place in places:
        value = document
        try:
            for step in place:
                value = value[step]
        except (KeyError, IndexError):
            continue
        yield place


_Tree = dict[str | int, "_Tree | None"]
"""Places by their steps; None where one ends."""


def _outermost(document: Any, places: Iterable[Place]) -> tuple[_Tree, dict[Place, Any]]:
    """Return those of these places that lie in no other of them, as a tree, and what is there."""
    tree: _Tree = {}
    values: dict[Place, Any] = {}
    for place in sorted(places, key=len):
        branch: _Tree | None = tree
        value = document
        for step in place[:-1]:
            value = value[step]
            branch = branch.setdefault(step, {}) if branch is not None else None
        if branch is not None:
            branch[place[-1]] = None
            values[place] = value[place[-1]]
    return tree, values


def _rest(document: Any, tree: _Tree) -> Any:
    """Return a message, or the members of a batch, without what lies in these places, and without
    what is empty then.
    """
    if isinstance(document, list):
        inner = [(one, tree.get(number, {})) for number, one in enumerate(document)]
        return [_rest(one, of_it) for one, of_it in inner if of_it is not None]
    rest = _without(document, tree)
    params = rest.get("params")
    if isinstance(params, dict) and params is not document["params"]:
        remove_empty(params)
    return rest


def _without(document: Any, tree: _Tree) -> Any:
    left = document.copy()
    for step in sorted(tree, reverse=True):  # of a list the last first: the others move
        inner = tree[step]
        if inner is None:
            del left[step]
        else:
            left[step] = _without(left[step], inner)
    return left
