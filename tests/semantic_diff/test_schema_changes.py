"""Two JSON Schemas: whether the change breaks callers or readers."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.semantic_diff import schema_changes as schema_changes_module
from mcpmock.semantic_diff.schema_changes import INPUT, OUTPUT, Use, schema_changes
from mcpmock.semantic_diff.severity import ABSENT, Item, to_jsonpath


def told(old: Any, new: Any, use: Use = INPUT) -> list[str]:
    """Each change as its rule and its path."""
    found = schema_changes(old, new, ("s",), use)
    return [f"{change.rule} {to_jsonpath(change.path)[3:]}".rstrip() for change in found]


def of(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    more = {} if required is None else {"required": required}
    return {"type": "object", "properties": properties, **more}


def tagged(kind: str, inner: Any = True) -> dict[str, Any]:
    return of(["kind"], kind={"const": kind}, x=inner)


STRING, NUMBER = {"type": "string"}, {"type": "number"}
CLOSED = {"additionalProperties": False}
NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}, "v": STRING}}
OTHER_NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}, "v": NUMBER}}


@pytest.mark.parametrize(
    ("old", "new", "taken", "given"),
    [
        (of(a=STRING), of(a=STRING), [], []),
        (of(a=STRING), of(), ["argument-removed .properties.a"],
         ["output-field-removed .properties.a"]),
        (of(a=STRING), of(["a"]), ["argument-removed .properties.a"],
         ["output-field-removed .properties.a"]),
        (of(["a"], a=STRING), of(), ["argument-removed .properties.a"],
         ["output-field-removed .properties.a"]),
        (of(), of(a=STRING), ["argument-added .properties.a"],
         ["output-field-added .properties.a"]),
        (of(), of(["a"], a=STRING), ["argument-required .properties.a"],
         ["output-field-added .properties.a"]),
        (of(a=STRING), of(["a"], a=STRING), ["argument-required .properties.a"],
         ["output-field-required .properties.a"]),
        (of(["a"], a=STRING), of(a=STRING), ["argument-optional .properties.a"],
         ["output-field-optional .properties.a"]),
        (of(), of(["a"]), ["argument-required .required"], ["output-field-required .required"]),
        (of(["a"]), of(), ["argument-optional .required"], ["output-field-optional .required"]),
        (STRING, NUMBER, ["type-changed .type"], ["output-type-changed .type"]),
        (STRING, of(a=STRING), ["type-changed .type"], ["output-type-changed .type"]),
        (of(), {"type": ["string", "null"]}, ["type-changed .type"], ["output-type-changed .type"]),
        ({"enum": [1, 1.5]}, NUMBER, ["enum-widened .enum"], ["output-enum-widened .enum"]),
        ({"enum": [1, 2]}, NUMBER, ["type-widened .type", "enum-widened .enum"],
         ["output-type-widened .type", "output-enum-widened .enum"]),
        (NUMBER, {"type": "integer"}, ["type-narrowed .type"], ["output-type-narrowed .type"]),
        ({"type": "integer"}, NUMBER, ["type-widened .type"], ["output-type-widened .type"]),
        ({"type": ["string", "null"]}, STRING, ["type-narrowed .type"],
         ["output-type-narrowed .type"]),
        (STRING, {"anyOf": [STRING, {"type": "null"}]}, ["type-widened .type"],
         ["output-type-widened .type"]),
        ({"anyOf": [STRING, {"type": "null"}]}, {"anyOf": [NUMBER, {"type": "null"}]},
         ["type-changed"], ["output-type-changed"]),
        ({"anyOf": [STRING, {"type": "null"}]}, {"anyOf": [{"type": "null"}]},
         ["type-narrowed .anyOf[0].type"], ["output-type-narrowed .anyOf[0].type"]),
        ({}, STRING, ["type-narrowed .type"], ["output-type-narrowed .type"]),
        (STRING, {}, ["type-widened .type"], ["output-type-widened .type"]),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, ["enum-narrowed .enum"],
         ["output-enum-narrowed .enum"]),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, ["enum-widened .enum"],
         ["output-enum-widened .enum"]),
        ({"enum": ["a", "b"]}, {"enum": ["b", "c"]}, ["enum-narrowed .enum"],
         ["output-enum-widened .enum"]),
        ({"enum": ["a", "b"]}, {"enum": ["b", "a"]}, ["list-reordered .enum"],
         ["list-reordered .enum"]),
        ({"enum": ["a", 1]}, {"enum": ["a"]}, ["enum-narrowed .enum"],
         ["output-enum-narrowed .enum"]),
        ({"enum": ["a"]}, {"enum": ["a", 1]}, ["enum-widened .enum"],
         ["output-enum-widened .enum"]),
        ({}, {"const": 1}, ["enum-narrowed .const"], ["output-enum-narrowed .const"]),
        ({"const": 1}, {}, ["enum-widened .const"], ["output-enum-widened .const"]),
        ({"const": 1}, {"enum": [1]}, [], []),
        ({"minimum": 1}, {"minimum": 2}, ["constraint-tightened .minimum"],
         ["output-constraint-tightened .minimum"]),
        ({"maxLength": 1}, {"maxLength": 2}, ["constraint-loosened .maxLength"],
         ["output-constraint-loosened .maxLength"]),
        ({}, {"pattern": "a"}, ["constraint-tightened .pattern"],
         ["output-constraint-tightened .pattern"]),
        ({"pattern": "a"}, {"pattern": "b"}, ["constraint-changed .pattern"],
         ["constraint-changed .pattern"]),
        ({"format": "uri"}, {}, ["constraint-loosened .format"],
         ["output-constraint-loosened .format"]),
        ({"uniqueItems": True}, {"uniqueItems": False}, ["constraint-loosened .uniqueItems"],
         ["output-constraint-loosened .uniqueItems"]),
        ({}, {"additionalProperties": False}, ["constraint-tightened .additionalProperties"],
         ["output-constraint-tightened .additionalProperties"]),
        ({"additionalProperties": False}, {"additionalProperties": STRING},
         ["constraint-loosened .additionalProperties"],
         ["output-constraint-loosened .additionalProperties"]),
        ({"items": STRING}, {"items": NUMBER}, ["type-changed .items.type"],
         ["output-type-changed .items.type"]),
        ({}, {"items": STRING}, ["constraint-tightened .items"],
         ["output-constraint-tightened .items"]),
        ({"items": [STRING]}, {"items": [NUMBER]}, ["type-changed .items[0].type"],
         ["output-type-changed .items[0].type"]),
        ({"not": STRING}, {"not": NUMBER}, ["type-changed"], ["output-type-changed"]),
        ({"not": {"maxLength": 1}}, {"not": {"maxLength": 2}},
         ["constraint-tightened .not.maxLength"], ["output-constraint-tightened .not.maxLength"]),
        ({"allOf": [of(a=STRING)]}, {"allOf": [of(a=NUMBER)]},
         ["type-changed .allOf[0].properties.a.type"],
         ["output-type-changed .allOf[0].properties.a.type"]),
        ({"allOf": []}, {"allOf": [STRING]}, ["type-narrowed .allOf[0].type"],
         ["output-type-narrowed .allOf[0].type"]),
        ({"oneOf": [STRING, NUMBER]}, {"oneOf": [STRING]}, ["type-narrowed .oneOf[0].type"],
         ["output-type-narrowed .oneOf[0].type"]),
        ({"anyOf": [of(["a"], a=STRING), of(["b"], b=STRING)]}, {"anyOf": [of(["a"], a=STRING)]},
         ["type-narrowed .anyOf[1]"], ["output-type-narrowed .anyOf[1]"]),
        ({"oneOf": [STRING, {"type": "object"}]}, {"oneOf": [STRING, of(a=STRING)]},
         ["argument-added .oneOf[1].properties.a"],
         ["output-field-added .oneOf[1].properties.a"]),
        ({"default": 1}, {"default": 2}, ["default-changed .default"],
         ["default-changed .default"]),
        # What is not compared comes in the order of the schemas.
        *(
            ({"allOf": lost}, {"allOf": [*lost, {"minimum": 1}]}, [*said, *more],
             [*said, *(f"output-{rule}" for rule in more)])
            for key, more in [("$ref", ["constraint-tightened .allOf[6].minimum"]), ("type", [])]
            for lost in [[{key: f"{letter}.json"} for letter in "fbdace"]]
            for said in [[f"schema-not-compared .allOf[{n}].{key}" for n in range(6)]]
        ),
        # Every integer is a multiple of these.
        *(
            (old, {"type": "integer", "multipleOf": part}, ["type-narrowed .type"],
             ["output-type-narrowed .type"])
            for old in ({}, {"type": "number"}, {"type": ["integer", "string"]})
            for part in (0.5, 0.1, 1.0, -1, 0.25)
        ),
        ({"type": "integer", "multipleOf": 0.5}, {"type": "integer", "multipleOf": 2},
         ["constraint-tightened .multipleOf"], ["output-constraint-tightened .multipleOf"]),
        ({"title": "a"}, {"description": "b"},
         ["description-changed .title", "description-changed .description"],
         ["description-changed .title", "description-changed .description"]),
        ({"$schema": "a"}, {"$schema": "b"}, ["schema-note-changed .$schema"],
         ["schema-note-changed .$schema"]),
        ({"title": "a"}, {"title": "a", "x-header": {}}, ["schema-changed .x-header"],
         ["schema-changed .x-header"]),
        ({"anyOf": [{**STRING, "title": "a"}, {"type": "null"}]},
         {"anyOf": [{**STRING, "title": "b"}, {"type": "null"}]},
         ["description-changed .anyOf[0].title"], ["description-changed .anyOf[0].title"]),
        ({"items": [STRING]}, {"items": [STRING], "additionalProperties": True}, [], []),
        ({"not": STRING}, {"not": STRING, "$comment": ""}, ["schema-note-changed .$comment"],
         ["schema-note-changed .$comment"]),
        ({"x-header": 1}, {}, ["schema-changed .x-header"], ["schema-changed .x-header"]),
        (True, False, ["constraint-tightened"], ["output-constraint-tightened"]),
        (False, True, ["constraint-loosened"], ["output-constraint-loosened"]),
        ({}, {"patternProperties": {"(?!": STRING}},
         ["schema-not-compared .patternProperties.(?!",
          "constraint-tightened .patternProperties.(?!"],
         ["schema-not-compared .patternProperties.(?!",
          "output-constraint-tightened .patternProperties.(?!"]),
        ({**of(), **CLOSED}, {**of(a=STRING), **CLOSED}, ["argument-added .properties.a"],
         ["closed-output-field-added .properties.a"]),
        ({"not": {**of(), **CLOSED}}, {"not": {**of(a=STRING), **CLOSED}},
         ["constraint-tightened .not.properties.a"],
         ["output-constraint-tightened .not.properties.a"]),
        ({"allOf": [{"pattern": "b"}, {"pattern": "a"}]}, {"allOf": [{"pattern": "b"}]},
         ["constraint-loosened .allOf[1].pattern"],
         ["output-constraint-loosened .allOf[1].pattern"]),
        (of(), of(["a", "b"]), ["argument-required .required"] * 2,
         ["output-field-required .required"] * 2),
        ({"oneOf": [{"minimum": 0}, {"maximum": 0}]}, {"oneOf": [{"minimum": 0}, {"maximum": 5}]},
         ["schema-changed .oneOf", "constraint-loosened .oneOf[1].maximum"],
         ["schema-changed .oneOf", "output-constraint-loosened .oneOf[1].maximum"]),
        ({"allOf": [of(a=STRING)]}, of(a=NUMBER), ["type-changed .allOf[0].properties.a.type"],
         ["output-type-changed .allOf[0].properties.a.type"]),
        ({"anyOf": [tagged("a", STRING), tagged("b")]},
         {"anyOf": [tagged("b"), tagged("a", NUMBER)]},
         ["type-changed .anyOf[0].properties.x.type"],
         ["output-type-changed .anyOf[0].properties.x.type"]),
        ({"anyOf": [tagged("a"), tagged("b")], "title": "x"},
         {"anyOf": [tagged("c"), tagged("d")], "title": "y"},
         ["type-narrowed .anyOf[0]", "type-narrowed .anyOf[1]", "type-widened .anyOf[0]",
          "type-widened .anyOf[1]", "description-changed .title"],
         ["output-type-narrowed .anyOf[0]", "output-type-narrowed .anyOf[1]",
          "output-type-widened .anyOf[0]", "output-type-widened .anyOf[1]",
          "description-changed .title"]),
        ("no", "schema", ["schema-not-compared"], ["schema-not-compared"]),
    ],
)  # fmt: skip
def test_changes(old: Any, new: Any, taken: list[str], given: list[str]) -> None:
    """Input and output are judged the opposite way."""
    unquoted = [[line.replace("['", ".").replace("']", "") for line in told(old, new, use)]
                for use in (INPUT, OUTPUT)]  # fmt: skip

    assert [taken, given] == unquoted


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (STRING, {"type": ["string", "null"]}, ("string", ["string", "null"])),
        ({}, STRING, (ABSENT, "string")),
        ({"anyOf": [STRING, {"type": "null"}]}, STRING, (["null", "string"], "string")),
        ({"type": ["string", "null"]}, {"type": ["string", "null"], "not": {"type": "null"}},
         (["null", "string"], ["string"])),
        (NUMBER, {"type": "integer"}, ("number", "integer")),
        ({"anyOf": [{"type": "integer", "maximum": 0}, {**NUMBER, "minimum": 5}]},
         {"anyOf": [{**NUMBER, "maximum": 0}, {**NUMBER, "minimum": 5}]}, ("integer", "number")),
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, {"enum": ["a"]}, (["a", "b"], ["a"])),
        ({"const": 1}, {"const": 2}, (1, 2)),
        ({"minimum": 1}, {"minimum": 2}, (1, 2)),
        ({}, {"pattern": "a"}, (ABSENT, "a")),
        ({"pattern": "a", "allOf": [{"pattern": "b"}]}, {"pattern": "a"}, ("b", "a")),
        ({"multipleOf": 4}, {"multipleOf": 2}, (4, 2)),
        (of(["a"], a=STRING), of(a=STRING), ("required", "optional")),
        (of(), of(["a"]), ("a: optional", "a: required")),
        (of(a=STRING), of(), (STRING, ABSENT)),
        (of(), of(a=STRING), (ABSENT, STRING)),
        ({"dependentRequired": {"a": ["b"]}}, {}, (["b"], ABSENT)),
        ({"contains": STRING}, {}, (STRING, ABSENT)),
        ({"contains": STRING}, {"contains": STRING, "maxContains": 2}, (ABSENT, 2)),
        ({**STRING, "not": {"minLength": 1}}, STRING, ({"minLength": 1}, ABSENT)),
        ({}, {"if": STRING, "then": {"minLength": 1}}, (ABSENT, STRING)),
        (True, False, (True, False)),
        ({"x-a": 1}, {"x-a": 2}, (1, 2)),
    ],
)  # fmt: skip
def test_what_is_shown(old: Any, new: Any, shown: tuple[Any, Any]) -> None:
    """What stands there, of a list of values all, of what is required the words."""
    (change,) = schema_changes(old, new, (), INPUT)

    assert shown == (change.old, change.new)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ({"anyOf": [of(["a"]), of(["b"])]}, {"anyOf": [of(["a"])]}, Item(1, None)),
        ({"anyOf": [of(["a"])]}, {"anyOf": [of(["a"]), of(["b"])]}, Item(None, 1)),
        ({"anyOf": [of(a={"minimum": 1}), of(b=NUMBER)]},
         {"anyOf": [of(b=NUMBER), of(a={"minimum": 2})]}, Item(0, 1)),
    ],
)  # fmt: skip
def test_where_a_branch_stands(old: Any, new: Any, place: Item) -> None:
    """In each of the two, or in one alone: rules of users look there."""
    (change,) = schema_changes(old, new, (), INPUT)

    assert ("anyOf", place) == change.path[:2]


@pytest.mark.parametrize("anchor", [{"$anchor": "a"}, {"$dynamicAnchor": "a"}, {"$id": "#a"}])
def test_a_reference_to_an_anchor(anchor: dict[str, str]) -> None:
    """It is one in each draft."""
    schema = {"$ref": "#a", "$defs": {"A": {**STRING, **anchor}}}

    assert "type-changed .type" in told(NUMBER, schema)[0].replace(".$defs.A", "")


def test_references_are_followed() -> None:
    """Whether something stands in place or elsewhere does not matter, and circles end."""
    there = {**of(a={"$ref": "#/$defs/A"}), "$defs": {"A": STRING}}
    here = of(a=STRING)
    old = {"$ref": "#/$defs/N", "$defs": {"N": NODE}}
    new = {"$ref": "#/$defs/N", "$defs": {"N": OTHER_NODE}}

    assert [] == told(there, here)
    assert ["type-changed .properties.v.type"] == told(old, new)


@pytest.mark.parametrize("reference", ["#/$defs/none", "other.json", "#", 7])
def test_references_that_lead_nowhere(reference: object) -> None:
    """They are a part of a schema like any other."""
    found = told({"items": {"$ref": reference}}, {"items": STRING})

    assert found
    assert told({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, {}) == []


def test_wide_schemas_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more members than a bound the first are compared."""
    monkeypatch.setattr(schema_changes_module, "_MAX_COMPARED", 30)
    old, new = (
        {"type": "object", "properties": {f"p{n}": {**leaf} for n in range(30)}}
        for leaf in (STRING, NUMBER)
    )
    found = [line.split()[0] for line in told(old, new)]

    assert {"type-changed", "schema-not-compared"} == {*found}


def test_deep_schemas_end() -> None:
    """At some depth they are the same or not."""
    old: Any = STRING
    new: Any = NUMBER
    for _ in range(100):
        old, new = {"items": old}, {"items": new}

    assert ["schema-not-compared " + ".items" * 81] == told(old, new)
