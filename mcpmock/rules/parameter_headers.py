"""Rules of the headers that repeat arguments of a tool (`x-mcp-header`, since 2026-07-28): where a
schema may ask for one, and whether a POST has what the schema asks for. `contents` calls them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, NamedTuple

from mcpmock.protocol.contents import SECRET_MARK
from mcpmock.protocol.json_schema import Path
from mcpmock.protocol.messages import decode
from mcpmock.protocol.mirrored_headers import decode_field

from .context import Object, as_object, place, short
from .exchange import CheckedExchange
from .specification import Breach

_ANNOTATION = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NOT_MIRRORED = {"object", "array", "number"}
_MAX_KEPT = 1000


class HeaderParameter(NamedTuple):
    """A parameter that has a header: its place in the arguments, and the name in the header."""

    path: Path
    name: str


class HeaderAnnotations(NamedTuple):
    """What a schema asks for, and where it may not: the place in the schema, and why."""

    parameters: tuple[HeaderParameter, ...] = ()
    wrong: tuple[tuple[Path, str], ...] = ()


_NONE = HeaderAnnotations()


def header_annotations(schema: bytes | None) -> HeaderAnnotations:
    """Return the annotations in a schema."""
    if schema is None or _ANNOTATION.encode() not in schema:
        return _NONE
    return _read_annotations(schema)


@lru_cache(_MAX_KEPT)
def _read_annotations(schema: bytes) -> HeaderAnnotations:
    parameters: list[HeaderParameter] = []
    wrong: list[tuple[Path, str]] = []
    names: set[str] = set()
    for path, parameter, one in _annotated(decode(schema)):
        name = one[_ANNOTATION]
        problem = _problem(name, parameter, one, names)
        if problem:
            wrong.append(((*path, _ANNOTATION), problem))
        elif parameter is not None:
            parameters.append(HeaderParameter(parameter, name))
        if isinstance(name, str):
            names.add(name.lower())
    return HeaderAnnotations(tuple(parameters), tuple(wrong))


def _annotated(schema: Any) -> Iterator[tuple[Path, Path | None, Object]]:
    """Yield the place of each annotation in the schema, that of its parameter in the arguments, and
    the subschema; None for one that `properties` alone do not lead to.
    """
    waiting: list[tuple[Path, Path | None, Any]] = [((), (), schema)]
    while waiting:
        path, parameter, one = waiting.pop(0)
        if isinstance(one, list):
            waiting += [((*path, index), None, inside) for index, inside in enumerate(one)]
        if not isinstance(one, dict):
            continue
        if _ANNOTATION in one:
            yield path, parameter or None, one
        for name, inside in one.items():
            if name == "properties":
                for member, below in as_object(inside).items():
                    reached = None if parameter is None else (*parameter, member)
                    waiting.append(((*path, name, member), reached, below))
            elif name not in ("const", "enum", "default", "examples", _ANNOTATION):
                waiting.append(((*path, name), None, inside))


def _problem(name: Any, parameter: Path | None, one: Object, names: set[str]) -> str:
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        return f"{short(name)} is no token" if name else "it is empty"
    if parameter is None:
        return "properties alone do not lead to it"
    kinds = one.get("type")
    refused = _NOT_MIRRORED & {*(kinds if isinstance(kinds, list) else [kinds])}
    if refused:
        return f"it is on {'an' if min(refused) != 'number' else 'a'} {min(refused)}"
    return f"{name} is there twice" if name.lower() in names else ""


def check_annotations(schema: bytes | None, start: Path) -> Iterator[Breach]:
    """Yield the annotations that a schema may not have; `start` is its place in the message."""
    for path, problem in header_annotations(schema).wrong:
        where = place(*start, *path)
        yield Breach("header-schema", f"{where}: {problem}", where)


def check_headers(
    schema: bytes | None, arguments: Object, exchange: CheckedExchange
) -> Iterator[Breach]:
    """Yield the breaches in the headers of a call of the tool with this schema."""
    for path, name in header_annotations(schema).parameters:
        value: Any = arguments
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        field = f"Mcp-Param-{name}"
        received = exchange.request_header(field)
        where = place("params", "arguments", *path)
        if value is None:
            if received is not None:
                yield Breach("header-param-extra", f"{field}, but {where} is not given", where)
        elif received is None:
            yield Breach("header-param", f"no {field} in the head for {where}", where)
        elif not _is_same(decode_field(received), value):
            text = f"{field} is {short(decode_field(received))}, {where} is {short(_plain(value))}"
            yield Breach("header-param-match", text, where)


def _is_same(field: str, value: Any) -> bool:
    if SECRET_MARK in field or (isinstance(value, str) and SECRET_MARK in value):
        return True
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return Decimal(field.strip()) == Decimal(repr(value))
        except InvalidOperation:
            return False
    return isinstance(value, dict | list) or field == _plain(value)


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
