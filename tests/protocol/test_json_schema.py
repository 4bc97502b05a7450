"""Values against JSON Schemas: bounded before the validator sees them."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.protocol.json_schema import (
    MAX_DEPTH,
    MAX_SCHEMA_BYTES,
    NoSchemaError,
    SchemaMisfit,
    UnjudgedSchemaError,
    compile_schema,
)
from mcpmock.protocol.messages import encode

TREE: Any = {"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}, "n": {"type": "string"}}}
BOTH: Any = {"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}
LOOK_AROUND = r"^(?=(a+)+$)(?!x)(a+)+(b|c)\1$"
HIDDEN = "mcpmock:secret:token:1"


def misfits(schema: Any, value: Any) -> list[SchemaMisfit]:
    return compile_schema(encode(schema)).misfits(value, len(encode(value)))


def nested(depth: int, value: Any = 1) -> Any:
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("schema", "value", "path"),
    [
        ({"required": ["a"]}, {}, ()),
        ({"properties": {"a": {"items": {"type": "string"}}}}, {"a": ["x", 5]}, ("a", 1)),
        (TREE, {"a": {"b": {"n": 5}}}, ("a", "b", "n")),
        ({"items": {"enum": list(range(100))}}, [5, 500], (1,)),
        ({"pattern": LOOK_AROUND}, "a" * 40 + "!", ()),
        ({"properties": {"a": False}}, {"a": 1}, ("a",)),
        (False, 1, ()),
        ({"properties": {"$ref": {"type": "string"}}, "default": {"$ref": "http://a"}}, {"$ref": 5}, ("$ref",)),
        ({"$defs": {"a/b": {"type": "string"}}, "$ref": "#/$defs/a~1b"}, 5, ()),
        ({"$defs": {"é": {"type": "string"}}, "$ref": "#/$defs/%C3%A9"}, 5, ()),
    ],
)  # fmt: skip
def test_what_a_schema_refuses(schema: Any, value: Any, path: tuple[str | int, ...]) -> None:
    """With its place; expressions that go back and forth end."""
    assert [path] == [one.path for one in misfits(schema, value)]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (TREE, nested(150)),
        ({"type": "integer"}, 1.0),
        ({"multipleOf": 0.01}, 19.99),
        ({"type": "integer"}, 10**40),
        ({"uniqueItems": True}, [{"a": number} for number in range(2000)]),
        ({"properties": {"a": {"type": "number"}}}, {"a": HIDDEN}),
        ({"anyOf": [{"properties": {"a": {"type": "number"}}}, {"type": "null"}]}, {"a": HIDDEN}),
        ({"type": "string", "format": "date"}, "never"),
        (True, 1),
        ({"$id": "https://example.com/a", "$defs": {"b": {"type": "null"}}, "$ref": "#/$defs/b"}, None),
    ],
)  # fmt: skip
def test_what_fits(schema: Any, value: Any) -> None:
    """Whole numbers, placeholders, deep trees."""
    assert [] == misfits(schema, value)


def test_a_placeholder_hides_no_missing_member() -> None:
    """Only what stands in its place."""
    schema = {"properties": {"a": {"type": "number"}}, "required": ["b"]}

    assert [()] == [one.path for one in misfits(schema, {"a": HIDDEN})]


@pytest.mark.parametrize(
    ("schema", "value", "why"),
    [
        ({"allOf": [{"$ref": "#"}]}, 1, "too costly"),
        ({"$ref": "#/$defs/%C3%A9", "$defs": {"é": {"$ref": "#/$defs/%C3%A9"}}}, 1, "too costly"),
        (BOTH, nested(60), "too costly"),
        ({"items": {"enum": list(range(20_000))}}, list(range(20_000, 40_000)), "too costly"),
        ({"type": "array"}, nested(MAX_DEPTH + 2), f"deeper than {MAX_DEPTH} levels"),
        ({"description": "x" * MAX_SCHEMA_BYTES}, 1, "more than 1 MiB"),
        (nested(MAX_DEPTH + 2), 1, f"deeper than {MAX_DEPTH} levels"),
        ({"$ref": "#/$defs/none"}, 1, "does not exist"),
        ({"$ref": f"#/anyOf/{'9' * 5000}", "anyOf": [True]}, 1, "Failed to parse array index"),
        ({"$dynamicRef": "#a"}, 1, "it refers to $dynamicRef #a"),
        ({"$ref": "#name"}, 1, "it refers to #name"),
        ({"type": "string"}, "\ud800", "the validator says"),
        ({"pattern": "(a{1000}){1000}"}, "a", "a pattern is not known"),
    ],
)
def test_what_is_not_judged(schema: Any, value: Any, why: str) -> None:
    """What would take long or never end, what is deep, and what refers to something else."""
    with pytest.raises(UnjudgedSchemaError, match=why.replace("$", r"\$")):
        misfits(schema, value)


@pytest.mark.parametrize("schema", [5, "x", None, [], {"type": "text"}, {"$schema": 5}])
def test_what_is_no_schema(schema: Any) -> None:
    """It is neither an object nor a boolean, or breaks its dialect."""
    with pytest.raises(NoSchemaError):
        compile_schema(encode(schema))


def test_of_many_errors_in_a_large_value_the_first_is_told() -> None:
    """The texts of all of them would take longer than the check."""
    found = misfits({"items": {"enum": list(range(300))}}, list(range(1000, 2000)))

    assert [(0,)] == [one.path for one in found]
