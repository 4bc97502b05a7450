"""Two JSON Schemas compared: what a server takes (input) or promises to give (output), and whether
the change breaks who relies on it.

The two uses are judged the opposite way: to take less breaks callers, to give more surprises
readers. Local references are followed; `anyOf` of plain types is read as the types it stands for.
Keywords that are not known here are compared as values. Used by `catalog_changes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from .normalize import key_of
from .severity import ABSENT, Change, Item, ValuePath

_DEEPEST = 60
_TEXTS = {"description", "title"}
_NOTES = {
    "$schema", "$id", "$comment", "$anchor", "examples", "deprecated", "readOnly", "writeOnly",
}  # fmt: skip
_DEFINITIONS = ("$defs", "definitions")
_TIGHTER_ABOVE = {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}
_TIGHTER_BELOW = {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}
_TIGHTER_IF_THERE = {"pattern", "format", "multipleOf", "uniqueItems", "contains"}
_CONSTRAINTS = sorted(_TIGHTER_ABOVE | _TIGHTER_BELOW | _TIGHTER_IF_THERE)
_UNIONS = ("anyOf", "oneOf")
_INSIDE = ("not", "if", "then", "else", "propertyNames", "contentSchema", "unevaluatedProperties")
_HANDLED = {
    *_TEXTS, *_NOTES, *_DEFINITIONS, *_CONSTRAINTS, *_UNIONS, "type", "enum", "const", "properties",
    "required", "items", "prefixItems", "additionalProperties", "default", "$ref",
}  # fmt: skip


@attrs.frozen
class Use:
    """The rules by which a schema is judged: those of what is taken, or those of what is given."""

    removed: str
    added: str
    newly_required: str
    no_longer_required: str
    type_changed: str
    fewer_types: str
    more_types: str
    fewer_values: str
    more_values: str
    tightened: str
    loosened: str


INPUT = Use(
    removed="argument-removed",
    added="argument-added",
    newly_required="argument-required",
    no_longer_required="argument-optional",
    type_changed="type-changed",
    fewer_types="type-narrowed",
    more_types="type-widened",
    fewer_values="enum-narrowed",
    more_values="enum-widened",
    tightened="constraint-tightened",
    loosened="constraint-loosened",
)
OUTPUT = Use(
    removed="output-field-removed",
    added="output-field-added",
    newly_required="output-field-required",
    no_longer_required="output-field-optional",
    type_changed="output-type-changed",
    fewer_types="output-type-narrowed",
    more_types="output-type-widened",
    fewer_values="output-enum-narrowed",
    more_values="output-enum-widened",
    tightened="output-constraint-tightened",
    loosened="output-constraint-loosened",
)


def schema_changes(old: Any, new: Any, path: ValuePath, use: Use) -> Iterator[Change]:
    """What changed from one schema to the other; `path` is where they stand."""
    if key_of(old) != key_of(new):
        yield from _Comparer(old, new, use).changes(old, new, path)


@attrs.define
class _Comparer:
    old_root: Any
    new_root: Any
    use: Use
    _seen: set[tuple[int, int]] = attrs.field(factory=set)
    """The pairs that were reached by reference: schemas may refer to themselves."""

    def changes(self, old: Any, new: Any, path: ValuePath) -> Iterator[Change]:
        one, other = _resolved(old, self.old_root), _resolved(new, self.new_root)
        if one is not old or other is not new:
            if (id(one), id(other)) in self._seen:
                return
            self._seen.add((id(one), id(other)))
        if len(path) > _DEEPEST or not isinstance(one, dict) or not isinstance(other, dict):
            if key_of(one) != key_of(other):
                yield self._other(one, other, path)
            return
        for change in self._types(one, other, path):
            yield change
            if change.rule == self.use.type_changed:
                return  # all the rest follows from that
        yield from self._values(one, other, path)
        yield from self._properties(one, other, path)
        yield from self._inside(one, other, path)
        yield from self._constraints(one, other, path)
        yield from _rest(one, other, path)

    def _other(self, old: Any, new: Any, path: ValuePath) -> Change:
        """Schemas that are no objects: `false` takes nothing, `true` and `{}` everything."""
        if _says_no(new) and not _says_no(old):
            rule = self.use.tightened
        elif _says_no(old) or _takes_all(new):
            rule = self.use.loosened
        else:
            rule = self.use.tightened if _takes_all(old) else "schema-changed"
        return Change(rule, path, old, new)

    def _types(self, old: dict[str, Any], new: dict[str, Any], path: ValuePath) -> Iterator[Change]:
        before, after = _types_of(old), _types_of(new)
        if before == after:
            return
        told = _told_types(old), _told_types(new)
        where = (*path, "type") if "type" in old or "type" in new else path
        if after is not None and (before is None or _within(after, before)):
            yield Change(self.use.fewer_types, where, *told)
        elif before is not None and (after is None or _within(before, after)):
            yield Change(self.use.more_types, where, *told)
        else:
            yield Change(self.use.type_changed, where, *told)

    def _values(
        self, old: dict[str, Any], new: dict[str, Any], path: ValuePath
    ) -> Iterator[Change]:
        before, after = _values_of(old), _values_of(new)
        if before is not None and after is not None and before.keys() == after.keys():
            if list(before) != list(after):
                yield Change("list-reordered", (*path, "enum"), old["enum"], new["enum"])
            return
        if before is None and after is None:
            return
        name = next(name for name in ("enum", "const") if name in old or name in new)
        told = old.get(name, ABSENT), new.get(name, ABSENT)
        if before is None or (after is not None and not after.keys() - before.keys()):
            yield Change(self.use.fewer_values, (*path, name), *told)
        elif after is None or not before.keys() - after.keys():
            yield Change(self.use.more_values, (*path, name), *told)
        else:
            gone, come = self.use.fewer_values, self.use.more_values
            worse = gone if self.use is INPUT else come
            yield Change(worse, (*path, name), *told)

    def _properties(
        self, old: dict[str, Any], new: dict[str, Any], path: ValuePath
    ) -> Iterator[Change]:
        before, after = _object(old.get("properties")), _object(new.get("properties"))
        needed, needs = _names(old.get("required")), _names(new.get("required"))
        for name in before:
            if name not in after:
                yield Change(self.use.removed, (*path, "properties", name), before[name])
                continue
            inside = (*path, "properties", name)
            if name in needs and name not in needed:
                yield Change(self.use.newly_required, inside, "optional", "required")
            elif name in needed and name not in needs:
                yield Change(self.use.no_longer_required, inside, "required", "optional")
            yield from self.changes(before[name], after[name], inside)
        for name in after:
            if name not in before:
                required = name in needs and self.use is INPUT
                rule = self.use.newly_required if required else self.use.added
                yield Change(rule, (*path, "properties", name), ABSENT, after[name])
        # a name may be required that no property describes
        for name in sorted((needs ^ needed) - before.keys() - after.keys()):
            newly = name in needs
            rule = self.use.newly_required if newly else self.use.no_longer_required
            words = ("optional", "required") if newly else ("required", "optional")
            yield Change(rule, (*path, "required"), *(f"{name}: {word}" for word in words))

    def _inside(
        self, old: dict[str, Any], new: dict[str, Any], path: ValuePath
    ) -> Iterator[Change]:
        """Schemas within schemas; the absence of one takes everything."""
        for name in ("items", "additionalProperties", *_INSIDE):
            if name not in old and name not in new:
                continue
            one, other = old.get(name, True), new.get(name, True)
            if not isinstance(one, list) and not isinstance(other, list):
                if not _takes_all(one) or not _takes_all(other):
                    yield from self._opposed(one, other, (*path, name), name)
            elif key_of(one) != key_of(other):
                yield Change("schema-changed", (*path, name), one, other)
        for name in (*_UNIONS, "allOf", "prefixItems"):
            yield from self._branches(old.get(name), new.get(name), (*path, name))

    def _opposed(self, old: Any, new: Any, path: ValuePath, name: str) -> Iterator[Change]:
        if name == "not" or name == "if":
            if key_of(old) != key_of(new):
                yield Change("schema-changed", path, old, new)
        elif _takes_all(old) or _takes_all(new):
            yield self._other(old, new, path)
        else:
            yield from self.changes(old, new, path)

    def _branches(self, old: Any, new: Any, path: ValuePath) -> Iterator[Change]:
        """The members of a union and the like: those that are the same stand for each other, the
        others by their order.
        """
        one, other = (old if isinstance(old, list) else []), (new if isinstance(new, list) else [])
        alternatives = path[-1] in _UNIONS
        if alternatives and _plain(one) and _plain(other):  # told as types
            types = {key_of(branch["type"]): j for j, branch in enumerate(other)}
            for i, branch in enumerate(one):
                if (j := types.get(key_of(branch["type"]))) is not None:
                    yield from self.changes(branch, other[j], (*path, Item(i, j)))
            return
        old_keys, new_keys = [*map(key_of, one)], [*map(key_of, other)]
        old_rest = [i for i, key in enumerate(old_keys) if key not in new_keys]
        new_rest = [j for j, key in enumerate(new_keys) if key not in old_keys]
        for i, j in zip(old_rest, new_rest, strict=False):
            yield from self.changes(one[i], other[j], (*path, Item(i, j)))
        fewer = self.use.fewer_types if alternatives else self.use.loosened
        more = self.use.more_types if alternatives else self.use.tightened
        for i in old_rest[len(new_rest) :]:
            yield Change(fewer, (*path, Item(i, None)), one[i])
        for j in new_rest[len(old_rest) :]:
            yield Change(more, (*path, Item(None, j)), ABSENT, other[j])

    def _constraints(
        self, old: dict[str, Any], new: dict[str, Any], path: ValuePath
    ) -> Iterator[Change]:
        for name in _CONSTRAINTS:
            one, other = old.get(name, ABSENT), new.get(name, ABSENT)
            if key_of(_shown(one)) == key_of(_shown(other)) and (one is ABSENT) is (
                other is ABSENT
            ):
                continue
            order = _tighter(name, one, other)
            rule = "constraint-changed" if order is None else ""
            rule = rule or (self.use.tightened if order else self.use.loosened)
            yield Change(rule, (*path, name), one, other)


def _rest(old: dict[str, Any], new: dict[str, Any], path: ValuePath) -> Iterator[Change]:
    """What only says something to people, and what is not known here."""
    for name in dict.fromkeys((*old, *new)):
        handled = name in _HANDLED and name not in _TEXTS and name not in _NOTES
        if (handled and name != "default") or name in _INSIDE or name == "allOf":
            continue
        one, other = old.get(name, ABSENT), new.get(name, ABSENT)
        if (one is ABSENT) is (other is ABSENT) and key_of(one) == key_of(other):
            continue
        rule = "description-changed" if name in _TEXTS else "schema-changed"
        rule = "schema-note-changed" if name in _NOTES else rule
        rule = "default-changed" if name == "default" else rule
        yield Change(rule, (*path, name), one, other)


def _resolved(schema: Any, root: Any) -> Any:
    """What a local reference refers to; the schema itself where it is none."""
    for _ in range(_DEEPEST):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        found = root
        for part in reference[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        if found is None:
            return schema
        schema = found
    return schema


def _types_of(schema: dict[str, Any]) -> frozenset[str] | None:
    """The types that it lets pass, None for any."""
    found = schema.get("type")
    if isinstance(found, str):
        return frozenset({found})
    if isinstance(found, list):
        return frozenset(one for one in found if isinstance(one, str))
    for name in _UNIONS:
        branches = schema.get(name)
        if isinstance(branches, list) and branches and _plain(branches):
            return frozenset(kind for branch in branches for kind in _types_of(branch) or ())
    return None


def _plain(branches: list[Any]) -> bool:
    """Whether each branch has a type of its own, so that the types tell which is which."""
    return all(isinstance(branch, dict) and "type" in branch for branch in branches)


def _told_types(schema: dict[str, Any]) -> Any:
    if "type" in schema:
        return schema["type"]
    types = _types_of(schema)
    return ABSENT if types is None else sorted(types)


def _within(some: frozenset[str], all_: frozenset[str]) -> bool:
    """Whether all of these are among those; an integer is a number."""
    return all(one in all_ or (one == "integer" and "number" in all_) for one in some)


def _values_of(schema: dict[str, Any]) -> dict[bytes, Any] | None:
    """The values that it lets pass, None for any."""
    if isinstance(schema.get("enum"), list):
        return {key_of(value): value for value in schema["enum"]}
    return {key_of(schema["const"]): schema["const"]} if "const" in schema else None


def _tighter(name: str, old: Any, new: Any) -> bool | None:
    """Whether the new one lets less pass, None where nobody can tell."""
    if name == "uniqueItems":
        return bool(new is True)
    if old is ABSENT or new is ABSENT:
        return bool(old is ABSENT)
    if name in _TIGHTER_IF_THERE or not all(isinstance(one, int | float) for one in (old, new)):
        return None
    return bool(new > old) is (name in _TIGHTER_ABOVE)


def _says_no(schema: Any) -> bool:
    return schema is False


def _takes_all(schema: Any) -> bool:
    return schema is True or schema == {}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _names(value: Any) -> set[str]:
    return {one for one in value if isinstance(one, str)} if isinstance(value, list) else set()


def _shown(value: Any) -> Any:
    return None if value is ABSENT else value
