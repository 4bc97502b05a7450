"""JSON Schema: whether a value fits the schema that a tool, a prompt or a question declares.

The only module that knows the validator, jsonschema-rs of the extra `schema`; it is imported when
the first schema is used. Schemas and values come from recordings, so the work is bounded before
the validator sees them, and no reference leaves the schema. `rules.contents` and `stubs` ask here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

from .contents import SECRET_MARK
from .messages import decode, encode
from .shapes import Step

MAX_SCHEMA_BYTES = 1 << 20
MAX_DEPTH = 200
"""How deep a schema or a value may be: the validator calls itself for each level."""
MAX_VISITS = 1_000_000
"""How often subschemas may be visited for one value."""
MAX_CHEAP_VISITS = 20_000_000
"""The same of a bound that is far above what happens: subschemas times bytes of the value."""
MAX_LISTED_ERRORS = 200_000
"""Subschemas times bytes of the value, up to which all errors are looked at."""
MAX_PAIRS = 50_000
"""How many pairs of subschema and value are looked at to count the visits."""
COMPARED_IN_A_VISIT = 16
"""How many values of an enum are compared in the time of a visit."""
MAX_SCHEMAS = 1000
"""How many schemas are kept compiled."""
BACKTRACK_LIMIT = 10_000
"""How many steps back an expression with look-around may take."""
MISSING = "pip install 'mcpmock[schema]' checks what schemas say of arguments and results"

Path = tuple[Step, ...]
_DIALECTS = {
    "json-schema.org/draft-04/schema": "Draft4",
    "json-schema.org/draft-06/schema": "Draft6",
    "json-schema.org/draft-07/schema": "Draft7",
    "json-schema.org/draft/2019-09/schema": "Draft201909",
    "json-schema.org/draft/2020-12/schema": "Draft202012",
}
_NEWEST, _BEFORE = "Draft202012", "Draft7"
_IN_PLACE = ("not", "if", "then", "else")
_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_OF_ALL = (
    *("additionalProperties", "unevaluatedProperties", "propertyNames", "contains"),
    *("additionalItems", "unevaluatedItems"),
)
_NAMED = ("properties", "patternProperties", "dependentSchemas", "dependencies")
_DEFINED = ("$defs", "definitions")
_DATA = ("const", "enum", "default", "examples", "required")
_JUDGE_ALL_INSIDE = {
    *("AnyOf", "OneOfNotValid", "OneOfMultipleValid", "Not", "Contains", "Constant", "Enum"),
    *("UniqueItems", "PropertyNames"),
}
"""Kinds of errors that a value deep inside may have caused."""
_OUT_OF_BOUNDS = {"BacktrackLimitExceeded", "RegexEngineFailure", "Referencing"}


class NoSchemaError(Exception):
    """What is declared is no schema of its dialect. `path` is the place in it."""

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.message, self.path = message, path


class UnjudgedSchemaError(Exception):
    """A schema or a value that is not judged; the text says why. `unavailable`: because there is no
    validator.
    """

    def __init__(self, why: str, *, unavailable: bool = False) -> None:
        super().__init__(why)
        self.unavailable = unavailable


class SchemaMisfit(NamedTuple):
    """A place in a value that its schema refuses, and what is wrong there."""

    path: Path
    problem: str


class CompiledSchema:
    """A schema of a known dialect that refers to nothing outside."""

    def __init__(self, schema: Any, validator: Any, size: int | None) -> None:
        self._schema, self._validator = schema, validator
        self._size = size
        """How many subschemas it has, references followed; None if one leads back to itself."""

    def misfits(self, value: Any, size: int) -> list[SchemaMisfit]:
        """Return the places that the schema refuses, leaving out what a placeholder hides; `size`
        is that of the value in bytes. Raises UnjudgedSchemaError.
        """
        self._check_cost(value, size)
        with _Guarded():
            if self._validator.is_valid(value):
                return []
            errors = self._errors(value, size)
        kinds = {type(error.kind).__name__ for error in errors}
        if kinds & _OUT_OF_BOUNDS:
            raise UnjudgedSchemaError("an expression in it takes too long")
        found = [
            SchemaMisfit(tuple(error.instance_path), _first_line(error))
            for error in errors
            if not _is_hidden(error)
        ]
        return sorted(found, key=lambda one: list(map(str, one.path)))

    def _errors(self, value: Any, size: int) -> list[Any]:
        """Return all errors of a small value, else the first one: the validator makes the texts of
        all at once, which for 10,000 errors in an enum of 10,000 took 20 s.
        """
        if self._size is not None and self._size * size <= MAX_LISTED_ERRORS:
            return list(self._validator.iter_errors(value))
        try:
            self._validator.validate(value)
        except ValueError as error:
            return [error]
        return []

    def _check_cost(self, value: Any, size: int) -> None:
        if size > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
            raise UnjudgedSchemaError(f"the value is deeper than {MAX_DEPTH} levels")
        if self._size is not None and self._size * size <= MAX_CHEAP_VISITS:
            return
        if _Visits(self._schema).count(value) > MAX_VISITS:
            raise UnjudgedSchemaError("the value is too costly to check")


def compile_schema(raw: bytes, *, lenient: bool = False) -> CompiledSchema:
    """Return the schema in these bytes; compiled ones are kept. `lenient`: what names no dialect
    may be of draft-07 as well. Raises NoSchemaError, UnjudgedSchemaError.
    """
    found = _compiled(raw, lenient)
    if isinstance(found, CompiledSchema):
        return found
    raise found


@lru_cache(MAX_SCHEMAS)
def _compiled(raw: bytes, lenient: bool) -> CompiledSchema | NoSchemaError | UnjudgedSchemaError:
    try:
        return _compile(raw, lenient=lenient)
    except (NoSchemaError, UnjudgedSchemaError) as error:
        return error


def _compile(raw: bytes, *, lenient: bool) -> CompiledSchema:
    if len(raw) > MAX_SCHEMA_BYTES:
        raise UnjudgedSchemaError(f"it has more than {MAX_SCHEMA_BYTES >> 20} MiB")
    schema = decode(raw)
    if _is_deeper(schema, MAX_DEPTH) or (schema is None and raw.strip() != b"null"):
        raise UnjudgedSchemaError(f"it is deeper than {MAX_DEPTH} levels")
    if not isinstance(schema, dict | bool):
        raise NoSchemaError("it is not an object")
    if SECRET_MARK.encode() in raw:
        raise UnjudgedSchemaError("parts of it were redacted")
    dialects = _dialects(schema, lenient=lenient)
    for reference in _references(schema):
        if not re.match(r"#(/|$)", reference):
            raise UnjudgedSchemaError(f"it refers to {reference}")
    size = _size(schema)
    if size is not None and size > MAX_VISITS:
        raise UnjudgedSchemaError("it is too costly to check")
    refused: NoSchemaError | None = None
    for dialect in dialects:
        try:
            return CompiledSchema(schema, _validator(schema, dialect), size)
        except NoSchemaError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _dialects(schema: Any, *, lenient: bool) -> list[str]:
    """Return the dialects to try. Raises UnjudgedSchemaError for one that is not known."""
    declared = schema.get("$schema") if isinstance(schema, dict) else None
    if declared is None:
        return [_NEWEST, _BEFORE] if lenient else [_NEWEST]
    if not isinstance(declared, str):
        raise NoSchemaError("$schema is not a string", ("$schema",))
    known = _DIALECTS.get(declared.rstrip("#").partition("://")[2])
    if known is None:
        raise UnjudgedSchemaError(f"its dialect is not known: {declared}")
    return [known]


def _validator(schema: Any, dialect: str) -> Any:
    try:
        import jsonschema_rs
    except ImportError:
        raise UnjudgedSchemaError(MISSING, unavailable=True) from None
    try:
        with _Guarded(jsonschema_rs.ValidationError):
            return getattr(jsonschema_rs, f"{dialect}Validator")(
                schema,
                validate_formats=False,
                offline=True,
                pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACK_LIMIT),
            )
    except jsonschema_rs.ValidationError as error:
        kind = type(error.kind).__name__
        if kind == "Format":  # the expressions of other languages are no error of the dialect
            raise UnjudgedSchemaError(f"a pattern is not known: {_first_line(error)}") from None
        if kind == "Referencing":
            raise UnjudgedSchemaError(_first_line(error)) from None
        raise NoSchemaError(_first_line(error), tuple(error.instance_path)) from None


class _Guarded:
    """Turns what the validator may raise, but for `passed`, into an UnjudgedSchemaError."""

    def __init__(self, *passed: type[Exception]) -> None:
        self._passed = passed

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        # A panic of its Rust is no Exception.
        panics = type(error).__name__ == "PanicException"
        if isinstance(error, self._passed) or not (panics or isinstance(error, Exception)):
            return
        raise UnjudgedSchemaError(f"the validator says: {_first_line(error)}") from None


def _references(schema: Any) -> Iterator[str]:
    """Yield what a schema refers to, and the names that change what `#` means inside."""
    refers = "$ref" in str(schema)
    waiting: list[tuple[Any, bool]] = [(schema, True)]
    while waiting:
        one, top = waiting.pop()
        if not isinstance(one, dict):
            continue
        for name in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(target := one.get(name), str):
                yield target if name == "$ref" else f"{name} {target}"
        for name in ("$id", "id"):
            if isinstance(inner := one.get(name), str) and not top and refers:
                yield f"{name} {inner}"
        waiting += [(inside, False) for inside in _all_inside(one)]


def _all_inside(schema: dict[str, Any]) -> Iterator[Any]:
    """Yield the subschemas of a schema, those that it only defines, too."""
    for name, value in schema.items():
        if name in _NAMED or name in _DEFINED:
            yield from value.values() if isinstance(value, dict) else ()
        elif name not in _DATA:
            yield from value if isinstance(value, list) else (value,)


def pointed_to(root: Any, reference: str) -> Any:
    """Return what a local reference points to; None if that is nothing."""
    found = root
    for part in reference[2:].split("/") if reference != "#" else ():
        found = step_into(found, unquote(part))
    return found


def step_into(value: Any, step: str) -> Any:
    """Return the member or item that a step of a JSON Pointer names; None if that is nothing."""
    name = step.replace("~1", "/").replace("~0", "~")
    if isinstance(value, dict):
        return value.get(name)
    # Python reads no number of more than 4,300 digits.
    if not isinstance(value, list) or not name.isdecimal() or len(name) > len(str(len(value))):
        return None
    return value[int(name)] if int(name) < len(value) else None


def _size(schema: Any) -> int | None:
    """Count the subschemas visited at most, by references too; None if one leads back to itself."""
    sizes: dict[int, int] = {}
    open_: set[int] = set()

    def size_of(one: Any) -> int | None:
        if not isinstance(one, dict):
            return 1
        if id(one) in sizes:
            return sizes[id(one)]
        if id(one) in open_:
            return None
        open_.add(id(one))
        total = 1 + sum(len(v) for n in _DATA if isinstance(v := one.get(n), list))
        inside = list(_all_used(one))
        if isinstance(reference := one.get("$ref"), str):
            inside.append(pointed_to(schema, reference))
        for other in inside:
            size = size_of(other)
            if size is None:
                return None
            total += size
        open_.discard(id(one))
        sizes[id(one)] = total
        return total

    try:
        return size_of(schema)
    except RecursionError:
        return None


def _all_used(schema: dict[str, Any]) -> Iterator[Any]:
    used = {name: value for name, value in schema.items() if name not in _DEFINED}
    return _all_inside(used)


class _Visits:
    """Counts the visits of subschemas for one value, without doing them: each pair of a subschema
    and a value is looked at once.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._counts: dict[tuple[int, int], int] = {}
        self._pairs = 0

    def count(self, value: Any) -> int:
        """Return the number, or more than MAX_VISITS if it is not known."""
        try:
            return self._count(self._schema, value)
        except (RecursionError, OverflowError):
            return MAX_VISITS + 1

    def _count(self, schema: Any, value: Any) -> int:
        if not isinstance(schema, dict):
            return 1
        key = id(schema), id(value)
        known = self._counts.get(key)
        if known is not None:
            return known
        self._pairs += 1
        if self._pairs > MAX_PAIRS:
            raise OverflowError
        self._counts[key] = MAX_VISITS + 1  # if it comes back here, it never ends
        compared = len(_items(schema.get("enum"))) // COMPARED_IN_A_VISIT
        total = (
            1
            + compared
            + sum(self._count(inside, one) for inside, one in self._visited(schema, value))
        )
        self._counts[key] = min(total, MAX_VISITS + 1)
        return self._counts[key]

    def _visited(self, schema: dict[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the pairs that are visited next."""
        if isinstance(reference := schema.get("$ref"), str):
            yield pointed_to(self._schema, reference), value
        for name in _IN_PLACE:
            if name in schema:
                yield schema[name], value
        for name in _IN_PLACE_LISTS:
            yield from ((one, value) for one in _items(schema.get(name)))
        for name in ("dependentSchemas", "dependencies"):
            yield from ((one, value) for one in _values(schema.get(name)))
        inside = list(_values(value)) or list(_items(value))
        if isinstance(value, dict):
            named = schema.get("properties")
            for name, one in named.items() if isinstance(named, dict) else ():
                if name in value:
                    yield one, value[name]
        every: Iterable[Any] = [schema[name] for name in _OF_ALL if name in schema]
        every = [*every, *_values(schema.get("patternProperties"))]
        items = schema.get("items")
        every += [items] if isinstance(items, dict) else []
        for one in every:
            yield from ((one, item) for item in inside)
        for name in ("prefixItems", "items"):
            firsts = _items(schema.get(name))
            yield from zip(firsts, inside if isinstance(value, list) else (), strict=False)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _values(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else ()


def _is_deeper(value: Any, levels: int) -> bool:
    """Return whether a value has more levels of objects and lists than these."""
    level = [value]
    for _ in range(levels + 1):
        level = [
            inside
            for one in level
            for inside in (_values(one) if isinstance(one, dict) else _items(one))
            if isinstance(inside, dict | list)
        ]
        if not level:
            return False
    return True


def _is_hidden(error: Any) -> bool:
    """Return whether a placeholder stands where the schema refuses something."""
    value = error.instance
    if isinstance(value, str):
        return SECRET_MARK in value
    inside = type(error.kind).__name__ in _JUDGE_ALL_INSIDE
    return inside and SECRET_MARK.encode() in encode(value)


def _first_line(error: Any) -> str:
    text: Callable[[], str] | str = getattr(error, "message", "") or str(error)
    line = str(text).partition("\n")[0]
    return line if len(line) <= 200 else line[:197] + "..."
