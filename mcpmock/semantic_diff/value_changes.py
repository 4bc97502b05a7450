"""Compares two decoded values: where they differ, and how. The caller judges the differences.

Two texts with placeholders are equal if the placeholders correspond (`normalize.Namings`), two
numbers within the tolerance, two lists in any order where a rule says so (`ignore_rules`). Used for
results, parameters and everything else that is neither a schema nor a catalog.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from enum import Enum
from typing import Any

import attrs

from mcpmock.playback.request_key import may_be_absent
from mcpmock.playback.variables import same

from .ignore_rules import Leeway
from .normalize import Namings, key_of
from .severity import ABSENT, Item, ValuePath

_MAX_DEPTH = 100
"""A deeper value that differs is one edit."""
_MAX_ITEMS_ALIGNED = 200
"""Longer lists are compared index by index."""


class EditKind(Enum):
    """How two values differ."""

    REMOVED = "a member is gone"
    ADDED = "a member is new"
    TEXT = "another text"
    VALUE = "another value"
    TYPE = "another type"
    REORDERED = "another order"
    ITEM_REMOVED = "an item is gone"
    ITEM_ADDED = "an item is new"


@attrs.frozen
class Edit:
    """One place where two values differ."""

    kind: EditKind
    path: ValuePath
    old: Any = ABSENT
    new: Any = ABSENT


@attrs.frozen
class Measure:
    """The user's rules and the known placeholders by which two values are compared."""

    leeway: Leeway
    namings: Namings

    def same(self, old: Any, new: Any) -> bool:
        """Return whether two scalars count as equal."""
        if isinstance(old, str) and isinstance(new, str):
            return self.namings.same(old, new)
        if _is_number(old) and _is_number(new):
            return bool(old == new) or self.leeway.rules.tolerance.same(old, new)
        return same(old, new)


def edits(old: Any, new: Any, path: ValuePath, measure: Measure) -> Iterator[Edit]:
    """Yield the differences of two values, in the order of the old one."""
    if isinstance(old, dict) and isinstance(new, dict) and len(path) < _MAX_DEPTH:
        for name in old:
            if name in new:
                yield from edits(old[name], new[name], (*path, name), measure)
            elif isinstance(old[name], dict) and may_be_absent((*path, name)):
                yield from edits(old[name], {}, (*path, name), measure)
            else:
                yield Edit(EditKind.REMOVED, (*path, name), old[name])
        for name in new:
            if name in old:
                continue
            if isinstance(new[name], dict) and may_be_absent((*path, name)):
                yield from edits({}, new[name], (*path, name), measure)
            else:
                yield Edit(EditKind.ADDED, (*path, name), ABSENT, new[name])
    elif isinstance(old, list) and isinstance(new, list) and len(path) < _MAX_DEPTH:
        yield from _list_edits(old, new, path, measure)
    elif not measure.same(old, new):
        yield Edit(_scalar_edit_kind(old, new), path, old, new)


def _scalar_edit_kind(old: Any, new: Any) -> EditKind:
    if isinstance(old, str) and isinstance(new, str):
        return EditKind.TEXT
    alike = type(old) is type(new) or (_is_number(old) and _is_number(new))
    return EditKind.VALUE if alike or old is None or new is None else EditKind.TYPE


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _list_edits(
    old: list[Any], new: list[Any], path: ValuePath, measure: Measure
) -> Iterator[Edit]:
    old_keys, new_keys = [*map(key_of, old)], [*map(key_of, new)]
    if old_keys == new_keys:
        pairs = [(place, place) for place in range(len(old))]
    elif Counter(old_keys) == Counter(new_keys):
        if not measure.leeway.is_unordered(path):
            yield Edit(EditKind.REORDERED, path, old, new)
        return
    elif measure.leeway.is_unordered(path):
        pairs = _pair_in_any_order(old_keys, new_keys)
    else:
        pairs = _pair_in_order(old_keys, new_keys)
    for i, j in pairs:
        yield from edits(old[i], new[j], (*path, Item(i, j)), measure)
    for i in sorted({*range(len(old))} - {i for i, _ in pairs}):
        yield Edit(EditKind.ITEM_REMOVED, (*path, Item(i, None)), old[i])
    for j in sorted({*range(len(new))} - {j for _, j in pairs}):
        yield Edit(EditKind.ITEM_ADDED, (*path, Item(None, j)), ABSENT, new[j])


def _pair_in_order(old: list[bytes], new: list[bytes]) -> list[tuple[int, int]]:
    """Pair equal items, and between them the first with the first."""
    if max(len(old), len(new)) > _MAX_ITEMS_ALIGNED:
        return [(place, place) for place in range(min(len(old), len(new)))]
    pairs: list[tuple[int, int]] = []
    for _, i, i_end, j, j_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        pairs += zip(range(i, i_end), range(j, j_end), strict=False)
    return pairs


def _pair_in_any_order(old: list[bytes], new: list[bytes]) -> list[tuple[int, int]]:
    """Pair equal items, and of the rest the first with the first."""
    places: dict[bytes, list[int]] = {}
    for j in reversed(range(len(new))):
        places.setdefault(new[j], []).append(j)
    pairs = [(i, places[key].pop()) for i, key in enumerate(old) if places.get(key)]
    old_rest = sorted({*range(len(old))} - {i for i, _ in pairs})
    new_rest = sorted({*range(len(new))} - {j for _, j in pairs})
    return [*pairs, *zip(old_rest, new_rest, strict=False)]
