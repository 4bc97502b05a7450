"""Compares recorded values with live ones: under which bindings of placeholders they are equal, and
where they differ.

A placeholder stands where redaction removed a secret; on replay it is a variable. Values are
decoded JSON, and texts of header fields. Used by `matcher`.
"""

from __future__ import annotations

import re
from typing import Any

import attrs
from msgspec import UNSET

from mcpmock.protocol.messages import decode
from mcpmock.redaction.placeholders import HOLE, encoded_parts

_HOLE = re.compile(HOLE.pattern.decode())
_ENCODED = "mcpmock:secret:encoded"
"""The variable for a part of a text that holds encoded placeholders."""
_HOLE_OR_TEXT = re.compile(f"{_HOLE.pattern}|(?:(?!{_HOLE.pattern}).)+", re.S)
Bindings = dict[str, str]


@attrs.frozen
class Mismatch:
    """Where a recorded and a live value differ, as JSONPath; UNSET stands for an absent one."""

    path: str
    recorded: Any
    live: Any


def compare(recorded: Any, live: Any, path: str = "$") -> list[Mismatch]:
    """Return the innermost places where two JSON values differ."""
    if isinstance(recorded, dict) and isinstance(live, dict):
        found = []
        for name in [*recorded, *(name for name in live if name not in recorded)]:
            one, other = recorded.get(name, UNSET), live.get(name, UNSET)
            found += compare(one, other, f"{path}.{name}")
        return found
    if isinstance(recorded, list) and isinstance(live, list) and len(recorded) == len(live):
        pairs = enumerate(zip(recorded, live, strict=True))
        return [d for place, (one, other) in pairs for d in compare(one, other, f"{path}[{place}]")]
    return [] if equivalent(recorded, live) else [Mismatch(path, recorded, live)]


def equivalent(recorded: Any, live: Any) -> bool:
    """Return whether two scalars are equal, under some binding of the placeholders in the recorded
    one.
    """
    return same(recorded, live) or (
        isinstance(recorded, str)
        and isinstance(live, str)
        and _unify_text(recorded, live, {}) is not None
    )


def same(one: Any, other: Any) -> bool:
    """Compare as JSON does: for Python True equals 1."""
    return bool(one == other) and isinstance(one, bool) is isinstance(other, bool)


def unify(recorded: Any, live: Any, bindings: Bindings) -> Bindings | None:
    """Return the bindings under which a recorded value with placeholders is the live one; None if
    there are none.

    A placeholder takes the first live value that it meets and keeps it.
    """
    if isinstance(recorded, str) and isinstance(live, str):
        return _unify_text(recorded, live, bindings)
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


def _names(recorded: dict[str, Any], live: dict[str, Any]) -> list[tuple[str, str]] | None:
    """Return the names of two objects in pairs. A value that is secret may be a name; then the
    order counts.
    """
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
    if not parts:
        return _unify_plain(recorded, live, bindings)
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
    length, odd = divmod(len(live) - known, len(holes))
    start = sum(len(part) for part in parts[: parts.index(holes[0])])
    value = live[start : start + max(length, 0)]
    whole = "".join(value if part == holes[0] else part for part in parts)
    return {**bindings, holes[0]: value} if not odd and whole == live else None


def _find(live: str, literal: str, at: int, *, first: bool, last: bool) -> int | None:
    """Return the place of a known text: the beginning, the end, or the first place from `at` on."""
    if first:
        return at if live.startswith(literal, at) else None
    end = len(live) - len(literal) if last else live.find(literal, at)
    return end if end >= at and live.startswith(literal, end) else None
