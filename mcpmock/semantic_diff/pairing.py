"""Pairs the conversations and the calls of two recordings.

Calls are paired by method and parameters, not by position: the nth of equal ones with the nth; the
rest with the most similar. `conversations` reads what is paired; `compare` compares the pairs.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from operator import attrgetter
from typing import TypeVar

import attrs

from mcpmock.matching.match_rule import MatchRules
from mcpmock.playback.loosened import Loosened, allowed_differences, loosen
from mcpmock.playback.variables import compare

from .conversations import RecordedConversation
from .message import DiffMessage
from .normalize import Namings

_T = TypeVar("_T")
Pairs = list[tuple[_T, _T]]
_MAX_CALLS_BY_SIMILARITY = 40
"""On each side. Each is compared with each, so longer rows are paired in order."""
_MAX_CALLS_ALIGNED = 200
_MAX_CALLS_COMPARED = 100
"""How many calls that rules may make equal are compared with one."""
_NO_RULES = MatchRules()
_MAX_CONVERSATIONS_OF_A_CALL = 50
"""A call that more conversations make does not distinguish them."""


@attrs.define(eq=False)
class ConversationPair:
    """Two paired conversations and their calls; None where there is no counterpart. Both are None
    in the pair of the calls that moved to another conversation.
    """

    old: RecordedConversation | None
    new: RecordedConversation | None
    calls: Pairs[DiffMessage] = attrs.field(factory=list)
    old_calls: list[DiffMessage] = attrs.field(factory=list)
    """The calls without a counterpart."""
    new_calls: list[DiffMessage] = attrs.field(factory=list)
    namings: Namings = attrs.field(factory=Namings)

    @property
    def alike(self) -> bool:
        """Whether both were recorded over the same transport."""
        one, other = self.old, self.new
        return one is None or other is None or one.transport == other.transport


@attrs.frozen
class Paired:
    """The pairs, and the rest of each side, in order."""

    pairs: Pairs[DiffMessage]
    old: list[DiffMessage]
    new: list[DiffMessage]


def pair_all_calls(
    old: Sequence[RecordedConversation],
    new: Sequence[RecordedConversation],
    rules: MatchRules = _NO_RULES,
) -> list[ConversationPair]:
    """Pair the calls of both sides. A client may split its work into other sessions, so a call
    without an equal in the paired conversation is looked for in all others before it is paired with
    a similar one. Calls that differ only where `rules` allow it count as equal.
    """
    pairs = []
    for one, other in pair_conversations(old, new):
        ours, theirs = (side.calls if side else [] for side in (one, other))
        found = pair_calls(ours, theirs, rules, exactly=True)
        pairs.append(ConversationPair(one, other, found.pairs, found.old, found.new))
    pairs.append(_moved_calls(pairs, rules))
    for pair in pairs:
        found = pair_calls(pair.old_calls, pair.new_calls)
        pair.calls = sorted(pair.calls + found.pairs, key=lambda calls: calls[0].rank)
        pair.old_calls, pair.new_calls = found.old, found.new
    return pairs


def _moved_calls(pairs: list[ConversationPair], rules: MatchRules) -> ConversationPair:
    """Pair equal calls across conversations, and remove them from theirs."""
    found = pair_calls(
        [call for pair in pairs for call in pair.old_calls],
        [call for pair in pairs for call in pair.new_calls],
        rules,
        exactly=True,
    )
    moved = {id(call) for calls in found.pairs for call in calls}
    for pair in pairs:
        pair.old_calls = [call for call in pair.old_calls if id(call) not in moved]
        pair.new_calls = [call for call in pair.new_calls if id(call) not in moved]
    return ConversationPair(None, None, found.pairs)


def pair_conversations(
    old: Sequence[RecordedConversation], new: Sequence[RecordedConversation]
) -> list[tuple[RecordedConversation | None, RecordedConversation | None]]:
    """Pair those with the same calls first, then those with the most calls in common, then the rest
    in order.
    """
    pairs, old_rest, new_rest = by_key(old, new, lambda one: one.keys)
    found: list[tuple[RecordedConversation | None, RecordedConversation | None]] = list(pairs)
    nearest, old_rest, new_rest = _most_in_common(old_rest, new_rest)
    found += nearest
    both = min(len(old_rest), len(new_rest))
    found += zip(old_rest[:both], new_rest[:both], strict=True)
    found += [(one, None) for one in old_rest[both:]]
    found += [(None, one) for one in new_rest[both:]]
    places = {id(one): place for place, one in enumerate((*old, *new))}
    return sorted(found, key=lambda pair: places[id(pair[0] or pair[1])])


def pair_calls(
    old: Sequence[DiffMessage],
    new: Sequence[DiffMessage],
    rules: MatchRules = _NO_RULES,
    *,
    exactly: bool = False,
) -> Paired:
    """Pair equal calls, then those that are equal but for what is the client's own in `_meta`, then
    those that are equal under the rules; unless `exactly`, also the most
    similar ones of the same tool, prompt or resource.
    """
    pairs, old_rest, new_rest = by_key(old, new, attrgetter("key"), _answer_key)
    if old_rest and new_rest:
        bare_key = attrgetter("bare_key")
        nearly, old_rest, new_rest = by_key(old_rest, new_rest, bare_key, _answer_key)
        pairs += nearly
    if rules and old_rest and new_rest:
        loosened, old_rest, new_rest = _by_rules(old_rest, new_rest, rules)
        pairs += loosened
    if not exactly:
        nearest, old_rest, new_rest = _by_label(old_rest, new_rest)
        pairs += nearest
    return Paired(sorted(pairs, key=lambda pair: pair[0].rank), old_rest, new_rest)


def by_key(
    old: Sequence[_T],
    new: Sequence[_T],
    key: Callable[[_T], Hashable],
    tie: Callable[[_T], Hashable] | None = None,
) -> tuple[Pairs[_T], list[_T], list[_T]]:
    """Pair the nth with the nth of the same key; returns the pairs and the rest of each side. Where
    one side has more of a key, those with the same `tie` are paired first.
    """
    # Numbers in arrays, because there may be a million of each side.
    numbers: dict[Hashable, int] = {}
    ours, theirs = (
        array("l", (numbers.setdefault(key(one), len(numbers)) for one in side))
        for side in (old, new)
    )
    unpaired = len(new)
    first, following = (
        array("l", [unpaired]) * len(numbers),
        array("l", [unpaired]) * (unpaired + 1),
    )
    for place in reversed(range(unpaired)):
        following[place], first[theirs[place]] = first[theirs[place]], place
    partners = array("l")
    for number in ours:
        partners.append(first[number])
        first[number] = following[first[number]]
    if tie is not None:
        left = {number for number, place in enumerate(first) if place != unpaired}
        left |= {number for number, place in zip(ours, partners, strict=True) if place == unpaired}
        for mine, others in _rows(left, ours, theirs):
            row, other_row = [tie(old[i]) for i in mine], [tie(new[j]) for j in others]
            aligned = _aligned(row, other_row)
            for nth, place in enumerate(mine):
                partners[place] = others[aligned[nth]] if nth in aligned else unpaired
    taken = bytearray(unpaired + 1)
    for place in partners:
        taken[place] = True
    return (
        [(old[i], new[j]) for i, j in enumerate(partners) if j != unpaired],
        [one for one, place in zip(old, partners, strict=True) if place == unpaired],
        [one for one, paired in zip(new, taken, strict=False) if not paired],
    )


def _rows(
    numbers: Collection[int], old: array[int], new: array[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the places of each of these numbers that both sides have, if they are few on each."""
    rows: dict[int, tuple[list[int], list[int]]] = {number: ([], []) for number in numbers}
    for side, its in enumerate((old, new)):
        for place, number in enumerate(its):
            if number in rows:
                rows[number][side].append(place)
    for mine, others in rows.values():
        if mine and others and max(len(mine), len(others)) <= _MAX_CALLS_ALIGNED:
            yield mine, others


def _aligned(old: list[Hashable], new: list[Hashable]) -> dict[int, int]:
    """Pair in rows of unequal length the equal ones in order, then the nth with the nth."""
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    pairs = {block.a + i: block.b + i for block in blocks for i in range(block.size)}
    taken = {*pairs.values()}
    rest = [place for place in range(len(old)) if place not in pairs]
    other_rest = [place for place in range(len(new)) if place not in taken]
    return pairs | dict(zip(rest, other_rest, strict=False))


def _answer_key(call: DiffMessage) -> Hashable:
    return tuple(answer.key for answer in call.answers)


def _by_rules(
    old: list[DiffMessage], new: list[DiffMessage], rules: MatchRules
) -> tuple[Pairs[DiffMessage], list[DiffMessage], list[DiffMessage]]:
    """Pair calls that differ only where the rules allow it, each with the nearest."""
    rows: dict[Hashable, list[tuple[DiffMessage, Loosened]]] = defaultdict(list)
    for call in new:
        loosened = loosen(rules, call.method, call.document.get("params"))
        rows[loosened.labels, loosened.rest].append((call, loosened))
    pairs: Pairs[DiffMessage] = []
    for call in old:
        loosened = loosen(rules, call.method, call.document.get("params"))
        row = rows[loosened.labels, loosened.rest]
        near = enumerate(row[:_MAX_CALLS_COMPARED])
        found = sorted((loosened.leaves.distance(other.leaves, {}), at) for at, (_, other) in near)
        for _, at in found:
            if allowed_differences(loosened, row[at][1], {}) is not None:
                pairs.append((call, row.pop(at)[0]))
                break
    taken = {id(call) for pair in pairs for call in pair}
    rests = [[call for call in calls if id(call) not in taken] for calls in (old, new)]
    return pairs, rests[0], rests[1]


def _by_label(
    old: list[DiffMessage], new: list[DiffMessage]
) -> tuple[Pairs[DiffMessage], list[DiffMessage], list[DiffMessage]]:
    """Pair the most similar calls of the same method and name."""
    rows: dict[Hashable, tuple[list[DiffMessage], list[DiffMessage]]] = defaultdict(
        lambda: ([], [])
    )
    for side, calls in enumerate((old, new)):
        for call in calls:
            rows[call.label][side].append(call)
    pairs = [pair for one, other in rows.values() for pair in _nearest(one, other)]
    taken = {id(call) for pair in pairs for call in pair}
    rests = [[call for call in calls if id(call) not in taken] for calls in (old, new)]
    return pairs, rests[0], rests[1]


def _nearest(old: list[DiffMessage], new: list[DiffMessage]) -> Pairs[DiffMessage]:
    if max(len(old), len(new)) > _MAX_CALLS_BY_SIMILARITY:
        return list(zip(old, new, strict=False))
    costs = sorted(
        (len(compare(one.document, other.document)), abs(i - j), i, j)
        for i, one in enumerate(old)
        for j, other in enumerate(new)
    )
    pairs = pair_greedily((i, j) for _, _, i, j in costs)
    return [(old[i], new[j]) for i, j in pairs.items()]


def pair_greedily(candidates: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the partner of each: of the first candidates of which neither has one yet."""
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for one, other in candidates:
        if one not in pairs and other not in taken:
            pairs[one] = other
            taken.add(other)
    return pairs


def _most_in_common(
    old: list[RecordedConversation], new: list[RecordedConversation]
) -> tuple[Pairs[RecordedConversation], list[RecordedConversation], list[RecordedConversation]]:
    """Pair greedily, by the number of calls that two conversations share; at a tie, the first."""
    makers: dict[Hashable, dict[int, int]] = defaultdict(dict)
    for place, conversation in enumerate(new):
        for key, count in Counter(conversation.keys).items():
            makers[key][place] = count
    shared: Counter[tuple[int, int]] = Counter()
    for place, conversation in enumerate(old):
        for key, count in Counter(conversation.keys).items():
            theirs = makers.get(key, {})
            if len(theirs) <= _MAX_CONVERSATIONS_OF_A_CALL:
                shared.update({(place, other): min(count, many) for other, many in theirs.items()})
    pairs = pair_greedily(sorted(shared, key=lambda pair: (-shared[pair], pair)))
    found = [(old[one], new[other]) for one, other in pairs.items()]
    taken = {*pairs.values()}
    old_rest = [one for place, one in enumerate(old) if place not in pairs]
    return found, old_rest, [one for place, one in enumerate(new) if place not in taken]
