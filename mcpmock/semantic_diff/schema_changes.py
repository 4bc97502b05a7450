"""Two JSON Schemas compared: what a server accepts (input) or promises to return (output), and
whether the change breaks its users.

The two uses are judged the opposite way: to accept less breaks callers, to return more breaks
readers. Both schemas are read in their normal form (`schema_forms`) and compared type by type:
alternatives are paired, and each change is said at the keyword that makes it. A change counts only
if no other alternative makes up for it. What cannot be read is said to be not compared. Used by
`catalog_changes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain, zip_longest
from typing import Any

import attrs

from .normalize import key_of
from .schema_document import EVERYTHING, Schema, SchemaDocument, changed_references
from .schema_forms import (
    OBJECTS,
    Alternative,
    Contained,
    FormReader,
    SchemaBound,
    SchemaForm,
    SchemaValue,
)
from .schema_keywords import LOWER, SCALARS, TYPES, UPPER, note_rule
from .schema_values import is_multiple, is_number, value_key
from .severity import ABSENT, Change, DocumentPath, Item, ValuePath

_MAX_STEPS = 80
"""Of a path; what is deeper is not compared."""
_MAX_COMPARED = 4_000
"""Pairs of schemas, each with its alternatives; what of a larger document is left is not
compared.
"""
_MAX_PROOFS = 500
"""Pairs of alternatives that are looked at for one that makes up for another; those beyond are
taken as different.
"""
_NOT_COMPARED = "schema-not-compared"
_SAME, _LESS, _MORE, _BOTH = 0, 1, 2, 3
"""Whether the new schema accepts less or more; both also where that is not known."""


@attrs.frozen
class Use:
    """What a schema is used for: what the names of its rules begin with."""

    field: str
    """In the names of rules for a property: `argument-removed`, `output-field-removed`."""
    prefix: str
    """In the names of other rules: `type-changed`, `output-type-changed`."""


INPUT, OUTPUT = Use("argument", ""), Use("output-field", "output-")


@attrs.frozen
class SchemaChange:
    """A change of one keyword, and what it does to what is accepted."""

    kind: str
    """The first word of its rule, or the rule."""
    effect: int
    path: ValuePath
    old: Any = ABSENT
    new: Any = ABSENT

    def reversed(self) -> SchemaChange:
        """Return the change of what this must not be."""
        effect = {_LESS: _MORE, _MORE: _LESS}.get(self.effect, self.effect)
        kind = "constraint" if self.kind in _MEMBER_KINDS else self.kind
        return attrs.evolve(self, effect=effect, kind=kind)

    def rule(self, use: Use) -> str:
        """Return the name of the rule that judges it."""
        if self.kind in _MEMBER_KINDS:
            kind = self.kind
            if kind == "required-new":
                kind = "required" if use is INPUT else "added"
            closed = use is OUTPUT and kind == "added" and self.effect & _MORE
            return "closed-output-field-added" if closed else f"{use.field}-{kind}"
        if self.kind not in _WORDS:
            return self.kind
        words, worse = _WORDS[self.kind], _LESS if use is INPUT else _MORE
        effect = self.effect
        if effect == _BOTH and self.kind != "type":
            effect = worse
        return f"{use.prefix}{self.kind}-{words[effect]}"


_WORDS = {
    "type": {_LESS: "narrowed", _MORE: "widened", _BOTH: "changed"},
    "enum": {_LESS: "narrowed", _MORE: "widened"},
    "constraint": {_LESS: "tightened", _MORE: "loosened"},
}
_MEMBER_KINDS = {"added", "required-new", "removed", "required", "optional"}


def schema_changes(old: Any, new: Any, path: ValuePath, use: Use) -> Iterator[Change]:
    """Yield the changes from one schema to the other; `path` leads to both."""
    if key_of(old) == key_of(new):
        return
    told = set()
    for found in _all_changes(old, new, use):
        change = Change(found.rule(use), (*path, *found.path), found.old, found.new)
        key = (
            change.rule,
            change.path,
            *(b"" if one is ABSENT else key_of(one) for one in (found.old, found.new)),
        )
        if key not in told:
            told.add(key)
            yield change


def _all_changes(old: Any, new: Any, use: Use) -> Iterator[SchemaChange]:
    try:
        yield from _Comparer.of(old, new).root_changes(objects_only=use is INPUT)
    except RecursionError:
        yield SchemaChange(_NOT_COMPARED, _BOTH, ())


@attrs.define
class _Proofs:
    """What is known of which schema accepts all that another one accepts."""

    known: dict[tuple[Any, ...], bool] = attrs.field(factory=dict)
    _order: list[tuple[Any, ...]] = attrs.field(factory=list)

    left: int = _MAX_PROOFS

    def hold(self, key: tuple[Any, ...], prove: Callable[[], bool]) -> bool:
        """Return the answer to a question, which counts as proved while it is being looked for."""
        if key in self.known or not self.left:
            return self.known.get(key, False)
        self.left -= 1
        self.known[key] = True
        start = len(self._order)
        self._order.append(key)
        if not prove():
            # What was proved meanwhile may rest on it.
            for one in self._order[start:]:
                del self.known[one]
            del self._order[start:]
            self.known[key] = False
        return self.known[key]


@attrs.define
class _Comparer:
    old: FormReader
    new: FormReader
    changed: set[str] | None
    """The references that name something else; None where equal ones may do so anyway."""
    proofs: _Proofs = attrs.field(factory=_Proofs)
    budget: list[int] = attrs.field(factory=lambda: [_MAX_COMPARED])
    seen: set[tuple[Any, ...]] = attrs.field(factory=set)
    """The pairs that were compared here: a schema may refer to itself."""
    mask: int = _BOTH
    """The effects that count here."""
    side: bool = False
    """Whether this is inside of an odd number of `not`."""

    @classmethod
    def of(cls, old: Any, new: Any) -> _Comparer:
        documents = SchemaDocument(old), SchemaDocument(new)
        plain = all(one.has_one_base for one in documents)
        changed = changed_references(*documents) if plain else None
        return cls(FormReader(documents[0]), FormReader(documents[1]), changed)

    def root_changes(self, *, objects_only: bool) -> Iterator[SchemaChange]:
        """Yield all changes. With `objects_only` whether other values are accepted does not matter
        if either schema accepts none.
        """
        old, new = self.old.document.schema, self.new.document.schema
        if objects_only:
            # The arguments of a tool are an object, whether its schema says so or not.
            forms = self.old.form(old), self.new.form(new)
            if [{*form.types} == {"object"} for form in forms] in ([True, False], [False, True]):
                old, new = (_as_object(*pair) for pair in zip((old, new), forms, strict=True))
        yield from self.changes(old, new)

    def changes(self, old: Schema, new: Schema) -> Iterator[SchemaChange]:
        """Yield the changes from one schema to the other."""
        if self._written_the_same(old, new):
            return
        key = self.old.document.identity(old), self.new.document.identity(new), self.side, self.mask
        if key in self.seen:
            return
        self.seen.add(key)
        self.budget[0] -= 1
        if self.budget[0] < 0:
            yield SchemaChange(_NOT_COMPARED, _BOTH, ())
            return
        if max((len(part.path) for part in (*old, *new)), default=0) > _MAX_STEPS:
            yield SchemaChange(_NOT_COMPARED, _BOTH, _where(_at(old), _at(new)))
            return
        if not old or not new:
            reader, schema = (self.new, new) if new else (self.old, old)
            if not reader.form(schema).is_everything:
                effect = _LESS if new else _MORE
                where = _where(_at(old), _at(new))
                yield SchemaChange("constraint", effect, where, _raw(old), _raw(new))
            return
        forms = self.old.form(old), self.new.form(new)
        alternatives = sum(len(row) for form in forms for row in form.types.values())
        self.budget[0] -= alternatives
        yield from self._form_changes(*forms, old, new)

    def _written_the_same(self, old: Schema, new: Schema) -> bool:
        if self.changed is None:
            return False
        sides = [
            [reader.document.written(part) for part in schema]
            for reader, schema in ((self.old, old), (self.new, new))
        ]
        keys = [sorted(key for key, _ in side) for side in sides]
        return keys[0] == keys[1] and not any(names & self.changed for _, names in sides[0])

    def _form_changes(
        self, old: SchemaForm, new: SchemaForm, before: Schema, after: Schema
    ) -> Iterator[SchemaChange]:
        yield from _unfollowed(old, new)
        yield from self._overlap_changes(old, new)
        here = _where(_at(before), _at(after))
        if not old.types or not new.types:
            if old.types or new.types:
                effect = _LESS if old.types else _MORE
                yield SchemaChange("constraint", effect, here, _raw(before), _raw(after))
            return
        found = [*_type_changes(old, new, here)]
        yield from found
        numbers = [form.type_words & {"number", "integer"} for form in (old, new)]
        typed = bool(found) and numbers[0] != numbers[1]
        rows = [(old.types.get(kind, []), new.types.get(kind, [])) for kind in TYPES]
        pairs = [pair for row in rows for pair in self._paired(*row)]
        for one, other, effects in pairs:
            yield from self._alternative_changes(one, other, effects, typed=typed)
        if not any(one and other for one, other, _ in pairs):
            yield from _note_changes(old.notes, new.notes)

    def _paired(
        self, old: list[Alternative], new: list[Alternative]
    ) -> Iterator[tuple[Alternative | None, Alternative | None, int]]:
        """Yield pairs of one type, and the effects that no other alternative makes up for."""
        if not old or not new:  # `_type_changes` reports the type.
            return
        if len(old) == len(new) == 1:
            yield old[0], new[0], _BOTH
            return
        pairs, old_rest, new_rest = self._equal_ones(old, new)
        for one, other in pairs:
            yield one, other, _SAME
        tag = self._tag(old_rest, new_rest)
        if tag is None:
            both = min(len(old_rest), len(new_rest))
            pairs = list(zip(old_rest[:both], new_rest[:both], strict=True))
            old_rest, new_rest = old_rest[both:], new_rest[both:]
        else:
            pairs, old_rest, new_rest = self._by_tag(tag, old_rest, new_rest)
        for one, other in pairs:
            less = _SAME if self._is_covered(one, new, _LESS) else _LESS
            more = _SAME if self._is_covered(other, old, _MORE) else _MORE
            yield one, other, less | more
        for one in old_rest:
            if not self._is_covered(one, new, _LESS):
                yield one, None, _LESS
        for other in new_rest:
            if not self._is_covered(other, old, _MORE):
                yield None, other, _MORE

    def _equal_ones(
        self, old: list[Alternative], new: list[Alternative]
    ) -> tuple[list[tuple[Alternative, Alternative]], list[Alternative], list[Alternative]]:
        pairs: list[tuple[Alternative, Alternative]] = []
        old_rest, new_rest = [], [*new]
        places = {id(other): number for number, other in enumerate(new)}
        for place, one in enumerate(old):
            # One with the same members, and then the one at its turn, is the most likely.
            near = sorted(
                new_rest,
                key=lambda o: (o.named.keys() != one.named.keys(), abs(places[id(o)] - place)),
            )
            equal = (o for o in near if self._accepts(one, o, _BOTH))
            found = next(equal, None)
            if found is None:
                old_rest.append(one)
            else:
                new_rest = [other for other in new_rest if other is not found]
                pairs.append((one, found))
        return pairs, old_rest, new_rest

    def _tag(self, old: list[Alternative], new: list[Alternative]) -> str | None:
        """Return the member that says which alternative of a union a value is."""
        rows = [(self.old, one) for one in old], [(self.new, one) for one in new]
        if not old or old[0].type != "object":
            return None
        named = [
            str(one.value.get("propertyName"))
            for alternative in (*old, *new)
            for one in alternative.notes.get("discriminator", ())
            if isinstance(one.value, dict)
        ]
        for name in dict.fromkeys((*named, *old[0].named)):
            tags = [[reader.tags(one, name) for reader, one in row] for row in rows]
            if all(chain(*tags)) and all(
                len(set().union(*row)) == sum(map(len, row)) for row in tags
            ):
                return name
        return None

    def _by_tag(
        self, tag: str, old: list[Alternative], new: list[Alternative]
    ) -> tuple[list[tuple[Alternative, Alternative]], list[Alternative], list[Alternative]]:
        pairs, rest, left = [], [], [*new]
        for one in old:
            tags = self.old.tags(one, tag)
            found = next((o for o in left if self.new.tags(o, tag) & tags), None)
            if found is None:
                rest.append(one)
            else:
                left = [other for other in left if other is not found]
                pairs.append((one, found))
        return pairs, rest, left

    def _is_covered(self, one: Alternative, others: list[Alternative], effect: int) -> bool:
        """Return whether one of the other side's alternatives accepts all that this one does."""
        for other in others:
            pair = (one, other) if effect is _LESS else (other, one)
            if self._accepts(*pair, effect):
                return True
        return False

    def _accepts(self, old: Alternative, new: Alternative, effect: int) -> bool:
        """Return whether certainly no change from one to the other has this effect."""
        key = old.type, old.parts, new.parts, effect

        def prove() -> bool:
            inner = attrs.evolve(self, seen=set(), mask=_BOTH, side=False)
            found = inner._alternative_changes(old, new, effect, typed=False)
            return not any(change.effect & effect for change in found)

        return self.proofs.hold(key, prove)

    def _schemas_accept(self, old: Schema, new: Schema, effect: int) -> bool:
        inner = attrs.evolve(self, seen=set(), mask=_BOTH, side=False)
        return not any(change.effect & effect for change in inner.changes(old, new))

    def _alternative_changes(
        self, old: Alternative | None, new: Alternative | None, effects: int, *, typed: bool
    ) -> Iterator[SchemaChange]:
        """Yield the changes that have one of these effects, and those of notes."""
        if old is None or new is None:
            place = old or new
            assert place is not None
            where = _where(_path(old), _path(new))
            shown = [ABSENT if one is None else one.raw for one in (old, new)]
            yield SchemaChange("type", effects, where, *shown)
            return
        counted = effects
        if self.side:
            counted = _SAME | (effects & _LESS and _MORE) | (effects & _MORE and _LESS)
        inner = attrs.evolve(self, mask=self.mask & counted)
        for change in inner._keyword_changes(old, new, typed=typed):
            if change.effect & effects or not change.effect:
                yield attrs.evolve(change, effect=change.effect & effects)
        yield from _note_changes(old.notes, new.notes)

    def _keyword_changes(
        self, old: Alternative, new: Alternative, *, typed: bool
    ) -> Iterator[SchemaChange]:
        less = new.integer and not old.is_whole_number
        if not typed and (less or (old.integer and not new.is_whole_number)):
            words = ["integer" if one.integer else "number" for one in (old, new)]
            effect = _LESS if less else _MORE
            yield SchemaChange("type", effect, _where(old.path, new.path), *words)
        if old.values is not None or new.values is not None:
            yield from _value_changes(old, new)
        if not any(one.values is not None and one.type in SCALARS for one in (old, new)):
            yield from _bound_changes(old, new)
            yield from _demand_changes(old, new)
        if old.type == "object":
            yield from self._object_changes(old, new)
        elif old.type == "array":
            yield from self._array_changes(old, new)
        for key in dict.fromkeys((*old.inner, *new.inner)):
            yield from self.changes(old.inner.get(key, ()), new.inner.get(key, ()))
        yield from self._negation_changes(old, new)
        yield from self._condition_changes(old, new)

    def _object_changes(self, old: Alternative, new: Alternative) -> Iterator[SchemaChange]:
        for name in {**old.named, **new.named}:
            yield from self._member_changes(name, old, new)
        for name in dict.fromkeys((*old.required, *new.required)):
            # A name may be required that `properties` lacks.
            if name not in old.named and name not in new.named:
                yield from _required_changes(name, old, new, None)
        for pattern in {p: None for one in (old, new) for f in one.frames for p in f.patterns}:
            yield from self._pattern_changes(pattern, old, new)
        yield from self.changes(old.others, new.others)
        for name in dict.fromkeys((*old.dependent, *new.dependent)):
            rows = old.dependent.get(name, {}), new.dependent.get(name, {})
            less = any(other not in {*rows[0], *old.required, name} for other in rows[1])
            more = any(other not in {*rows[1], *new.required, name} for other in rows[0])
            if less or more:
                at = [next(iter(row.values()), None) for row in rows]
                yield _located("constraint", _effect(less, more), *at)

    def _member_changes(
        self, name: str, old: Alternative, new: Alternative
    ) -> Iterator[SchemaChange]:
        one, other = old.member(name), new.member(name)
        here = _where(_at(one), _at(other))
        if name in old.named and name in new.named:
            yield from _required_changes(name, old, new, here)
            for change in self.changes(one, other):
                # A default says nothing to callers who had to give a value.
                newly = change.kind == "default-changed" and change.old is ABSENT
                its = (*_where(None, _at(other)), "default")
                if not (newly and name in old.required and change.path == its):
                    yield change
        elif name in old.named:
            form = self.new.form(other)
            here = _where(_at(one), None)
            if form.is_everything or form.is_nothing:
                had, has = name in old.required, name in new.required
                freed = form.is_everything and not self.old.form(one).is_everything
                effect = _effect(form.is_nothing or has > had, freed or had > has)
                yield SchemaChange("removed", effect, here, _raw(one))
            else:
                yield from _required_changes(name, old, new, here)
                yield from self.changes(one, other)
        else:
            form, here = self.old.form(one), _where(None, _at(other))
            less = name in new.required and name not in old.required
            kind = "required-new" if less else "added"
            if form.is_everything or form.is_nothing:
                less = less or (not form.is_nothing and not self.new.form(other).is_everything)
                effect = _effect(less, form.is_nothing)
                yield SchemaChange(kind, effect, here, ABSENT, _raw(other))
            else:
                yield SchemaChange(kind, _effect(less, False), here, ABSENT, _raw(other))
                yield from self.changes(one, other)
            if name in old.required:
                yield from _required_changes(name, old, new, here)

    def _pattern_changes(
        self, pattern: str, old: Alternative, new: Alternative
    ) -> Iterator[SchemaChange]:
        one, other = old.matching(pattern), new.matching(pattern)
        yield from self.changes(one, other)
        # A name may match several patterns, and then all of them hold.
        had, has = [{p for frame in side.frames for p in frame.patterns} for side in (old, new)]
        if pattern not in had and had and not self.new.form(other).is_everything:
            yield SchemaChange("constraint", _LESS, _where(None, _at(other)), ABSENT, _raw(other))
        if pattern not in has and has and not self.old.form(one).is_everything:
            yield SchemaChange("constraint", _MORE, _where(_at(one), None), _raw(one))

    def _array_changes(self, old: Alternative, new: Alternative) -> Iterator[SchemaChange]:
        named = max((len(frame.first) for one in (old, new) for frame in one.frames), default=0)
        bounds = [one.bounds["maxItems"].value for one in (old, new) if "maxItems" in one.bounds]
        end = min(bounds, default=named + 1)
        for place in range(int(min(named, max(end, 0)))):
            yield from self.changes(old.item(place), new.item(place))
        if end > named:
            yield from self.changes(old.others, new.others)
        for one, other in zip_longest(old.contained, new.contained):
            yield from self._contained_changes(one, other)

    def _contained_changes(
        self, old: Contained | None, new: Contained | None
    ) -> Iterator[SchemaChange]:
        if old is None or new is None:
            schemas = [one.schema if one else EVERYTHING for one in (old, new)]
            where = _where(*map(_at, schemas))
            effect = _LESS if old is None else _MORE
            yield SchemaChange("constraint", effect, where, *map(_raw, schemas))
            return
        counted = old.most is not None or new.most is not None
        if counted and not self._schemas_accept(old.schema, new.schema, _BOTH):
            # To match less satisfies an upper bound and may miss a lower one.
            where = _where(_at(old.schema), _at(new.schema))
            yield SchemaChange("schema-changed", _BOTH, where, *map(_raw, (old.schema, new.schema)))
        else:
            yield from self.changes(old.schema, new.schema)
        least, most = (old.least, new.least), (old.most, new.most)
        if least[0].value != least[1].value:
            effect = _LESS if least[1].value > least[0].value else _MORE
            yield _located("constraint", effect, *least)
        highest = [math.inf if one is None else one.value for one in most]
        if highest[0] != highest[1]:
            yield _located("constraint", _LESS if highest[1] < highest[0] else _MORE, *most)

    def _negation_changes(self, old: Alternative, new: Alternative) -> Iterator[SchemaChange]:
        equal, mine, rest = [], [], [*new.negations]
        for one in old.negations:
            found = next((o for o in rest if self._schemas_accept(one, o, _BOTH)), None)
            if found is None:
                mine.append(one)
            else:
                rest = [other for other in rest if other is not found]
                equal.append((one, found))
        for one, other in (*equal, *zip_longest(mine, rest, fillvalue=EVERYTHING)):
            if one and other:
                yield from self._reversed_changes(one, other)
            else:
                effect = _MORE if one else _LESS
                where = _where(_at(one), _at(other))
                yield SchemaChange("constraint", effect, where, _raw(one), _raw(other))

    def _condition_changes(self, old: Alternative, new: Alternative) -> Iterator[SchemaChange]:
        for one, other in zip_longest(old.conditions, new.conditions, fillvalue=(EVERYTHING,) * 3):
            where = _where(_at(one[0]), _at(other[0]))
            if not one[0] or not other[0]:
                effect = _MORE if one[0] else _LESS
                yield SchemaChange("constraint", effect, where, _raw(one[0]), _raw(other[0]))
                continue
            same = self._schemas_accept(one[0], other[0], _BOTH)
            # `then` is about what `if` accepts.
            then = [(*side[1], *side[0]) if side[1] and same else side[1] for side in (one, other)]
            yield from self.changes(then[0], then[1])
            yield from self.changes(one[2], other[2])
            # Without `else`: not `if`, or `then`. Without `then`: `if` or `else`.
            if not one[2] and not other[2]:
                yield from self._reversed_changes(one[0], other[0])
            elif not one[1] and not other[1]:
                yield from self.changes(one[0], other[0])
            elif not same:
                yield SchemaChange("schema-changed", _BOTH, where, _raw(one[0]), _raw(other[0]))

    def _reversed_changes(self, old: Schema, new: Schema) -> Iterator[SchemaChange]:
        inner = attrs.evolve(self, side=not self.side)
        for change in inner.changes(old, new):
            if change.effect or change.kind not in _MEMBER_KINDS:  # else it only names a member
                yield change.reversed()

    def _overlap_changes(self, old: SchemaForm, new: SchemaForm) -> Iterator[SchemaChange]:
        """Yield the changed `oneOf`s with overlaps: what two branches accept is refused."""
        for one, other in zip_longest(old.exclusive, new.exclusive):
            same = (
                one
                and other
                and len(one[1]) == len(other[1])
                and all(
                    self._schemas_accept(before, after, _BOTH)
                    for before, after in zip(one[1], other[1], strict=True)
                )
            )
            if not same:
                where = _where(*(found[0] if found else None for found in (one, other)))
                yield SchemaChange("schema-changed", _BOTH, where)


def _effect(less: bool, more: bool) -> int:
    return (_LESS if less else _SAME) | (_MORE if more else _SAME)


def _type_changes(old: SchemaForm, new: SchemaForm, here: ValuePath) -> Iterator[SchemaChange]:
    before, after = old.type_words, new.type_words
    effect = _effect(not _within(before, after), not _within(after, before))
    if not effect:
        return
    lost, gained = [
        [one for kind in mine.types.keys() - theirs.types.keys() for one in mine.types[kind]]
        for mine, theirs in ((old, new), (new, old))
    ]
    sides = [[one for row in form.types.values() for one in row] for form in (old, new)]
    listed = [all(one.values_at for one in side) for side in (*sides, [*lost, *gained])]
    free = old.is_everything or new.is_everything
    if ((lost or gained) and listed[2]) or (free and any(listed[:2])):
        yield _values_changed(effect, *sides)
        return
    shown = [
        form.type_at.value if form.type_at else ABSENT if form.is_everything else sorted(words)
        for form, words in ((old, before), (new, after))
    ]
    if shown[0] == shown[1]:
        if old.types.keys() == new.types.keys():  # `multipleOf` makes integers of numbers
            return
        shown = [sorted(before), sorted(after)]  # another keyword, as `not`, excludes a type
    places = [_path(form.type_at) for form in (old, new)]
    yield SchemaChange("type", effect, _where(*places) if any(places) else here, *shown)


def _within(some: frozenset[str], all_: frozenset[str]) -> bool:
    """Return whether all of these are among those; an integer is a number."""
    return all(one in all_ or (one == "integer" and "number" in all_) for one in some)


def _value_changes(old: Alternative, new: Alternative) -> Iterator[SchemaChange]:
    less = old.values is None or not all(map(new.takes, old.values.values()))
    more = new.values is None or not all(map(old.takes, new.values.values()))
    if less or more:
        yield _values_changed(_effect(less, more), [old], [new])
    elif len(old.values_at) == len(new.values_at) == 1:
        one, other = old.values_at[0], new.values_at[0]
        lists = [at.value if at.path[-1] == "enum" else [] for at in (one, other)]
        orders = [[*map(value_key, row)] for row in lists]
        if orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1]):
            yield _located("list-reordered", _SAME, one, other)


def _values_changed(effect: int, old: list[Alternative], new: list[Alternative]) -> SchemaChange:
    places: list[DocumentPath | None] = []
    shown: list[Any] = []
    for side in (old, new):
        at = {one.path: one for alternative in side for one in alternative.values_at}
        if len(at) == 1:
            ((path, one),) = at.items()
            places.append(path)
            shown.append(one.value)
        else:
            places.append(side[0].path if at else None)
            values = [v for one in side for v in (one.values or {}).values()]
            shown.append(values if at else ABSENT)
    return SchemaChange("enum", effect, _where(*places), *shown)


def _bound_changes(old: Alternative, new: Alternative) -> Iterator[SchemaChange]:
    whole = old.is_whole_number or new.is_whole_number
    for table, sign in ((LOWER, 1), (UPPER, -1)):
        for name in table:
            one, other = old.bounds.get(name), new.bounds.get(name)
            ranks = [_rank(bound, sign, whole) for bound in (one, other)]
            if ranks[0] != ranks[1]:
                effect = _LESS if ranks[1] > ranks[0] else _MORE
                yield _located(
                    "constraint", effect, one.at if one else None, other.at if other else None
                )


def _rank(bound: SchemaBound | None, sign: int, whole: bool) -> tuple[Any, bool]:
    """Return what is the greater, the less the bound accepts."""
    if bound is None:
        return (-math.inf, False)
    if whole:
        return (sign * bound.for_integers(lower=sign > 0), False)
    return (sign * bound.value, bound.exclusive)


def _demand_changes(old: Alternative, new: Alternative) -> Iterator[SchemaChange]:
    for name in dict.fromkeys((*old.demands, *new.demands)):
        one, other = old.demands.get(name, {}), new.demands.get(name, {})
        less, more = other.keys() - one.keys(), one.keys() - other.keys()
        if name == "multipleOf":
            less, more = (
                {key for key in keys if not _follows(side[key].value, given, integer)}
                for keys, side, given, integer in (
                    (less, other, one, old.is_whole_number),
                    (more, one, other, new.is_whole_number),
                )
            )  # fmt: skip
        kind = "constraint"
        if less and more and name != "multipleOf":
            kind = "constraint-changed"  # which values match both is not known
        if less or more:
            first = [
                side[min(keys)] if keys else next(iter(side.values()), None)
                for side, keys in ((one, more), (other, less))
            ]
            yield _located(kind, _effect(bool(less), bool(more)), *first)


def _follows(multiple: Any, given: dict[bytes, SchemaValue], integer: bool) -> bool:
    """Return whether a value that is a multiple of one of these is one of this too."""
    known = [one.value for one in given.values()] + ([1] if integer else [])
    return any(is_number(one) and is_multiple(one, multiple) for one in known)


def _required_changes(
    name: str, old: Alternative, new: Alternative, here: ValuePath | None
) -> Iterator[SchemaChange]:
    one, other = old.required.get(name), new.required.get(name)
    if bool(one) is bool(other):
        return
    words = ("optional", "required") if other else ("required", "optional")
    if here is None:
        here = _where(*(at.path[:-1] if at else None for at in (one, other)))
        words = f"{name}: {words[0]}", f"{name}: {words[1]}"
    kind, effect = ("required", _LESS) if other else ("optional", _MORE)
    yield SchemaChange(kind, effect, here, *words)


def _unfollowed(old: SchemaForm, new: SchemaForm) -> Iterator[SchemaChange]:
    rows = [{value_key(at.value): at for at in form.unfollowed} for form in (old, new)]
    for key in [key for key in rows[0] if key in rows[1]]:
        yield _located(_NOT_COMPARED, _BOTH, rows[0].pop(key), rows[1].pop(key))
    for one, other in zip_longest(rows[0].values(), rows[1].values()):
        yield _located(_NOT_COMPARED, _BOTH, one, other)


def _note_changes(
    old: dict[str, list[SchemaValue]], new: dict[str, list[SchemaValue]]
) -> Iterator[SchemaChange]:
    """Yield the changes of descriptions, of notes and of keywords that are not judged."""
    for name in dict.fromkeys((*old, *new)):
        sides = [{key_of(at.value): at for at in notes.get(name, ())} for notes in (old, new)]
        gone = next((at for key, at in sides[0].items() if key not in sides[1]), None)
        come = next((at for key, at in sides[1].items() if key not in sides[0]), None)
        if gone or come:
            yield _located(note_rule(name), _SAME, gone, come)


def _located(
    kind: str, effect: int, old: SchemaValue | None, new: SchemaValue | None
) -> SchemaChange:
    where = _where(_path(old), _path(new))
    return SchemaChange(
        kind, effect, where, *(ABSENT if at is None else at.value for at in (old, new))
    )


def _where(old: DocumentPath | None, new: DocumentPath | None) -> ValuePath:
    """Return the place in both documents; in the old one alone where the ways to it part."""
    if old is None or new is None:
        way = new or old or ()
        return tuple(
            one if isinstance(one, str) else Item(*((None, one) if old is None else (one, None)))
            for one in way
        )
    found: list[str | Item] = []
    for place, one in enumerate(old):
        other = new[place] if place < len(new) else None
        if isinstance(one, str):
            found.append(one)
        else:
            found.append(Item(one, other if isinstance(other, int) else None))
    return tuple(found)


def _path(found: SchemaValue | Alternative | None) -> DocumentPath | None:
    return None if found is None else found.path


def _at(schema: Schema) -> DocumentPath | None:
    return schema[0].path if schema else None


def _raw(schema: Schema) -> Any:
    return schema[0].raw if schema else ABSENT


def _as_object(schema: Schema, form: SchemaForm) -> Schema:
    """Return a schema for objects alone, if it accepts any."""
    return (*schema, schema[0].inside(OBJECTS)) if "object" in form.types else schema
