"""Random JSON Schemas in pairs, and instances near to both: what the comparison of schemas is held
against by validation.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import cached_property
from random import Random
from typing import Any

import attrs
import jsonschema

from mcpmock.semantic_diff.schema_changes import INPUT, OUTPUT, Use, schema_changes
from mcpmock.semantic_diff.severity import RULES, Verdict

SEED = 20201212
EASY = 60
"""So many instances the tests try before they look at those that are kept."""
PAIRS = 500
"""How many pairs the tests judge."""
_NOTES = {"description-changed", "default-changed", "schema-note-changed"}
NAMES = ("a", "b", "c", "kind", "x-1")
WORDS = ("a", "b", "cat", "dog", "aa", "long text")
DEFINED = ("A", "B", "C")
REFUSED_BY_CHOICE = {
    "argument-removed": "the server no longer reads what callers send, though it accepts it",
    "output-field-removed": "readers look for a field that nothing promises any more",
}
"""Rules that are breaking whatever validation says."""
ALLOWED_BY_CHOICE = {
    "argument-added": "callers send no arguments that the old schema does not name",
}


class SchemaMaker:
    """Makes random schemas. Same dice, same schemas."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice

    def pair(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return a schema and one that differs in one to three places, or only in its form."""
        while True:
            old = {**self.object(2), "$defs": {name: self.schema(1) for name in DEFINED}}
            new = copy.deepcopy(old)
            for _ in range(self.dice.choice((1, 1, 1, 2, 3))):
                self.change(new)
            # What a schema means that is its own branch is not defined (core 9.4.1).
            if not any(
                _is_own_branch(root, root["$defs"][name]) for root in (old, new) for name in DEFINED
            ):
                return (new, old) if self.dice.random() < 0.5 else (old, new)

    def schema(self, depth: int) -> Any:
        makers: list[Callable[[int], Any]] = [self.text, self.number, self.listed, self.plain]
        if depth > 0:
            makers += [
                self.object, self.array, self.optional, self.union, self.reference, self.reference,
                self.all_of, self.closed_union, self.map,
                self.dice.choice((self.negation, self.condition, self.reference)),
            ]  # fmt: skip
        found = self.dice.choice(makers)(depth - 1)
        if isinstance(found, dict) and self.dice.random() < 0.1:
            found = {**found, "description": self.dice.choice(WORDS)}
        return found

    def plain(self, depth: int) -> Any:
        return self.dice.choice(
            [{}, True, {"type": "boolean"}, {"type": "null"}, {"type": ["string", "null"]},
             {"type": ["integer", "string"]}]
        )  # fmt: skip

    def text(self, depth: int) -> dict[str, Any]:
        more = {
            "minLength": self.dice.randrange(4), "maxLength": self.dice.randrange(2, 7),
            "pattern": self.dice.choice(("^a", "o", "^[a-z]+$")),
        }  # fmt: skip
        return {"type": "string", **self.some(more)}

    def number(self, depth: int) -> dict[str, Any]:
        at = self.dice.randrange(-2, 4)
        more = {
            "minimum": at, "exclusiveMinimum": at - 1, "maximum": at + self.dice.randrange(6),
            "exclusiveMaximum": at + 5, "multipleOf": self.dice.choice((1, 2, 3, 4, 0.5)),
        }  # fmt: skip
        return {"type": self.dice.choice(("number", "integer")), **self.some(more)}

    def listed(self, depth: int) -> dict[str, Any]:
        values = self.dice.sample([*WORDS, 1, 2, None, True], self.dice.randrange(1, 4))
        if self.dice.random() < 0.3:
            return {"const": values[0]}
        texts = all(isinstance(one, str) for one in values)
        return {
            "enum": values,
            **({"type": "string"} if texts and self.dice.random() < 0.5 else {}),
        }

    def object(self, depth: int) -> dict[str, Any]:
        names = self.dice.sample(NAMES, self.dice.randrange(1, 4))
        found: dict[str, Any] = {
            "type": "object",
            "properties": {name: self.schema(depth) for name in names},
            "required": [name for name in names if self.dice.random() < 0.5],
        }
        return found | self.some(
            {
                "additionalProperties": self.dice.choice((False, False, {"type": "string"})),
                "minProperties": self.dice.randrange(3), "maxProperties": self.dice.randrange(2, 5),
                "dependentRequired": {names[0]: [self.dice.choice(NAMES)]},
                "patternProperties": {"^x-": self.schema(0)},
                "propertyNames": {"maxLength": 4},
                "dependentSchemas": {names[0]: {"required": [self.dice.choice(NAMES)]}},
            },
            0.12,
        )  # fmt: skip

    def map(self, depth: int) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.schema(depth)}

    def array(self, depth: int) -> dict[str, Any]:
        more = {
            "items": self.schema(depth), "minItems": self.dice.randrange(3),
            "maxItems": self.dice.randrange(1, 4), "uniqueItems": True,
            "prefixItems": [self.schema(depth), self.schema(0)], "contains": self.schema(0),
        }  # fmt: skip
        return {"type": "array", **self.some(more, 0.35)}

    def optional(self, depth: int) -> dict[str, Any]:
        return {"anyOf": [self.schema(depth), {"type": "null"}], "default": None}

    def union(self, depth: int) -> dict[str, Any]:
        name = "oneOf" if self.dice.random() < 0.1 else "anyOf"
        return {name: [self.schema(depth) for _ in range(self.dice.randrange(1, 4))]}

    def closed_union(self, depth: int) -> dict[str, Any]:
        kinds = self.dice.sample(("cat", "dog", "bird"), self.dice.randrange(2, 4))
        branches = []
        for kind in kinds:
            branch = self.object(depth)
            branch["properties"]["kind"] = {"const": kind}
            branches.append({**branch, "required": sorted({*branch["required"], "kind"})})
        return {self.dice.choice(("anyOf", "oneOf")): branches}

    def reference(self, depth: int) -> dict[str, Any]:
        more = {"default": None, "minLength": 2, "minimum": 1, "description": "x"}
        return {"$ref": f"#/$defs/{self.dice.choice(DEFINED)}", **self.some(more, 0.1)}

    def all_of(self, depth: int) -> dict[str, Any]:
        return {
            "allOf": [self.object(depth), self.dice.choice((self.object, self.reference))(depth)]
        }

    def negation(self, depth: int) -> dict[str, Any]:
        return {"not": self.schema(depth)}

    def condition(self, depth: int) -> dict[str, Any]:
        sides = self.dice.choice((["then"], ["else"], ["then"], ["then", "else"]))
        return {"if": self.schema(depth), **{name: self.schema(depth) for name in sides}}

    def some(self, members: dict[str, Any], share: float = 0.3) -> dict[str, Any]:
        return {name: value for name, value in members.items() if self.dice.random() < share}

    def change(self, root: dict[str, Any]) -> None:
        """Change one place of a schema."""
        holder, key = self.dice.choice([*_used_places(root)])
        here = holder[key]
        way = self.dice.randrange(9)
        if not isinstance(here, dict) or way == 0:
            holder[key] = self.schema(1)
        elif way == 1:
            holder[key] = {"anyOf": [here, self.schema(1)]}
        elif way == 2:
            holder[key] = {self.dice.choice(("allOf", "anyOf", "oneOf")): [here]}
        elif way == 3 and here:
            here.pop(self.dice.choice([*here]))
        elif way == 4 and str(here.get("$ref", "")).startswith("#/$defs/"):
            target = root["$defs"][here["$ref"].removeprefix("#/$defs/")]
            if not isinstance(target, dict) or "$ref" not in str(target):
                holder[key] = {"allOf": [target, {k: v for k, v in here.items() if k != "$ref"}]}
        elif way == 5:
            other = self.schema(1)
            if isinstance(other, dict):
                here.update(other)
        elif way == 6 and isinstance(here.get("properties"), dict):
            here["properties"][self.dice.choice(NAMES)] = self.schema(1)
        elif way == 7 and isinstance(here.get("required"), list):
            here["required"] = sorted({*here["required"]} ^ {self.dice.choice(NAMES)})
        else:
            numbers = [name for name, value in here.items() if type(value) is int and value > 1]
            if numbers:
                here[self.dice.choice(numbers)] += self.dice.choice((-1, 1))
            elif isinstance(here.get("enum"), list):
                here["enum"] = [*here["enum"][1:], self.dice.choice(WORDS)]


def _is_own_branch(root: dict[str, Any], schema: Any, above: tuple[int, ...] = ()) -> bool:
    if not isinstance(schema, dict):
        return False
    if id(schema) in above:
        return True
    inner = [schema.get(name) for name in ("not", "if", "then", "else")]
    inner += [one for name in ("anyOf", "oneOf", "allOf") for one in schema.get(name, ())]
    inner += schema.get("dependentSchemas", {}).values()
    if "$ref" in schema:
        inner.append(root["$defs"][schema["$ref"].removeprefix("#/$defs/")])
    return any(_is_own_branch(root, one, (*above, id(schema))) for one in inner)


def _used_places(root: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield where schemas stand that count: those of the root, and what they refer to."""
    used: dict[str, None] = {}
    todo = [{name: value for name, value in root.items() if name != "$defs"}]
    while todo:
        schema = todo.pop()
        yield from _places(schema)
        for name in DEFINED:
            if f"#/$defs/{name}" in str(schema) and name not in used:
                used[name] = None
                yield root["$defs"], name
                todo.append(root["$defs"][name])


def _places(schema: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where schemas stand in a schema: the holder and its key."""
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if key in ("properties", "patternProperties", "dependentSchemas"):
            if isinstance(value, dict):
                for name in value:
                    yield value, name
                    yield from _places(value[name])
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for i, inner in enumerate(value):
                yield value, i
                yield from _places(inner)
        elif key in ("items", "additionalProperties", "not", "if", "then", "else", "contains"):
            yield schema, key
            yield from _places(value)


class InstanceMaker:
    """Makes values that a schema accepts, or nearly."""

    def __init__(self, root: Any, dice: Random) -> None:
        self.root = root
        self.dice = dice
        self.stray = 0.0
        """How often a value is any other one."""
        self.full = 0.5
        """How often an optional member is there."""

    def instance(self) -> Any:
        """Return a value for the whole schema."""
        self.stray = self.dice.choice((0.0, 0.0, 0.03, 0.1))
        self.full = self.dice.choice((0.0, 0.3, 0.6, 1.0))
        return self.near(self.root)

    def near(self, schema: Any, depth: int = 6) -> Any:
        """Return a value; most of what the schema says holds of it."""
        dice = self.dice
        if not isinstance(schema, dict) or depth < 0:
            return dice.choice((None, True, 0, 1, 2.5, "", "a", "cat", [], [1], {}, {"a": 1}))
        if dice.random() < self.stray:
            return self.near({}, 0)
        for name in ("anyOf", "oneOf"):
            if schema.get(name) and dice.random() < 0.9:
                rest = {k: v for k, v in schema.items() if k != name}
                return self.joined(rest, dice.choice(schema[name]), depth)
        if "allOf" in schema:
            rest = {k: v for k, v in schema.items() if k != "allOf"}
            for branch in schema["allOf"]:
                rest = self.merged(rest, branch)
            return self.near(rest, depth - 1)
        if "$ref" in schema:
            target = self.root["$defs"].get(schema["$ref"].removeprefix("#/$defs/"), {})
            rest = {k: v for k, v in schema.items() if k != "$ref"}
            return self.joined(rest, target, depth)
        for name in ("if", "then", "else", "not"):
            if name in schema and dice.random() < 0.4:
                return self.joined(
                    {k: v for k, v in schema.items() if k != name}, schema[name], depth
                )
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return dice.choice(schema["enum"])
        types = schema.get("type")
        kind = (
            dice.choice(types) if isinstance(types, list) and types else types or self.guess(schema)
        )
        return self.of_type(kind, schema, depth)

    def joined(self, schema: Any, other: Any, depth: int) -> Any:
        return self.near(self.merged(schema, other), depth - 1)

    def merged(self, one: Any, other: Any) -> Any:
        if not isinstance(other, dict) or not isinstance(one, dict):
            return one if other is True else other
        found = {**one, **other}
        for name in ("properties", "patternProperties"):
            if name in one and name in other:
                found[name] = {**one[name], **other[name]}
        if isinstance(one.get("required"), list) and isinstance(other.get("required"), list):
            found["required"] = [*one["required"], *other["required"]]
        return found

    def guess(self, schema: dict[str, Any]) -> str:
        if schema.keys() & {"properties", "required", "additionalProperties", "maxProperties"}:
            return "object"
        if schema.keys() & {"items", "prefixItems", "contains", "minItems"}:
            return "array"
        return self.dice.choice(("string", "number", "null", "boolean", "object", "array"))

    def of_type(self, kind: Any, schema: dict[str, Any], depth: int) -> Any:
        dice = self.dice
        match kind:
            case "null":
                return None
            case "boolean":
                return dice.random() < 0.5
            case "integer" | "number":
                ends = [
                    schema[k]
                    for k in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
                    if k in schema
                ]
                at = dice.choice([*ends, 0, 3])
                near = at + dice.choice(
                    (-1, 0, 0, 1, 1, 2, *((0.5, -0.5) if kind == "number" else ()))
                )
                return near * dice.choice((1, 1, schema.get("multipleOf", 1)))
            case "string":
                ends = [
                    schema[k] + d
                    for k in ("minLength", "maxLength")
                    for d in (-1, 0, 0, 1)
                    if k in schema
                ]
                if ends and dice.random() < 0.7:
                    return ("a" + "oxyzabcdef")[: max(0, int(dice.choice(ends)))]
                return dice.choice((*WORDS, "", "xo", "A1"))
            case "array":
                length = dice.choice(
                    [
                        schema.get("minItems", 0),
                        schema.get("maxItems", 2),
                        len(schema.get("prefixItems", ())),
                        1,
                        2,
                    ]
                )
                first = schema.get("prefixItems", [])
                rest = (
                    schema.get("contains", {})
                    if "contains" in schema and dice.random() < 0.5
                    else schema.get("items", {})
                )
                return [
                    self.near(first[i] if i < len(first) else rest, depth - 1)
                    for i in range(length)
                ]
            case _:
                return self.some_object(schema, depth)

    def some_object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        dice, named = self.dice, schema.get("properties", {})
        required = schema.get("required", ())
        found = {}
        for name in {**named, **dict.fromkeys(required)}:
            if dice.random() < (1 - self.stray / 2 if name in required else self.full):
                found[name] = self.near(named.get(name, {}), depth - 1)
        for name, others in self.dependents(schema).items():
            for other in others if name in found else ():
                found.setdefault(other, self.near(named.get(other, {}), depth - 1))
        if dice.random() < self.full / 3 or not named:
            name = dice.choice(NAMES)
            other = schema.get("additionalProperties", {})
            patterns = schema.get("patternProperties", {})
            if name.startswith("x-") and patterns:
                other = next(iter(patterns.values()))
            found.setdefault(name, self.near(other, depth - 1))
        return found

    def dependents(self, schema: dict[str, Any]) -> dict[str, list[str]]:
        more = schema.get("dependentSchemas", {}).items()
        return {
            **schema.get("dependentRequired", {}),
            **{name: one.get("required", []) for name, one in more if isinstance(one, dict)},
        }

    def neighbour(self, value: Any) -> Any:
        """Return a value that differs in one place: a bound and beside it, a member less or more,
        null, another type.
        """
        dice = self.dice
        if isinstance(value, dict) and value and dice.random() < 0.75:
            name = dice.choice([*value])
            if dice.random() < 0.3:
                return {k: v for k, v in value.items() if k != name}
            return {**value, name: self.neighbour(value[name])}
        if isinstance(value, list) and value and dice.random() < 0.7:
            place = dice.randrange(len(value))
            return [self.neighbour(one) if i == place else one for i, one in enumerate(value)]
        if isinstance(value, dict) and dice.random() < 0.7:
            return {**value, dice.choice(NAMES): self.near({}, 0)}
        if isinstance(value, list) and dice.random() < 0.7:
            return (
                [*value, *value[:1]]
                if value and dice.random() < 0.5
                else [*value, self.near({}, 0)]
            )
        if type(value) in (int, float) and dice.random() < 0.7:
            return value + dice.choice((-1, 1, 0.5))
        if isinstance(value, str) and dice.random() < 0.7:
            return value[:-1] if dice.random() < 0.5 else f"{value}o"
        return self.near({}, 0)


@attrs.frozen(slots=False)
class JudgedPair:
    """A random pair of schemas, with what the diff says of it."""

    number: int
    old: Any
    new: Any
    use: Use
    rules: frozenset[str]

    @classmethod
    def random(cls, number: int) -> JudgedPair:
        """Return the pair of this number; inputs and outputs by turns."""
        old, new = SchemaMaker(Random(f"{SEED}-{number}")).pair()
        use = (INPUT, OUTPUT)[number % 2]
        rules = frozenset(change.rule for change in schema_changes(old, new, (), use))
        return cls(number, old, new, use, rules)

    @property
    def breaks(self) -> bool:
        """Whether the diff says that the change may break users by what is accepted."""
        counted = self.rules - _NOTES
        return any(RULES[rule].verdict > Verdict.COMPATIBLE for rule in counted)

    @property
    def by_choice(self) -> bool:
        """Whether a rule decides it that does not go by validation."""
        chosen = REFUSED_BY_CHOICE if self.breaks else ALLOWED_BY_CHOICE
        return bool(self.rules & chosen.keys())

    def is_broken_by(self, value: Any) -> bool:
        """Return whether an instance shows that the change breaks users."""
        before, after = self._validators
        return isinstance(value, dict) and before.is_valid(value) and not after.is_valid(value)

    def broken_by(self, count: int) -> Any:
        """Return such an instance of this many that are near to both schemas, None without."""
        dice = Random(f"{SEED}-{self.number}-instances")
        makers = [InstanceMaker(one, dice) for one in (self.old, self.new)]
        value: Any = None
        for number in range(count):
            maker = makers[number % 2]
            value = maker.neighbour(value) if number % 4 > 1 else maker.instance()
            if self.is_broken_by(value):
                return value
        return None

    @cached_property
    def _validators(self) -> tuple[Any, Any]:
        before, after = (jsonschema.Draft202012Validator(one) for one in (self.old, self.new))
        return (before, after) if self.use is INPUT else (after, before)
