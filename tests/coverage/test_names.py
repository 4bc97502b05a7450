"""Names of parameters and values: those of a schema are those of the arguments that fit it."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.coverage.names import ArgumentNames, SchemaNames

NODE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"value": {}, "next": {"$ref": "#/$defs/node"}},
        }
    },
    "properties": {"head": {"$ref": "#/$defs/node"}},
}
SECRET = "mcpmock:secret:token:1"


def prop(schema: Any) -> dict[str, Any]:
    return {"properties": {"x": schema}}


@pytest.mark.parametrize(
    ("schema", "parameters", "values"),
    [
        ({}, "", ""),
        (None, "", ""),
        ([], "", ""),
        (True, "", ""),
        ({"properties": []}, "", ""),
        ({"properties": {"a": None, "b": 5}}, ".a .b", ""),
        (prop({"enum": ["C", "F", "true", 1, 1.0, 2.5, None, "", {"a": 1}]}), ".x",
         'x=C x=F x="true" x=1 x=2.5 x=null x=""'),
        (prop({"const": "C"}), ".x", "x=C"),
        (prop({"type": "boolean"}), ".x", "x=true x=false"),
        (prop({"type": ["boolean", "null"]}), ".x", "x=true x=false"),
        (prop({"type": "boolean", "const": True}), ".x", "x=true"),
        (prop({"oneOf": [{"const": "C"}, {"const": "F", "title": "f"}]}), ".x", "x=C x=F"),
        (prop({"anyOf": [{"enum": ["C"]}, {"type": "null"}, {"type": "boolean"}]}), ".x",
         "x=C x=true x=false"),
        (prop({"properties": {"day": {"properties": {"n": {}}}}}), ".x .x.day .x.day.n", ""),
        (prop({"items": {"properties": {"lat": {}}}}), ".x .x[].lat", ""),
        (prop({"items": {"enum": ["mon"]}}), ".x", "x[]=mon"),
        (prop({"prefixItems": [{"enum": ["a"]}, {"properties": {"b": {}}}]}), ".x .x[].b", "x[]=a"),
        (prop({"items": [{"enum": ["a"]}]}), ".x", "x[]=a"),
        ({"properties": {"a/b": {}, "a.b": {}, "é": {}, "": {}, "it's": {}}},
         "['a/b'] ['a.b'] ['é'] [''] ['it\\'s']", ""),
        ({"allOf": [{"properties": {"a": {}}}, {"$ref": "#/$defs/b"}], "$defs": {"b": prop({})}},
         ".a .x", ""),
        ({"if": {}, "then": {"properties": {"a": {}}}, "else": {"properties": {"b": {}}}},
         ".a .b", ""),
        ({"dependentSchemas": {"y": prop({"const": 1})}}, ".x", "x=1"),
        ({"dependencies": {"y": prop({"const": 1}), "z": ["y"]}}, ".x", "x=1"),
        (NODE, ".head .head.value .head.next", ""),
        ({"properties": {"a": {"$ref": "#"}}}, ".a", ""),
        ({"properties": {"a": {"$ref": "https://x.test/s.json"}}}, ".a", ""),
        ({"properties": {"a": {"$ref": "#/nowhere"}, "b": {"$ref": 5}}}, ".a .b", ""),
        ({"properties": {"a": {"$ref": f"#/x/{'9' * 5000}"}}, "x": [1]}, ".a", ""),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": prop({"$ref": "#/$defs/c%20d"}),
                                            "c d": {"const": 1}}}, ".x", "x=1"),
        ({"const": {"a": 1}, "enum": [{}], "type": "boolean"}, "", ""),
        (prop({"enum": ["y" * 300]}), ".x", ""),
    ],
)  # fmt: skip
def test_what_a_schema_offers(schema: Any, parameters: str, values: str) -> None:
    """Properties at any depth, and each value that it names."""
    found = SchemaNames("t", schema)

    assert parameters.split() == [name.removeprefix("t") for name in found.parameters]
    assert values.split() == [name.removeprefix("t.") for name in found.values]


@pytest.mark.parametrize(
    ("arguments", "parameters", "values"),
    [
        (None, "", ""),
        ([], "", ""),
        ("text", "", ""),
        ({"a": 1, "b": {"c": True}}, ".a .b .b.c", ".a=1 .b.c=true"),
        ({"a": [{"lat": 1}, {"lat": 2}]}, ".a .a[].lat", ".a[].lat=1 .a[].lat=2"),
        ({"a": ["mon", "mon"]}, ".a", ".a[]=mon"),
        ({"a/b": None}, "['a/b']", "['a/b']=null"),
        ({"a": SECRET, "b": f"x {SECRET}", "c": "C"}, ".a .b .c", ".c=C"),
        ({"a": 1.0, "b": 1e300, "c": "1", "d": ""}, ".a .b .c .d", '.a=1 .c="1" .d=""'),
        ({"a": "z" * 300}, ".a", ""),
        ({"a": float("nan"), "b": float("inf")}, ".a .b", ".a=nan .b=inf"),
        ({"a": 10**5000}, ".a", ""),
    ],
)
def test_what_arguments_give(arguments: Any, parameters: str, values: str) -> None:
    """The same names; a placeholder of a secret gives the parameter only."""
    found = ArgumentNames("t", arguments)

    assert parameters.split() == [name.removeprefix("t") for name in found.parameters]
    assert values.split() == [name.removeprefix("t") for name in found.values]


def test_what_others_wrote_takes_no_time() -> None:
    """Branches that double, names that double, deep and wide values: names are bounded."""
    doubled: Any = {"properties": {"a": {}}}
    for _ in range(60):
        doubled = {"allOf": [doubled, doubled]}
    wide: Any = {
        f"d{n}": {"properties": {name: {"$ref": f"#/$defs/d{n + 1}"} for name in "ab"}}
        for n in range(60)
    }
    deep: Any = {}
    for _ in range(500):
        deep = {"properties": {"a": deep}, "items": deep}
    nested: Any = "x"
    for _ in range(900):
        nested = {"a": [nested]}

    assert [".a"] == [name.removeprefix("t") for name in SchemaNames("t", doubled).parameters]
    assert 2002 > len(SchemaNames("t", {"$ref": "#/$defs/d0", "$defs": wide}).parameters) >= 2000
    assert 2000 >= len(SchemaNames("t", deep).parameters)
    assert 16 >= len(ArgumentNames("t", nested).parameters)
    assert 2000 == len(ArgumentNames("t", {str(n): n for n in range(9000)}).parameters)
