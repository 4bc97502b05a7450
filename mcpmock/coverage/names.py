"""The names of parameters and values: `weather.when.day`, `weather.spots[].lat`, `weather.unit=C`.
A schema and the arguments of a call give the same ones. `reader` stands above.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

from mcpmock.matching.paths import spell_step
from mcpmock.protocol.json_schema import pointed_to
from mcpmock.redaction.placeholders import holds_placeholder

_MAX_NAMES = 2000
"""How many names one definition, or one call, gives."""
_MAX_DEPTH = 16
_MAX_VISITS = 20_000
_MAX_VALUE_CHARS = 200
_JSON_WORD = re.compile(r"|true|false|null|-?\d+(\.\d+)?([eE][+-]?\d+)?")
"""Texts that are spelled with quotes, not to look like other values."""
_BRANCHES = ("allOf", "anyOf", "oneOf")
_CONDITIONS = ("then", "else")
_DEPENDENT = ("dependentSchemas", "dependencies")


class SchemaNames:
    """The `parameters` and `values` that the schema of a tool's arguments offers: properties,
    also nested and behind references within it; each enum and const, and true and false.
    """

    def __init__(self, tool: str, schema: Any) -> None:
        self.parameters: dict[str, None] = {}
        self.values: dict[str, None] = {}
        self._root = schema
        self._seen: set[tuple[str, int]] = set()
        # Widest first: of a definition with too many names the outer ones count.
        waiting = deque([(tool, schema, frozenset("#"), 0)])
        while waiting and len(self._seen) < _MAX_VISITS and len(self.parameters) < _MAX_NAMES:
            name, part, references, depth = waiting.popleft()
            waiting += self._read(name, part, references, depth)

    def _read(
        self, name: str, part: Any, references: frozenset[str], depth: int
    ) -> Iterator[tuple[str, Any, frozenset[str], int]]:
        """Note a schema at a name; yield those inside."""
        if not isinstance(part, dict) or (name, id(part)) in self._seen or depth > _MAX_DEPTH:
            return
        self._seen.add((name, id(part)))
        if depth:
            self._note_values(name, part)
        reference = part.get("$ref")
        if isinstance(reference, str) and reference not in references:
            local = reference == "#" or reference.startswith("#/")
            inner = pointed_to(self._root, reference) if local else None
            yield name, inner, references | {reference}, depth
        for word in _BRANCHES:
            for branch in _list(part.get(word)):
                yield name, branch, references, depth
        for word in _CONDITIONS:
            yield name, part.get(word), references, depth
        for word in _DEPENDENT:
            yield from ((name, inner, references, depth) for _, inner in _items(part.get(word)))
        properties = part.get("properties")
        for key, inner in _items(properties):
            self.parameters[name + spell_step(key)] = None
            yield name + spell_step(key), inner, references, depth + 1
        for inner in (
            part.get("items"),
            *_list(part.get("items")),
            *_list(part.get("prefixItems")),
        ):
            yield f"{name}[]", inner, references, depth + 1

    def _note_values(self, name: str, part: dict[str, Any]) -> None:
        found = _list(part.get("enum"))
        if "const" in part:
            found.append(part["const"])
        if not found and "boolean" in (part.get("type"), *_list(part.get("type"))):
            found = [True, False]
        for value in found:
            if (spelled := _spell(value)) is not None and len(self.values) < _MAX_NAMES:
                self.values[f"{name}={spelled}"] = None


class ArgumentNames:
    """The `parameters` and `values` that the arguments of a call give to a tool. What holds a
    placeholder of a secret has no value.
    """

    def __init__(self, tool: str, arguments: Any) -> None:
        self.parameters: dict[str, None] = {}
        self.values: dict[str, None] = {}
        waiting: deque[tuple[str, Any, int]] = deque([(tool, arguments, 0)])
        while waiting and len(self.parameters) < _MAX_NAMES and len(self.values) < _MAX_NAMES:
            name, value, depth = waiting.popleft()
            if isinstance(value, dict) and depth < _MAX_DEPTH:
                inner = [(name + spell_step(key), one, depth + 1) for key, one in _items(value)]
                self.parameters |= {one: None for one, _, _ in inner}
                waiting += inner
            elif isinstance(value, list) and depth < _MAX_DEPTH:
                waiting += ((f"{name}[]", one, depth + 1) for one in _list(value))
            elif depth and (spelled := _spell(value)) is not None:
                self.values[f"{name}={spelled}"] = None


def _spell(value: Any) -> str | None:
    """Return a value as it stands in a name; None of one that has no name."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        value = int(value)
    if isinstance(value, int | float):
        try:
            spelled = str(value)
        except ValueError:  # an integer of thousands of digits
            return None
    elif isinstance(value, str) and not holds_placeholder(value):
        spelled = f'"{value}"' if _JSON_WORD.fullmatch(value) else value
    else:
        return None
    return spelled if len(spelled) <= _MAX_VALUE_CHARS else None


def _list(value: Any) -> list[Any]:
    return value[:_MAX_NAMES] if isinstance(value, list) else []


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    return islice(value.items(), _MAX_NAMES) if isinstance(value, dict) else iter(())
