"""Parses TOML and the shorthand of the command line into a `Plan`, and reports all mistakes at
once, each with its path.

cattrs makes the values and collects the errors; the messages are written here. Values are not
converted: `nth = "2"` is a mistake, not a 2.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import attrs
from cattrs import (
    AttributeValidationNote,
    BaseValidationError,
    Converter,
    ForbiddenExtraKeysError,
    IterableValidationNote,
)
from cattrs.gen import make_dict_structure_fn, override

from .fault import Fault, PlanError
from .match import Match
from .plan import Plan
from .registry import KINDS
from .units import knob_of, shown

_PLAIN_TYPES: dict[type, str] = {str: "a text", bool: "true or false", int: "a whole number"}
_UNIONS: tuple[object, ...] = (Union, UnionType)
_SHORTHAND_SYNTAX = "a fault is KIND or KIND:KEY=VALUE,KEY=VALUE"


def read_plan(
    text: str, name: str, shorthands: Sequence[str] = (), seed: int | None = None
) -> Plan:
    """The plan in a TOML file of this name, and behind its faults those of the command line.

    `seed` overrules the one in the file. Raises PlanError with all mistakes.
    """
    mistakes: list[str] = []
    try:
        written: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        written, mistakes = {}, [f"{name}: {error}"]
    plan, wrong = _structure_plan(written)
    mistakes += [f"{name}: {mistake}" for mistake in wrong]
    faults = list(plan.faults)
    for shorthand in shorthands:
        found, wrong = _parse_shorthand(shorthand)
        mistakes += [f"--fault {shorthand!r}: {mistake}" for mistake in wrong]
        faults += [] if found is None else [found]
    if mistakes:
        raise PlanError(mistakes)
    return Plan(faults=tuple(faults), seed=plan.seed if seed is None else seed)


def plan_of(written: Mapping[str, Any]) -> Plan:
    """The plan of what a TOML file holds. Raises PlanError with all mistakes."""
    plan, mistakes = _structure_plan(written)
    if mistakes:
        raise PlanError(mistakes)
    return plan


def fault_of(shorthand: str) -> Fault:
    """`latency:latency=200ms,tool=get_*`. Raises PlanError with all mistakes."""
    fault, mistakes = _parse_shorthand(shorthand)
    if fault is None:
        raise PlanError(mistakes)
    return fault


def table_of(shorthand: str) -> dict[str, Any]:
    """A shorthand as a table of a plan. A key of `match` that is no knob of the kind goes into
    `match`. Values are read as TOML.
    """
    kind, colon, rest = shorthand.partition(":")
    table: dict[str, Any] = {"kind": kind.strip()}
    knobs = _field_names(KINDS.get(kind.strip(), Fault))
    for part in _split_shorthand(rest) if colon else ():
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or not key:
            raise PlanError([f"{part.strip()!r} has no value: {_SHORTHAND_SYNTAX}"])
        first, _, inner = key.partition(".")
        if first == "match" and inner:
            table.setdefault("match", {})[inner] = _read_value(value.strip())
        elif key not in knobs and key in _field_names(Match):
            table.setdefault("match", {})[key] = _read_value(value.strip())
        else:
            table[key] = _read_value(value.strip())
    return table


def _split_shorthand(text: str) -> list[str]:
    """The parts between commas outside of quotes and brackets."""
    parts, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            depth += (char in "[{") - (char in "]}")
        if char == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def _read_value(text: str) -> Any:
    """The value as TOML reads it, else the text: a shell user need not quote twice."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        return text


def _parse_shorthand(shorthand: str) -> tuple[Fault | None, list[str]]:
    try:
        table = table_of(shorthand)
        return _converter.structure(table, Fault), []
    except PlanError as error:
        return None, error.mistakes
    except Exception as error:  # noqa: BLE001 (cattrs raises what a hook raises)
        return None, list(_list_mistakes(error, ""))


def _structure_plan(written: Mapping[str, Any]) -> tuple[Plan, list[str]]:
    try:
        return _converter.structure(written, Plan), []
    except Exception as error:  # noqa: BLE001 (as above)
        return Plan(), list(_list_mistakes(error, ""))


def _list_mistakes(error: BaseException, path: str) -> Iterable[str]:
    """The mistakes in an error of cattrs, depth first, as `fault[1].match.nth: expected ...`."""
    if isinstance(error, BaseValidationError):
        for inner in error.exceptions:
            yield from _list_mistakes(inner, path + _read_path_step(inner, path))
        return
    where = f"{path}: " if path else ""
    match error:
        case PlanError(keyed=keyed):
            yield from (f"{path}.{mistake}" if path else mistake for mistake in keyed)
        case ForbiddenExtraKeysError(extra_fields=extra, cl=cl):
            prefix = f"{path}." if path else ""
            for key in sorted(extra):
                yield f"{prefix}{key}: unknown key; {_suggest_words(key, _plan_keys(cl))}"
        case KeyError(args=(key,)):
            yield f"{where}{key} is missing"
        case _:
            yield f"{where}{error}"


def _read_path_step(error: BaseException, path: str) -> str:
    """The part of the path that a note of cattrs names."""
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, IterableValidationNote):
            return f"[{note.index}]"
        if isinstance(note, AttributeValidationNote):
            name = "fault" if note.name == "faults" else note.name
            return f".{name}" if path else name
    return ""


def _suggest_words(word: str, known: Iterable[str]) -> str:
    known = sorted(known)
    near = get_close_matches(word, known, n=3, cutoff=0.6)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{meant}known: {', '.join(known)}"


def _field_names(cls: type) -> set[str]:
    return {field.name for field in attrs.fields(cls)}


def _plan_keys(cls: type) -> set[str]:
    if cls is Plan:
        return {"seed", "fault"}
    return _field_names(cls) | ({"kind"} if issubclass(cls, Fault) else set())


def _structure_fault(written: Any, _type: object) -> Fault:
    """One `[[fault]]`. Its `kind` is read first because it decides which keys are valid."""
    if not isinstance(written, Mapping):
        raise ValueError(f"expected a table, not {shown(written)}")
    kind = written.get("kind")
    if kind is None:
        raise PlanError([f"kind: missing; one of {', '.join(sorted(KINDS))}"])
    if not isinstance(kind, str) or kind not in KINDS:
        suggestion = _suggest_words(str(kind), KINDS)
        raise PlanError([f"kind: unknown kind {shown(kind)}; {suggestion}"])
    rest = {key: value for key, value in written.items() if key != "kind"}
    return _structure_kind(rest, KINDS[kind])


def _structure_kind(written: Mapping[str, Any], kind: type[Fault]) -> Fault:
    function = make_dict_structure_fn(
        kind, _converter, _cattrs_forbid_extra_keys=True, _cattrs_detailed_validation=True
    )
    return function(written, kind)


def _check_plain(value: Any, type_: Any) -> Any:
    if type(value) is not type_:
        raise ValueError(f"expected {_PLAIN_TYPES[type_]}, not {shown(value)}")
    return value


def _check_literal(value: Any, type_: Any) -> Any:
    words = get_args(type_)
    if value not in words:
        raise ValueError(f"expected one of {', '.join(words)}, not {shown(value)}")
    return value


def _read_knob(value: Any, type_: Any) -> Any:
    knob = knob_of(type_)
    assert knob is not None
    return knob.read(value)


def _structure_union(value: Any, type_: Any) -> Any:
    """`X | None` is read as X, because TOML has no null; `int | str` is left as it is."""
    inside = [arg for arg in get_args(type_) if arg is not type(None)]
    if len(inside) == 1:
        return _converter.structure(value, inside[0])
    if type(value) not in inside:
        wanted = " or ".join(_PLAIN_TYPES[arg] for arg in inside)
        raise ValueError(f"expected {wanted}, not {shown(value)}")
    return value


def _structure_pair(value: Any, type_: Any) -> Any:
    """A tuple of fixed length."""
    wanted = get_args(type_)
    if not isinstance(value, list) or len(value) != len(wanted):
        raise ValueError(f"expected a list of {len(wanted)}, not {shown(value)}")
    return tuple(_converter.structure(v, t) for v, t in zip(value, wanted, strict=True))


def _check_table(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a table, not {shown(value)}")
    return value


def _is_pair(type_: object) -> bool:
    return get_origin(type_) is tuple and ... not in get_args(type_)


def _is_literal(type_: Any) -> bool:
    return bool(get_origin(type_) == Literal)


def _is_union(type_: Any) -> bool:
    return get_origin(type_) in _UNIONS


def _make_converter() -> Converter:
    converter = Converter(detailed_validation=True, forbid_extra_keys=True)
    for plain in _PLAIN_TYPES:
        converter.register_structure_hook(plain, _check_plain)
    converter.register_structure_hook_func(_is_literal, _check_literal)
    converter.register_structure_hook_func(_is_pair, _structure_pair)
    converter.register_structure_hook_func(_is_union, _structure_union)
    converter.register_structure_hook_func(
        lambda t: hasattr(t, "__metadata__") and knob_of(t) is not None, _read_knob
    )
    converter.register_structure_hook(Fault, _structure_fault)
    for cls, renamed in ((Plan, {"faults": override(rename="fault")}), (Match, {})):
        function: Any = make_dict_structure_fn(
            cls,
            converter,
            _cattrs_forbid_extra_keys=True,
            **renamed,  # type: ignore[arg-type]
        )
        # `make=function`: a closure would see only the last of the two.
        converter.register_structure_hook(
            cls, lambda value, type_, make=function: make(_check_table(value), type_)
        )
    return converter


_converter = _make_converter()
