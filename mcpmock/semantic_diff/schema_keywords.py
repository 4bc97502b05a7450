"""The table of the keywords of JSON Schema: what each is about, and what a change of it does to
what a schema accepts. `schema_forms` reads schemas by it.
"""

from __future__ import annotations

from enum import Enum

import attrs

TYPES = ("null", "boolean", "number", "string", "array", "object")
SCALARS = TYPES[:4]


class KeywordEffect(Enum):
    """What a keyword does to what a schema accepts."""

    LOWER = "a greater value accepts less"
    UPPER = "a smaller value accepts less"
    DEMAND = "its presence accepts less"
    APPLIED = "it accepts less if a schema in it accepts less"
    REVERSED = "it accepts less if the schema in it accepts more"
    CONDITION = "it accepts less or more if the schema in it changes"
    PLACED = "it is resolved in the normal form"
    NOTE = "it accepts nothing less"


@attrs.frozen
class SchemaKeyword:
    """A keyword of JSON Schema, of any draft that servers still send."""

    effect: KeywordEffect
    shape: type | tuple[type, ...] = object
    """What its value is. Any other value says nothing that is known."""
    types: tuple[str, ...] = TYPES
    """The types of values that it is about."""
    rule: str = "schema-note-changed"
    """Of a note, the rule of the diff that a change of it falls under."""


_NUMBER, _SCHEMA, _SCHEMAS = (int, float), (dict, bool), (list,)
_ABOUT = {kind: (kind,) for kind in TYPES}
_APPLIED, _DEMAND, _NOTE, _PLACED = (
    KeywordEffect.APPLIED,
    KeywordEffect.DEMAND,
    KeywordEffect.NOTE,
    KeywordEffect.PLACED,
)
KEYWORDS = {
    "type": SchemaKeyword(_PLACED, (str, list)),
    "enum": SchemaKeyword(_PLACED, list),
    "const": SchemaKeyword(_PLACED),
    "$ref": SchemaKeyword(_PLACED, str),
    "$dynamicRef": SchemaKeyword(_PLACED, str),
    "$recursiveRef": SchemaKeyword(_PLACED, str),
    "$defs": SchemaKeyword(_PLACED, dict),
    "definitions": SchemaKeyword(_PLACED, dict),
    "allOf": SchemaKeyword(_PLACED, list),
    "anyOf": SchemaKeyword(_PLACED, list),
    "oneOf": SchemaKeyword(_PLACED, list),
    "not": SchemaKeyword(KeywordEffect.REVERSED, _SCHEMA),
    "if": SchemaKeyword(KeywordEffect.CONDITION, _SCHEMA),
    "then": SchemaKeyword(_APPLIED, _SCHEMA),
    "else": SchemaKeyword(_APPLIED, _SCHEMA),
    "minimum": SchemaKeyword(KeywordEffect.LOWER, _NUMBER, _ABOUT["number"]),
    "exclusiveMinimum": SchemaKeyword(_PLACED, _NUMBER, _ABOUT["number"]),
    "maximum": SchemaKeyword(KeywordEffect.UPPER, _NUMBER, _ABOUT["number"]),
    "exclusiveMaximum": SchemaKeyword(_PLACED, _NUMBER, _ABOUT["number"]),
    "multipleOf": SchemaKeyword(_DEMAND, _NUMBER, _ABOUT["number"]),
    "minLength": SchemaKeyword(KeywordEffect.LOWER, _NUMBER, _ABOUT["string"]),
    "maxLength": SchemaKeyword(KeywordEffect.UPPER, _NUMBER, _ABOUT["string"]),
    "pattern": SchemaKeyword(_DEMAND, str, _ABOUT["string"]),
    "format": SchemaKeyword(_DEMAND, str, ("string", "number")),
    "prefixItems": SchemaKeyword(_APPLIED, list, _ABOUT["array"]),
    "items": SchemaKeyword(_APPLIED, (dict, bool, list), _ABOUT["array"]),
    "additionalItems": SchemaKeyword(_APPLIED, _SCHEMA, _ABOUT["array"]),
    "unevaluatedItems": SchemaKeyword(_APPLIED, _SCHEMA, _ABOUT["array"]),
    "contains": SchemaKeyword(_APPLIED, _SCHEMA, _ABOUT["array"]),
    "minContains": SchemaKeyword(_PLACED, _NUMBER, _ABOUT["array"]),
    "maxContains": SchemaKeyword(_PLACED, _NUMBER, _ABOUT["array"]),
    "minItems": SchemaKeyword(KeywordEffect.LOWER, _NUMBER, _ABOUT["array"]),
    "maxItems": SchemaKeyword(KeywordEffect.UPPER, _NUMBER, _ABOUT["array"]),
    "uniqueItems": SchemaKeyword(_DEMAND, bool, _ABOUT["array"]),
    "properties": SchemaKeyword(_APPLIED, dict, _ABOUT["object"]),
    "patternProperties": SchemaKeyword(_APPLIED, dict, _ABOUT["object"]),
    "additionalProperties": SchemaKeyword(_APPLIED, _SCHEMA, _ABOUT["object"]),
    "unevaluatedProperties": SchemaKeyword(_APPLIED, _SCHEMA, _ABOUT["object"]),
    "propertyNames": SchemaKeyword(_APPLIED, _SCHEMA, _ABOUT["object"]),
    "required": SchemaKeyword(_DEMAND, list, _ABOUT["object"]),
    "minProperties": SchemaKeyword(KeywordEffect.LOWER, _NUMBER, _ABOUT["object"]),
    "maxProperties": SchemaKeyword(KeywordEffect.UPPER, _NUMBER, _ABOUT["object"]),
    "dependentRequired": SchemaKeyword(_DEMAND, dict, _ABOUT["object"]),
    "dependentSchemas": SchemaKeyword(_APPLIED, dict, _ABOUT["object"]),
    "dependencies": SchemaKeyword(_APPLIED, dict, _ABOUT["object"]),
    "title": SchemaKeyword(_NOTE, rule="description-changed"),
    "description": SchemaKeyword(_NOTE, rule="description-changed"),
    "default": SchemaKeyword(_NOTE, rule="default-changed"),
    "examples": SchemaKeyword(_NOTE),
    "deprecated": SchemaKeyword(_NOTE),
    "readOnly": SchemaKeyword(_NOTE),
    "writeOnly": SchemaKeyword(_NOTE),
    "$comment": SchemaKeyword(_NOTE),
    "$schema": SchemaKeyword(_NOTE),
    "$id": SchemaKeyword(_NOTE),
    "$anchor": SchemaKeyword(_NOTE),
    "$dynamicAnchor": SchemaKeyword(_NOTE),
    "$vocabulary": SchemaKeyword(_NOTE),
    "discriminator": SchemaKeyword(_NOTE),
}
"""Every keyword that is judged. A change of any other one (`contentSchema`, `x-..`) is said to be
one whose effect is not known.
"""
_UNJUDGED = "schema-changed"


def _named(effect: KeywordEffect) -> dict[str, str]:
    return {name: one.types[0] for name, one in KEYWORDS.items() if one.effect is effect}


LOWER, UPPER = _named(KeywordEffect.LOWER), _named(KeywordEffect.UPPER)
"""The bounds, and the type that each is about."""


def note_rule(name: str) -> str:
    """Return the rule of the diff for a keyword that does not change what is accepted."""
    known = KEYWORDS.get(name)
    return known.rule if known and known.effect is KeywordEffect.NOTE else _UNJUDGED
