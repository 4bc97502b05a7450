"""Compares recorded values with live ones: under which bindings of placeholders they are equal, and
where they differ.

A placeholder stands where redaction removed a secret; on replay it is a variable. Values are
decoded JSON, and texts of header fields. Used by `matcher`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs
from msgspec import UNSET, Struct

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.messages import decode, encode
from mcpmock.protocol.raw_json import walk
from mcpmock.redaction.placeholders import (
    HOLE,
    NUMBER_HOLE,
    NUMBER_SUFFIX,
    encoded_parts,
    holds_placeholder,
    normal_number,
    read_value,
    spell_value,
    unspelled,
)

if TYPE_CHECKING:
    from mcpmock.matching.paths import Place

_HOLE = lazy_pattern(HOLE.pattern.decode())
_QUOTED_NUMBER = lazy_pattern(NUMBER_HOLE.pattern.decode())
_NUMBER = lazy_pattern(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_NUMBER_MARK = f"{NUMBER_SUFFIX}:"
_ENCODED = "mcpmock:secret:encoded"
"""The variable for a part of a text that holds encoded placeholders."""
_HOLE_OR_TEXT = lazy_pattern(f"{_HOLE.pattern}|(?:(?!{_HOLE.pattern}).)+", re.S)
_WORD = lazy_pattern(r"(?<![^\W_])[^\W\d_]{3,}(?![^\W_])")
Bindings = dict[str, str]


@attrs.frozen
class Mismatch:
    """Where a recorded and a live value differ, as JSONPath; UNSET stands for an absent one."""

    path: str
    recorded: Any
    live: Any
    place: Place = attrs.field(default=(), eq=False)
    """The same as a place in the decoded value."""
    allowed: bool = attrs.field(default=False, eq=False)
    """A rule of the user allows it."""


def compare(
    recorded: Any, live: Any, root: str = "$", *, bindings: Bindings | None = None
) -> list[Mismatch]:
    """Return the innermost places where two JSON values differ. `root` is the path of both."""
    found: list[Mismatch] = []
    _compare(recorded, live, root, bindings or {}, (), found)
    return found


def _compare(
    recorded: Any, live: Any, root: str, bindings: Bindings, place: Place, found: list[Mismatch]
) -> None:
    if isinstance(recorded, dict) and isinstance(live, dict):
        for name in [*recorded, *(name for name in live if name not in recorded)]:
            one, other = recorded.get(name, UNSET), live.get(name, UNSET)
            _compare(one, other, root, bindings, (*place, name), found)
    elif isinstance(recorded, list) and isinstance(live, list) and len(recorded) == len(live):
        for at, (one, other) in enumerate(zip(recorded, live, strict=True)):
            _compare(one, other, root, bindings, (*place, at), found)
    elif not equivalent(recorded, live, bindings):
        from mcpmock.matching.paths import spell_step  # a replay without misses starts without

        path = root + "".join(map(spell_step, place))
        found.append(Mismatch(path, recorded, live, place))


class Leaves(Struct, frozen=True):
    """The innermost values of a document by their places, and their words: by these it is measured
    how far two are apart.
    """

    values: dict[Place, Any]
    words: dict[Place, frozenset[str]]
    """Of texts. Ids and times have none."""
    holes: bool
    """Whether a value is a placeholder."""

    @classmethod
    def of(cls, *documents: tuple[Place, Any]) -> Leaves:
        """Read the documents at these places."""
        values: dict[Place, Any] = {}
        waiting = [*documents]
        while waiting:  # no recursion: JSON may be nested 1,000 deep
            place, value = waiting.pop()
            if isinstance(value, dict) and value:
                waiting += (((*place, name), inner) for name, inner in value.items())
            elif isinstance(value, list) and value:
                waiting += (((*place, at), inner) for at, inner in enumerate(value))
            else:
                values[place] = value if isinstance(value, str) else (type(value), repr(value))
        texts = [(place, value) for place, value in values.items() if isinstance(value, str)]
        found = ((place, frozenset(_WORD.findall(text.casefold()))) for place, text in texts)
        holes = any(holds_placeholder(text) for _, text in texts)
        return cls(values, {place: words for place, words in found if words}, holes)

    def distance(self, live: Leaves, bindings: Bindings) -> tuple[int, int]:
        """Return how far a recorded document is from a live one, for sorting: by the number of
        places that differ, then by the words that the texts there have in common.
        """
        # `dict` reads the pairs in half the time of a comprehension, for 100 requests each time.
        places = {*dict(self.values.items() ^ live.values.items())}
        if self.holes:
            ours, theirs = self.values, live.values
            places -= {
                one for one in places if equivalent(ours.get(one), theirs.get(one), bindings)
            }
        if not self.words or not live.words:
            return len(places), 0
        words = self.words
        common = (
            len(words[one] & live.words[one])
            for one in live.words
            if one in places and one in words
        )
        return len(places), -sum(common)


def equivalent(recorded: Any, live: Any, bindings: Bindings) -> bool:
    """Return whether two scalars are equal, under some binding of the placeholders in the recorded
    one that are not bound yet.
    """
    return same(recorded, live) or unify(recorded, live, bindings) is not None


def same(one: Any, other: Any) -> bool:
    """Compare as JSON does: for Python True equals 1."""
    return bool(one == other) and isinstance(one, bool) is isinstance(other, bool)


def unify(recorded: Any, live: Any, bindings: Bindings) -> Bindings | None:
    """Return the bindings under which a recorded value with placeholders is the live one; None if
    there are none.

    A placeholder takes the first live value that it meets and keeps it; that of a number takes
    numbers only.
    """
    if isinstance(recorded, str):
        if _NUMBER_MARK in recorded and _HOLE.fullmatch(recorded):
            return _unify_number(recorded, live, bindings)
        return _unify_text(recorded, live, bindings) if isinstance(live, str) else None
    if isinstance(recorded, dict) and isinstance(live, dict):
        names = _names(recorded, live)
        if names is None:
            return None
        pairs = [*names, *((recorded[one], live[other]) for one, other in names)]
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


def _unify_number(hole: str, live: Any, bindings: Bindings) -> Bindings | None:
    """Unify the placeholder of a number with a live value; with itself, where it was sent back."""
    if isinstance(live, bool) or not isinstance(live, int | float):
        return bindings if live == hole else None
    known = bindings.get(hole)
    if known is None:
        return {**bindings, hole: encode(live).decode()}
    return bindings if same(decode(known.encode()), live) else None


def with_numbers_as_written(bindings: Bindings, raw: bytes) -> Bindings:
    """Return bindings in which the numbers are spelled as a message spells them, if it does so in
    one way: decoded, `1.5e300` has 301 digits.
    """
    if not any(_NUMBER_MARK in hole for hole in bindings):
        return bindings
    written: dict[bytes, set[bytes]] = {}
    for path, span in walk(raw):
        number = raw[slice(*span)]
        if "params" in path[:2] and number[:1] in b"-0123456789":
            written.setdefault(normal_number(number), set()).add(number)
    found = dict(bindings)
    for hole, value in bindings.items():
        spellings = written.get(value.encode("utf-8", "surrogatepass"), ())
        if _NUMBER_MARK in hole and len(spellings) == 1:
            found[hole] = next(iter(spellings)).decode()
    return found


def _names(recorded: dict[str, Any], live: dict[str, Any]) -> list[tuple[str, str]] | None:
    """Return the names in pairs. A name may be a secret value; then the order counts."""
    if recorded.keys() == live.keys():
        return [(name, name) for name in recorded]
    others = [name for name in live if name not in recorded]
    missing = [name for name in recorded if name not in live]
    if len(recorded) != len(live) or not all(_HOLE.search(name) for name in missing):
        return None
    place = iter(others)
    return [(name, name if name in live else next(place)) for name in recorded]


def _unify_text(recorded: str, live: str, bindings: Bindings) -> Bindings | None:
    """Unify two texts, with any number of different placeholders, encoded or not."""
    if recorded == live and not _HOLE.search(recorded):
        return bindings
    if _HOLE.search(recorded):
        one, other = _decode_json(recorded), _decode_json(live)
        if one is not None and other is not None:
            return unify(one, other, bindings)
    parts = encoded_parts(recorded)
    # What is encoded is a variable itself, whose value is decoded and then unified.
    pattern = recorded
    for number, part in reversed([*enumerate(parts)]):
        pattern = f"{pattern[: part.start]}{_ENCODED}:{number}{pattern[part.end :]}"
    found = _unify_plain(pattern, live, bindings)
    for number, part in enumerate(parts):
        if found is not None:
            value = part.decode(found.pop(f"{_ENCODED}:{number}"))
            found = None if value is None else _unify_text(part.text, value, found)
    return found


def _decode_json(text: str) -> Any:
    """Return the object or array in a text that is JSON; None if it is none."""
    is_json = text.lstrip()[:1] in ("{", "[")
    return decode(text.encode("utf-8", "surrogatepass")) if is_json else None


def _unify_plain(recorded: str, live: str, bindings: Bindings) -> Bindings | None:
    if "\\" not in recorded:
        return _unify_as_spelled(recorded, live, bindings)
    # In JSON inside a text a placeholder may say how its value is spelled there.
    names = {
        hole: unspelled(hole.encode()).decode() for hole in _HOLE.findall(recorded) if "\\" in hole
    }
    known = {
        hole: spell_value(hole.encode(), bindings[name])
        for hole, name in names.items()
        if name in bindings
    }
    found = _unify_as_spelled(recorded, live, {**bindings, **known})
    if found is None:
        return None
    for hole, name in names.items():
        value = bindings.get(name) if hole in known else read_value(hole.encode(), found[hole])
        if value is None or found.get(name, value) != value:
            return None
        del found[hole]
        found[name] = value
    return found


def _unify_as_spelled(recorded: str, live: str, bindings: Bindings) -> Bindings | None:
    if _NUMBER_MARK not in recorded:
        return _unify_holes(recorded, live, bindings)
    # In a text with JSON in it the quotes of a number's placeholder belong to it.
    found = _unify_holes(_QUOTED_NUMBER.sub(r"\2", recorded), live, bindings)
    numbers = (value for hole, value in (found or {}).items() if _NUMBER_MARK in hole)
    return found if all(map(_NUMBER.fullmatch, numbers)) else None


def _unify_holes(recorded: str, live: str, bindings: Bindings) -> Bindings | None:
    # No regular expression: adjacent lazy groups take exponential time on hostile text.
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
    """Return one placeholder, any number of times: its length follows from the rest."""
    if not holes:
        return bindings if "".join(parts) == live else None
    known = sum(len(part) for part in parts if part != holes[0])
    length = (len(live) - known) // len(holes)
    start = sum(len(part) for part in parts[: parts.index(holes[0])])
    value = live[start : start + max(length, 0)]
    whole = "".join(value if part == holes[0] else part for part in parts)
    return {**bindings, holes[0]: value} if whole == live else None


def _find(live: str, literal: str, at: int, *, first: bool, last: bool) -> int | None:
    """Return the place of a known text: the beginning, the end, or the first place from `at` on."""
    if first:
        return at if live.startswith(literal, at) else None
    end = len(live) - len(literal) if last else live.find(literal, at)
    return end if end >= at and live.startswith(literal, end) else None
