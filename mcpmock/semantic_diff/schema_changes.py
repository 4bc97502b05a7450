"""Two JSON Schemas compared: what a server accepts (input) or promises to return (output), and
whether the change breaks its users.

The two uses are judged the opposite way: to accept less breaks callers, to return more breaks
readers. Local references are followed; `anyOf` of plain types is read as a list of types. Unknown
keywords are compared as values. Used by `catalog_changes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from .normalize import key_of
from .severity import ABSENT, Change, Item, ValuePath

_MAX_DEPTH = 60
_TIGHTER_ABOVE = {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}
_TIGHTER_BELOW = {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}
_TIGHTER_IF_PRESENT = {"pattern", "format", "multipleOf", "uniqueItems", "contains"}
_CONSTRAINTS = sorted(_TIGHTER_ABOVE | _TIGHTER_BELOW | _TIGHTER_IF_PRESENT)
_UNIONS = ("anyOf", "oneOf")
_NOTES = (
    "$schema", "$id", "$comment", "$anchor", "examples", "deprecated", "readOnly", "writeOnly",
)  # fmt: skip
_SUBSCHEMAS = (
    "items", "additionalProperties", "not", "if", "then", "else", "propertyNames", "contentSchema",
    "unevaluatedProperties",
)  # fmt: skip
_COMPARED_APART = {
    *_CONSTRAINTS, *_UNIONS, *_SUBSCHEMAS, "$defs", "definitions", "$ref", "type", "enum", "const",
    "properties", "required", "prefixItems", "allOf",
}  # fmt: skip
_RULES_BY_KEYWORD = {
    "description": "description-changed",
    "title": "description-changed",
    "default": "default-changed",
    **dict.fromkeys(_NOTES, "schema-note-changed"),
}


@attrs.frozen
class Use:
    """What a schema is used for: what the names of its rules begin with."""

    field: str
    """In the names of rules for a property: `argument-removed`, `output-field-removed`."""
    prefix: str
    """In the names of other rules: `type-changed`, `output-type-changed`."""


INPUT, OUTPUT = Use("argument", ""), Use("output-field", "output-")


def schema_changes(old: Any, new: Any, path: ValuePath, use: Use) -> Iterator[Change]:
    """Yield the changes from one schema to the other; `path` leads to both."""
    if key_of(old) != key_of(new):
        yield from _Comparer(old, new, use).changes(old, new, path)


@attrs.define
class _Comparer:
    old_root: Any
    new_root: Any
    use: Use
    _seen: set[tuple[int, int]] = attrs.field(factory=set)
    """The pairs that were reached by reference: a schema may refer to itself."""

    def changes(self, old: Any, new: Any, path: ValuePath) -> Iterator[Change]:
        one, other = _resolved(old, self.old_root), _resolved(new, self.new_root)
        if one is not old or other is not new:
            if (id(one), id(other)) in self._seen:
                return
            self._seen.add((id(one), id(other)))
        if len(path) > _MAX_DEPTH or not isinstance(one, dict) or not isinstance(other, dict):
            if key_of(one) != key_of(other):
                yield self._whole_change(one, other, path)
            return
        for change in self._type_changes(one, other, path):
            yield change
            if change.rule == f"{self.use.prefix}type-changed":
                return
        yield from self._enum_changes(one, other, path)
        yield from self._property_changes(one, other, path)
        yield from self._subschema_changes(one, other, path)
        yield from self._constraint_changes(one, other, path)
        yield from _keyword_changes(one, other, path)

    def _whole_change(self, old: Any, new: Any, path: ValuePath) -> Change:
        """Return the change of a whole schema: `false` accepts nothing, `true` and `{}`
        everything.
        """
        if new is False and old is not False:
            word = "tightened"
        elif old is False or _accepts_all(new):
            word = "loosened"
        elif _accepts_all(old):
            word = "tightened"
        else:
            return Change("schema-changed", path, old, new)
        return Change(f"{self.use.prefix}constraint-{word}", path, old, new)

    def _type_changes(
        self, old: dict[str, Any], new: dict[str, Any], path: ValuePath
    ) -> Iterator[Change]:
        before, after = _types_of(old), _types_of(new)
        if before == after:
            return
        types = _type_or_types(old), _type_or_types(new)
        where = (*path, "type") if "type" in old or "type" in new else path
        if after is not None and (before is None or _within(after, before)):
            yield Change(f"{self.use.prefix}type-narrowed", where, *types)
        elif before is not None and (after is None or _within(before, after)):
            yield Change(f"{self.use.prefix}type-widened", where, *types)
        else:
            yield Change(f"{self.use.prefix}type-changed", where, *types)

    def _enum_changes(
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
        values = old.get(name, ABSENT), new.get(name, ABSENT)
        if before is None or (after is not None and not after.keys() - before.keys()):
            yield Change(f"{self.use.prefix}enum-narrowed", (*path, name), *values)
        elif after is None or not before.keys() - after.keys():
            yield Change(f"{self.use.prefix}enum-widened", (*path, name), *values)
        else:
            worse = "enum-narrowed" if self.use is INPUT else "output-enum-widened"
            yield Change(worse, (*path, name), *values)

    def _property_changes(
        self, old: dict[str, Any], new: dict[str, Any], path: ValuePath
    ) -> Iterator[Change]:
        before, after = _as_object(old.get("properties")), _as_object(new.get("properties"))
        needed, needs = _string_set(old.get("required")), _string_set(new.get("required"))
        for name in before:
            if name not in after:
                yield Change(f"{self.use.field}-removed", (*path, "properties", name), before[name])
                continue
            inside = (*path, "properties", name)
            if name in needs and name not in needed:
                yield Change(f"{self.use.field}-required", inside, "optional", "required")
            elif name in needed and name not in needs:
                yield Change(f"{self.use.field}-optional", inside, "required", "optional")
            yield from self.changes(before[name], after[name], inside)
        for name in after:
            if name not in before:
                required = name in needs and self.use is INPUT
                rule = f"{self.use.field}-required" if required else f"{self.use.field}-added"
                yield Change(rule, (*path, "properties", name), ABSENT, after[name])
        # A name may be required that `properties` lacks.
        for name in sorted((needs ^ needed) - before.keys() - after.keys()):
            newly = name in needs
            rule = f"{self.use.field}-required" if newly else f"{self.use.field}-optional"
            words = ("optional", "required") if newly else ("required", "optional")
            yield Change(rule, (*path, "required"), *(f"{name}: {word}" for word in words))

    def _subschema_changes(
        self, old: dict[str, Any], new: dict[str, Any], path: ValuePath
    ) -> Iterator[Change]:
        """Change of the schemas inside; an absent one accepts everything."""
        for name in _SUBSCHEMAS:
            one, other, inside = old.get(name, True), new.get(name, True), (*path, name)
            if isinstance(one, list) or isinstance(other, list) or name in ("not", "if"):
                # To tighten these does not tighten the schema around them.
                if key_of(one) != key_of(other):
                    yield Change("schema-changed", inside, one, other)
            elif _accepts_all(one) and _accepts_all(other):
                continue
            elif _accepts_all(one) or _accepts_all(other):
                yield self._whole_change(one, other, inside)
            else:
                yield from self.changes(one, other, inside)
        for name in (*_UNIONS, "allOf", "prefixItems"):
            yield from self._branch_changes(old.get(name), new.get(name), (*path, name))

    def _branch_changes(self, old: Any, new: Any, path: ValuePath) -> Iterator[Change]:
        """Change in `anyOf` and the like: equal branches are paired, the others by order."""
        one, other = (old if isinstance(old, list) else []), (new if isinstance(new, list) else [])
        alternatives = path[-1] in _UNIONS
        # `_type_changes` reports added and removed types.
        if alternatives and _are_types(one) and _are_types(other):
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
        fewer, more = "constraint-loosened", "constraint-tightened"
        if alternatives:
            fewer, more = "type-narrowed", "type-widened"
        for i in old_rest[len(new_rest) :]:
            yield Change(f"{self.use.prefix}{fewer}", (*path, Item(i, None)), one[i])
        for j in new_rest[len(old_rest) :]:
            yield Change(f"{self.use.prefix}{more}", (*path, Item(None, j)), ABSENT, other[j])

    def _constraint_changes(
        self, old: dict[str, Any], new: dict[str, Any], path: ValuePath
    ) -> Iterator[Change]:
        for name in _CONSTRAINTS:
            one, other = old.get(name, ABSENT), new.get(name, ABSENT)
            if not _differ(one, other):
                continue
            tighter = _is_tighter(name, one, other)
            word = "changed" if tighter is None else "tightened" if tighter else "loosened"
            prefix = "" if tighter is None else self.use.prefix
            yield Change(f"{prefix}constraint-{word}", (*path, name), one, other)


def _keyword_changes(old: dict[str, Any], new: dict[str, Any], path: ValuePath) -> Iterator[Change]:
    """Change of descriptions, of notes and of unknown keywords."""
    for name in dict.fromkeys((*old, *new)):
        one, other = old.get(name, ABSENT), new.get(name, ABSENT)
        if name not in _COMPARED_APART and _differ(one, other):
            yield Change(_RULES_BY_KEYWORD.get(name, "schema-changed"), (*path, name), one, other)


def _differ(old: Any, new: Any) -> bool:
    """Return whether two values differ, each of which may be ABSENT."""
    if old is ABSENT or new is ABSENT:
        return old is not new
    return key_of(old) != key_of(new)


def _resolved(schema: Any, root: Any) -> Any:
    """Return the schema that a local reference names; the schema itself if it is no such
    reference.
    """
    for _ in range(_MAX_DEPTH):
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
    """Return the types that it accepts, None for any."""
    found = schema.get("type")
    if isinstance(found, str):
        return frozenset({found})
    if isinstance(found, list):
        return frozenset(one for one in found if isinstance(one, str))
    for name in _UNIONS:
        branches = schema.get(name)
        if isinstance(branches, list) and branches and _are_types(branches):
            return frozenset(kind for branch in branches for kind in _types_of(branch) or ())
    return None


def _are_types(branches: list[Any]) -> bool:
    """Return whether each branch has a type of its own, which identifies it."""
    return all(isinstance(branch, dict) and "type" in branch for branch in branches)


def _type_or_types(schema: dict[str, Any]) -> Any:
    if "type" in schema:
        return schema["type"]
    types = _types_of(schema)
    return ABSENT if types is None else sorted(types)


def _within(some: frozenset[str], all_: frozenset[str]) -> bool:
    """Return whether all of these are among those; an integer is a number."""
    return all(one in all_ or (one == "integer" and "number" in all_) for one in some)


def _values_of(schema: dict[str, Any]) -> dict[bytes, Any] | None:
    """Return the values that it accepts, None for any."""
    if isinstance(schema.get("enum"), list):
        return {key_of(value): value for value in schema["enum"]}
    return {key_of(schema["const"]): schema["const"]} if "const" in schema else None


def _is_tighter(name: str, old: Any, new: Any) -> bool | None:
    """Return whether the new constraint accepts less; None if that cannot be decided."""
    if name == "uniqueItems":
        return bool(new is True)
    if old is ABSENT or new is ABSENT:
        return bool(old is ABSENT)
    if name in _TIGHTER_IF_PRESENT or not all(isinstance(one, int | float) for one in (old, new)):
        return None
    return bool(new > old) is (name in _TIGHTER_ABOVE)


def _accepts_all(schema: Any) -> bool:
    return schema is True or schema == {}


def _as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _string_set(value: Any) -> set[str]:
    return {one for one in value if isinstance(one, str)} if isinstance(value, list) else set()
