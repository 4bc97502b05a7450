"""The normal form of a JSON Schema (2020-12): for each type, the alternatives that it accepts.

References, `allOf` and unions of one are put in place; `anyOf`, lists of types and enumerations
become alternatives; what says nothing of a type is left out; bounds of integers include their end.
So schemas of one meaning have, in nearly all cases, one form, and `schema_changes` compares those.
The schemas inside are read when they are compared: a schema may refer to itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

import attrs

from .schema_document import EVERYTHING, Schema, SchemaDocument, SchemaPart
from .schema_keywords import KEYWORDS, LOWER, SCALARS, TYPES, UPPER, KeywordEffect
from .schema_values import (
    EVERY_NAME,
    EVERY_TEXT,
    MAX_SEARCHED_CHARS,
    exact,
    is_multiple,
    is_number,
    is_readable,
    matches,
    type_of,
    value_key,
)
from .severity import DocumentPath

UNIONS = ("anyOf", "oneOf")
OBJECTS = {"type": "object"}
_TEXTS = {"type": "string"}
_DEMANDED = ("pattern", "format", "multipleOf", "uniqueItems")
_EXCLUSIVE = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}
_MAX_ALTERNATIVES = 128
"""What several unions combine to; more are not compared."""
_MAX_NESTED = 40
"""Schemas that a branch of a union stands in, without a member or item between them."""
_MAX_BRANCHES = 2_000
"""Of one union."""
_MAX_PARTS = 10_000
"""Of one normal form. Unions that refer to each other have twice as many with each further one."""


@attrs.frozen
class SchemaValue:
    """A value in a schema, and where it stands."""

    value: Any
    path: DocumentPath


@attrs.frozen
class SchemaBound:
    """A bound of a number, or of how many there are: `minimum` is `exclusiveMinimum` too."""

    value: Fraction | float
    exclusive: bool
    at: SchemaValue

    def for_integers(self, *, lower: bool) -> Fraction | float:
        """Return the first or last integer within."""
        if math.isinf(self.value):  # it is written with more digits than a double has
            return self.value
        end = (math.ceil if lower else math.floor)(self.value)
        beyond = self.exclusive and end == self.value
        return end + (beyond if lower else -beyond)


@attrs.frozen
class MemberFrame:
    """The members or items that one schema names, and what holds of all others."""

    named: dict[str, SchemaPart] = attrs.field(factory=dict)
    patterns: dict[str, SchemaPart] = attrs.field(factory=dict)
    first: list[SchemaPart] = attrs.field(factory=list)
    rest: SchemaPart | None = None

    def member(self, name: str) -> Schema:
        found = [part for part in (self.named.get(name),) if part]
        found += [part for pattern, part in self.patterns.items() if matches(pattern, name)]
        return tuple(found) if found else self.others

    def item(self, place: int) -> Schema:
        return (self.first[place],) if place < len(self.first) else self.others

    @property
    def others(self) -> Schema:
        return () if self.rest is None else (self.rest,)


@attrs.frozen
class Contained:
    """`contains` with its numbers."""

    schema: Schema
    least: SchemaValue
    most: SchemaValue | None


@attrs.define(kw_only=True, eq=False)
class Alternative:
    """One way to be accepted, for values of one type."""

    type: str
    path: DocumentPath
    """The branch of a union, or the schema."""
    parts: frozenset[int] = frozenset()
    """The identities of the parts that say it."""
    raw: Any = None
    """What stands there."""
    integer: bool = False
    values: dict[bytes, Any] | None = None
    """The only values; None for any."""
    values_at: list[SchemaValue] = attrs.field(factory=list)
    bounds: dict[str, SchemaBound] = attrs.field(factory=dict)
    demands: dict[str, dict[bytes, SchemaValue]] = attrs.field(factory=dict)
    frames: list[MemberFrame] = attrs.field(factory=list)
    required: dict[str, SchemaValue] = attrs.field(factory=dict)
    dependent: dict[str, dict[str, SchemaValue]] = attrs.field(factory=dict)
    inner: dict[tuple[str, ...], Schema] = attrs.field(factory=dict)
    """`propertyNames` and `dependentSchemas`: more of them accept less."""
    contained: list[Contained] = attrs.field(factory=list)
    negations: list[Schema] = attrs.field(factory=list)
    conditions: list[tuple[Schema, Schema, Schema]] = attrs.field(factory=list)
    notes: dict[str, list[SchemaValue]] = attrs.field(factory=dict)

    @property
    def is_whole_number(self) -> bool:
        """Whether it accepts integers alone."""
        if self.values is not None:
            return all(is_number(one) and is_multiple(one, 1) for one in self.values.values())
        multiples = self.demands.get("multipleOf", {}).values()
        return self.integer or any(is_multiple(one.value, 1) for one in multiples)

    @property
    def is_whole_type(self) -> bool:
        """Whether it accepts all values of its type."""
        return self.values in (None, _ALL_VALUES.get(self.type)) and not (
            self.integer
            or self.bounds
            or self.demands
            or self.frames
            or self.required
            or self.dependent
            or self.inner
            or self.contained
            or self.negations
            or self.conditions
        )

    @cached_property
    def named(self) -> dict[str, None]:
        """The members that it names, in order."""
        return {name: None for frame in self.frames for name in frame.named}

    def member(self, name: str) -> Schema:
        return tuple(chain.from_iterable(frame.member(name) for frame in self.frames))

    def item(self, place: int) -> Schema:
        return tuple(chain.from_iterable(frame.item(place) for frame in self.frames))

    def matching(self, pattern: str) -> Schema:
        """Return what holds of a member that matches this pattern alone."""
        return tuple(
            chain.from_iterable(
                (frame.patterns[pattern],) if pattern in frame.patterns else frame.others
                for frame in self.frames
            )
        )

    @property
    def others(self) -> Schema:
        """What holds of members or items that are not named."""
        return tuple(chain.from_iterable(frame.others for frame in self.frames))

    def takes(self, value: Any) -> bool:
        """Return whether its values, or of a scalar its bounds and demands, accept this one."""
        if self.values is not None:
            return value_key(value) in self.values
        return self.type not in SCALARS or self._fits(value)

    def _fits(self, value: Any) -> bool:
        """Return whether a scalar is within the bounds and demands, as far as those are known."""
        measured = len(value) if isinstance(value, str) else value
        if self.integer and not is_multiple(measured, 1):
            return False
        for name, bound in self.bounds.items():
            one, other = (bound.value, measured) if name in LOWER else (measured, bound.value)
            if one > other or (one == other and bound.exclusive):
                return False
        patterns = self.demands.get("pattern", {}).values()
        multiples = self.demands.get("multipleOf", {}).values()
        return all(matches(str(one.value), value) for one in patterns) and all(
            is_multiple(value, one.value) for one in multiples
        )


@attrs.define
class SchemaForm:
    """What a schema accepts: for each type the alternatives."""

    types: dict[str, list[Alternative]] = attrs.field(factory=dict)
    notes: dict[str, list[SchemaValue]] = attrs.field(factory=dict)
    """What is said of all alternatives."""
    type_at: SchemaValue | None = None
    unfollowed: list[SchemaValue] = attrs.field(factory=list)
    """What could not be read: references that lead elsewhere, unions that are too large."""
    exclusive: list[tuple[DocumentPath, list[Schema]]] = attrs.field(factory=list)
    """The `oneOf` whose branches may accept the same value."""

    @property
    def is_everything(self) -> bool:
        return all(map(self.is_whole_type, TYPES))

    def is_whole_type(self, kind: str) -> bool:
        """Return whether it certainly accepts all values of a type."""
        known = not (self.unfollowed or self.exclusive)
        return known and any(one.is_whole_type for one in self.types.get(kind, ()))

    @property
    def is_nothing(self) -> bool:
        return not self.unfollowed and not self.types

    @property
    def type_words(self) -> frozenset[str]:
        words = {kind for kind in self.types if kind != "number"}
        numbers = self.types.get("number", ())
        return frozenset(
            words
            | (
                {"integer" if all(one.is_whole_number for one in numbers) else "number"}
                if numbers
                else set()
            )
        )


@attrs.define(eq=False)
class FormReader:
    """Reads the forms of one document, each once."""

    document: SchemaDocument
    _forms: dict[tuple[tuple[int, ...], tuple[DocumentPath, ...]], SchemaForm] = attrs.field(
        factory=dict
    )
    _anywhere: dict[tuple[int, ...], SchemaForm] = attrs.field(factory=dict)
    """The forms by their parts alone: schemas that refer to each other have endless paths."""
    _open: set[tuple[int, ...]] = attrs.field(factory=set)

    def form(self, schema: Schema) -> SchemaForm:
        """Return the normal form."""
        parts = tuple(id(part.raw) for part in schema)
        key = parts, tuple(part.path for part in schema)
        if key not in self._forms:
            self._open.add(parts)
            self._forms[key] = self._anywhere[parts] = _Reader(self).form(schema)
            self._open.discard(parts)
        return self._forms[key]

    def form_unless_open(self, schema: Schema) -> SchemaForm | None:
        """Return the normal form, perhaps with other paths; None if it is being read, because it
        refers to itself.
        """
        parts = tuple(id(part.raw) for part in schema)
        return None if parts in self._open else self._anywhere.get(parts) or self.form(schema)

    def tags(self, alternative: Alternative, name: str) -> set[bytes]:
        """Return the few values that a member may have; empty for any."""
        form = self.form_unless_open(alternative.member(name))
        found: set[bytes] = set()
        for one in chain.from_iterable(form.types.values() if form else ()):
            if not one.values_at:
                return set()
            found |= (one.values or {}).keys()
        return found


_Flats = tuple[SchemaPart, ...]
"""Parts whose own keywords must all hold; `allOf` and the like are taken out."""


@attrs.define
class _Reader:
    reader: FormReader
    found: SchemaForm = attrs.field(factory=SchemaForm)
    _has_unions: bool = False
    _left: int = _MAX_PARTS

    def form(self, schema: Schema) -> SchemaForm:
        shared: list[SchemaPart] = []
        choices = self._choices(schema, frozenset(), shared)
        form = self.found
        form.notes = _notes(shared)
        form.type_at = next(
            (SchemaValue(p.raw["type"], (*p.path, "type")) for p in shared if "type" in p.raw), None
        )
        whole = schema[0] if schema else SchemaPart(True, None, ())
        for flats in choices if self._left >= 0 else ():
            here = next((part for part in flats if part not in shared), whole)
            for kind in TYPES:
                parts = sum(part.raw is not OBJECTS for part in schema)
                alternative = self._alternative(flats, kind, here, parts)
                if alternative is not None:
                    form.types.setdefault(kind, []).append(alternative)
        for kind in SCALARS:
            if kind in form.types:
                form.types[kind] = _with_joined_values(form.types[kind])
        return form

    def _choices(
        self, schema: Schema, above: frozenset[int], shared: list[SchemaPart]
    ) -> list[_Flats]:
        """Return the alternatives, each as parts without references, `allOf` and unions; `shared`
        takes the parts that all of them have. The schema is a branch of the schemas `above`.
        """
        unions: list[list[_Flats]] = []
        seen = set()
        todo = [(part, above) for part in reversed(schema)]
        while todo:
            part, outer = todo.pop()
            raw = part.raw
            if raw is False:
                return []
            if raw is True:
                continue
            if not isinstance(raw, dict):
                self.found.unfollowed.append(SchemaValue(raw, part.path))
                continue
            self.found.unfollowed += _unreadable(part)
            if id(raw) in above:  # a union that is its own branch
                return []
            self._left -= 1
            if len(above) > _MAX_NESTED or self._left < 0:
                self.found.unfollowed.append(SchemaValue("nested", part.path))
                return []
            if id(raw) in seen:
                continue
            seen.add(id(raw))
            shared.append(part)
            outer |= {id(raw)}
            more = [*self._put_in_place(part)]
            for name in UNIONS:
                branches = raw.get(name)
                if not isinstance(branches, list):
                    continue
                inside = [part.inside(one, name, i) for i, one in enumerate(branches)]
                if len(inside) == 1:
                    more += inside
                else:
                    rows = [self._choices((one,), outer, []) for one in inside]
                    self._note_overlap(name, part, inside, rows)
                    unions.append([flats for row in rows for flats in row])
            todo += ((one, outer) for one in reversed(more))
        choices: list[_Flats] = [tuple(shared)]
        for union in unions:
            self._has_unions = True
            most = _MAX_ALTERNATIVES if len(choices) > 1 else _MAX_BRANCHES
            if len(choices) * len(union) > most:
                self.found.unfollowed.append(SchemaValue("union", schema[0].path))
                continue
            choices = [(*one, *other) for one in choices for other in union]
        return choices

    def _put_in_place(self, part: SchemaPart) -> Iterator[SchemaPart]:
        raw = part.raw
        if "$ref" in raw:
            target = self.reader.document.referenced(part)
            if target is None:
                self.found.unfollowed.append(SchemaValue(raw["$ref"], (*part.path, "$ref")))
            else:
                yield target
        for name in ("$dynamicRef", "$recursiveRef"):
            if name in raw:
                self.found.unfollowed.append(SchemaValue(raw[name], (*part.path, name)))
        branches = raw.get("allOf")
        for i, branch in enumerate(branches if isinstance(branches, list) else ()):
            yield part.inside(branch, "allOf", i)

    def _note_overlap(
        self, name: str, part: SchemaPart, inside: list[SchemaPart], rows: list[list[_Flats]]
    ) -> None:
        if name != "oneOf":
            return
        seen: dict[str, list[Alternative]] = {}
        for row in rows:
            here: dict[str, list[Alternative]] = {}
            for flats in row:
                for kind in TYPES:
                    one = self._alternative(flats, kind, part, 1)
                    if one is not None:
                        here.setdefault(kind, []).append(one)
            for kind, alternatives in here.items():
                for one in alternatives:
                    if not all(self._are_apart(one, other) for other in seen.get(kind, ())):
                        branches: list[Schema] = [(branch,) for branch in inside]
                        self.found.exclusive.append(((*part.path, name), branches))
                        return
            for kind, alternatives in here.items():
                seen.setdefault(kind, []).extend(alternatives)

    def _are_apart(self, one: Alternative, other: Alternative) -> bool:
        """Return whether certainly no value is accepted by both."""
        if one.values is not None and other.values is not None:
            return not one.values.keys() & other.values.keys()
        for name in one.required.keys() & other.required.keys():
            tags = [self.reader.tags(side, name) for side in (one, other)]
            if tags[0] and tags[1] and not tags[0] & tags[1]:
                return True
        for name, upper in zip(LOWER, UPPER, strict=True):
            for lows, highs in ((one, other), (other, one)):
                low, high = lows.bounds.get(name), highs.bounds.get(upper)
                if low and high and low.value > high.value:
                    return True
        return False

    def _alternative(
        self, flats: _Flats, kind: str, here: SchemaPart, parts: int
    ) -> Alternative | None:
        """Return what these parts accept of one type; None if that is nothing."""
        found = Alternative(
            type=kind,
            path=here.path,
            raw=here.raw,
            values=_ALL_VALUES.get(kind),
            parts=frozenset(id(part.raw) for part in flats),
        )
        for part in flats:
            if not _has_type(part.raw, kind):
                return None
            found.integer = found.integer or (
                kind == "number" and "number" not in _type_list(part.raw)
            )
            if not _read_values(part, found):
                return None
            _read_bounds(part, found)
            _read_demands(part, found)
            _read_applicators(part, found)
            if kind == "object":
                _read_object(part, found)
            elif kind == "array":
                _read_array(part, found)
        self._read_unevaluated(flats, found, parts)
        found.notes = _notes(flats)
        return found if self._is_possible(found) else None

    def _read_unevaluated(self, flats: _Flats, found: Alternative, parts: int) -> None:
        """Put `unevaluatedProperties` in the place of `additionalProperties`, where that is all."""
        name = {"object": "unevaluatedProperties", "array": "unevaluatedItems"}.get(found.type)
        said = [part for part in flats if name in part.raw]
        if not said or name is None:
            return
        # It sees what stands beside it and in place below it, and of a union all branches that a
        # value fits (core 11.2, 11.3).
        elsewhere = found.inner or found.contained or found.negations or found.conditions
        if parts > 1 or said != [flats[0]] or self._has_unions or elsewhere:
            self.found.unfollowed.append(SchemaValue(said[0].raw[name], (*said[0].path, name)))
        elif not any(frame.rest for frame in found.frames):
            rest = said[0].inside(said[0].raw[name], name)
            free = said[0].inside(True)
            found.frames.append(
                MemberFrame(
                    dict.fromkeys(found.named, free),
                    {one: free for frame in found.frames for one in frame.patterns},
                    [free] * max((len(frame.first) for frame in found.frames), default=0),
                    rest,
                )
            )

    def _is_possible(self, found: Alternative) -> bool:
        """Settle what the keywords say together; return whether any value is left."""
        if found.type == "array":
            self._settle_contained(found)
            _settle_items(found)
        found.negations = [one for one in found.negations if not self._is_nothing(one, found.type)]
        if any(self._is_everything(one, found.type) for one in found.negations):
            return False
        found.conditions = [one for one in found.conditions if not self._is_met(*one, found.type)]
        _settle_required(found)
        found.inner = {
            key: schema
            for key, schema in found.inner.items()
            if not self._is_everything(
                tuple(part for part in schema if part.raw != _having(key[-1])),
                "string" if key == ("propertyNames",) else "object",
            )
        }
        least = found.bounds.get("minProperties")
        if least is not None and least.value <= len(found.required):
            del found.bounds["minProperties"]
        values = (found.values or {}).values()
        readable = "pattern" not in found.demands or (
            all(is_readable(one.value) for one in found.demands["pattern"].values())
            and all(len(one) <= MAX_SEARCHED_CHARS for one in values if isinstance(one, str))
        )
        if found.values is not None and found.type in SCALARS and readable:
            found.values = {k: v for k, v in found.values.items() if found._fits(v)}
            found.bounds.clear()
            found.demands.clear()
        for lower, upper in zip(LOWER, UPPER, strict=True):
            low, high = found.bounds.get(lower), found.bounds.get(upper)
            if low and high and low.value > high.value:
                return False
        if found.values == {}:
            return False
        return not any(self._accepts_nothing(found.member(name)) for name in found.required)

    def _settle_contained(self, found: Alternative) -> None:
        """Bound the number of items, where `contains` asks for any item."""
        contained, found.contained = found.contained, []
        for one in contained:
            form = self.reader.form_unless_open(one.schema)
            if form is None or not form.is_everything:
                found.contained.append(one)
                continue
            for name, at in (("minItems", one.least), ("maxItems", one.most)):
                if at is not None:
                    _tighten(found, name, SchemaBound(exact(at.value), False, at))

    def _is_met(self, given: Schema, then: Schema, otherwise: Schema, kind: str) -> bool:
        """Return whether every value of this type meets a condition."""
        is_everything, is_nothing = self._is_everything, self._is_nothing
        return (is_everything(then, kind) or is_nothing(given, kind)) and (
            is_everything(otherwise, kind) or is_everything(given, kind)
        )

    def _accepts_nothing(self, schema: Schema) -> bool:
        form = self.reader.form_unless_open(schema)
        return form is not None and form.is_nothing

    def _is_nothing(self, schema: Schema, kind: str) -> bool:
        form = self.reader.form_unless_open(schema)
        return form is not None and not form.unfollowed and kind not in form.types

    def _is_everything(self, schema: Schema, kind: str) -> bool:
        form = self.reader.form_unless_open(schema)
        return form is not None and form.is_whole_type(kind)


def _has_type(raw: dict[str, Any], kind: str) -> bool:
    types = _type_list(raw)
    return kind in types or (kind == "number" and "integer" in types)


def _type_list(raw: dict[str, Any]) -> list[str]:
    """Return the types that are named; `number` too where none is."""
    types = raw.get("type")
    if isinstance(types, str):
        return [types]
    return types if isinstance(types, list) else [*TYPES]


_ALL_VALUES: dict[str, dict[bytes, Any]] = {
    "null": {b"null": None},
    "boolean": {b"false": False, b"true": True},
}


def _read_values(part: SchemaPart, found: Alternative) -> bool:
    raw = part.raw
    for name in ("enum", "const"):
        if name not in raw or (name == "enum" and not isinstance(raw[name], list)):
            continue
        values = raw[name] if name == "enum" else [raw[name]]
        mine = {value_key(one): one for one in values if type_of(one) == found.type}
        known = found.values
        found.values = mine if known is None else {k: v for k, v in mine.items() if k in known}
        found.values_at.append(SchemaValue(raw[name], (*part.path, name)))
    return found.values != {}


def _read_bounds(part: SchemaPart, found: Alternative) -> None:
    for name, kind in (*LOWER.items(), *UPPER.items()):
        for bound in _bounds_of(part, name) if kind == found.type else ():
            _tighten(found, name, bound)


def _tighten(found: Alternative, name: str, bound: SchemaBound) -> None:
    if name in LOWER and found.type != "number" and bound.value <= 0:
        return
    known, sign = found.bounds.get(name), 1 if name in LOWER else -1
    if known is None or (sign * bound.value, bound.exclusive) > (
        sign * known.value,
        known.exclusive,
    ):
        found.bounds[name] = bound


def _bounds_of(part: SchemaPart, name: str) -> Iterator[SchemaBound]:
    for keyword in (name, _EXCLUSIVE.get(name, "")):
        value = part.raw.get(keyword)
        if is_number(value):
            # draft 4: `exclusiveMinimum: true` says that `minimum` is one.
            beside = keyword == name and part.raw.get(_EXCLUSIVE.get(name, "")) is True
            at = SchemaValue(value, (*part.path, keyword))
            yield SchemaBound(exact(value), keyword != name or beside, at)


def _read_demands(part: SchemaPart, found: Alternative) -> None:
    for name in _DEMANDED:
        value = part.raw.get(name)
        known = KEYWORDS[name]
        if found.type not in known.types or not isinstance(value, known.shape):
            continue
        if (name == "uniqueItems" and value is not True) or (
            name == "pattern" and value in EVERY_TEXT
        ):
            continue
        if name == "multipleOf" and is_number(value) and value == 1:
            found.integer = True
        elif not (name == "multipleOf" and found.integer and is_multiple(1, value)):
            here = found.demands.setdefault(name, {})
            here.setdefault(value_key(value), SchemaValue(value, (*part.path, name)))


def _read_applicators(part: SchemaPart, found: Alternative) -> None:
    raw = part.raw
    if "not" in raw:
        found.negations.append((part.inside(raw["not"], "not"),))
    if "if" in raw and ("then" in raw or "else" in raw):
        sides = [
            (part.inside(raw[name], name),) if name in raw else EVERYTHING
            for name in ("if", "then", "else")
        ]
        found.conditions.append((sides[0], sides[1], sides[2]))


def _read_object(part: SchemaPart, found: Alternative) -> None:
    raw = part.raw
    named, patterns = (
        {name: part.inside(inner, keyword, name) for name, inner in _object(raw, keyword)}
        for keyword in ("properties", "patternProperties")
    )
    rest = (
        part.inside(raw["additionalProperties"], "additionalProperties")
        if "additionalProperties" in raw
        else None
    )
    for everything in [patterns.pop(one) for one in [*patterns] if one in EVERY_NAME]:
        found.frames.append(MemberFrame(rest=everything))
        rest = None  # no name is left that matches no pattern
    if named or patterns or rest:
        found.frames.append(MemberFrame(named, patterns, [], rest))
    for i, name in enumerate(_strings(raw.get("required"))):
        found.required.setdefault(name, SchemaValue(name, (*part.path, "required", i)))
    if "propertyNames" in raw:
        of_text = part.inside(_TEXTS)
        here = part.inside(raw["propertyNames"], "propertyNames")
        found.inner[("propertyNames",)] = (*found.inner.get(("propertyNames",), (of_text,)), here)
    for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
        for name, value in _object(raw, keyword):
            if isinstance(value, dict) and value.keys() == {"required"}:
                value = value["required"]
            if isinstance(value, list):
                row = found.dependent.setdefault(name, {})
                for other in _strings(value):
                    row.setdefault(other, SchemaValue(value, (*part.path, keyword, name)))
            else:
                key = ("dependentSchemas", name)
                both = part.inside(value, keyword, name), part.inside(_having(name))
                found.inner[key] = (*found.inner.get(key, ()), *both)


def _read_array(part: SchemaPart, found: Alternative) -> None:
    raw = part.raw
    # Before 2020-12, `items` as a list was what `prefixItems` is now.
    older = isinstance(raw.get("items"), list)
    first, rest = ("items", "additionalItems") if older else ("prefixItems", "items")
    places = raw[first] if isinstance(raw.get(first), list) else []
    prefix = [part.inside(one, first, i) for i, one in enumerate(places)]
    others = part.inside(raw[rest], rest) if rest in raw and (places or rest == "items") else None
    if prefix or others:
        found.frames.append(MemberFrame({}, {}, prefix, others))
    if "contains" in raw:
        numbers = [raw.get(name) for name in ("minContains", "maxContains")]
        least = SchemaValue(numbers[0] if is_number(numbers[0]) else 1, (*part.path, "minContains"))
        most = (
            SchemaValue(numbers[1], (*part.path, "maxContains")) if is_number(numbers[1]) else None
        )
        if most is not None or least.value != 0:
            schema = (part.inside(raw["contains"], "contains"),)
            found.contained.append(Contained(schema, least, most))


@lru_cache(maxsize=1024)
def _having(name: str) -> dict[str, Any]:
    """Return the schema of an object with this member: `dependentSchemas` is about no other."""
    return {"type": "object", "required": [name]}


def _settle_required(found: Alternative) -> None:
    """Require what a required member requires."""
    todo = [*found.required]
    while todo:
        for name, value in found.dependent.pop(todo.pop(), {}).items():
            found.required.setdefault(name, value)
            todo.append(name)


def _settle_items(found: Alternative) -> None:
    """Say one thing in one way: no more items, or an upper bound."""
    most = found.bounds.get("maxItems")
    for frame in found.frames:
        if frame.rest is not None and frame.rest.raw is False:
            end = len(frame.first)
            if most is None or most.value > end:
                most = SchemaBound(Fraction(end), False, SchemaValue(False, frame.rest.path))
    if most is None:
        return
    found.bounds["maxItems"] = most
    free = most.value <= max((len(frame.first) for frame in found.frames), default=0)
    found.frames = [
        MemberFrame(
            first=[one for place, one in enumerate(frame.first, 1) if place <= most.value],
            rest=None if free else frame.rest,
        )
        for frame in found.frames
    ]


def _with_joined_values(row: list[Alternative]) -> list[Alternative]:
    """Return the alternatives of a scalar type with one for all enumerated values."""
    listed = [
        one for one in row if one.values is not None and not (one.negations or one.conditions)
    ]
    if len(listed) < 2:
        return row
    values = {key: value for one in listed for key, value in (one.values or {}).items()}
    notes: dict[str, list[SchemaValue]] = {}
    for one in listed:
        for name, said in one.notes.items():
            notes.setdefault(name, []).extend(said)
    places = [at for one in listed for at in one.values_at]
    parts = frozenset(chain.from_iterable(one.parts for one in listed))
    joined = attrs.evolve(
        listed[0], values=values, values_at=places, notes=notes, parts=parts | {len(values)}
    )
    return [joined, *(one for one in row if one not in listed)]


def _notes(flats: Iterable[SchemaPart]) -> dict[str, list[SchemaValue]]:
    found: dict[str, list[SchemaValue]] = {}
    for part in flats:
        for name, value in part.raw.items():
            known = KEYWORDS.get(name)
            if (
                known is None
                or known.effect is KeywordEffect.NOTE
                or not isinstance(value, known.shape)
            ):
                found.setdefault(name, []).append(SchemaValue(value, (*part.path, name)))
    return found


def _unreadable(part: SchemaPart) -> Iterator[SchemaValue]:
    """Yield the types that do not exist, and the patterns for names that Python cannot read."""
    for name in _type_list(part.raw):
        if name not in TYPES and name != "integer":
            yield SchemaValue(name, (*part.path, "type"))
    long = any(len(name) > MAX_SEARCHED_CHARS for name, _ in _object(part.raw, "properties"))
    for pattern, _ in _object(part.raw, "patternProperties"):
        if long or not is_readable(pattern):
            yield SchemaValue(pattern, (*part.path, "patternProperties", pattern))


def _object(raw: dict[str, Any], keyword: str) -> Iterable[tuple[str, Any]]:
    value = raw.get(keyword)
    return value.items() if isinstance(value, dict) else ()


def _strings(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
