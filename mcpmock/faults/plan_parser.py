"""From what people write to a `Plan`: TOML, and the shorthand of the command line; with every
mistake in it, at once, and its path.

cattrs makes the values and collects what it cannot; the words are ours. Numbers, texts and the like
are taken as they are written: `nth = "2"` is a mistake, not a 2.
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

_PLAIN: dict[type, str] = {str: "a text", bool: "true or false", int: "a whole number"}
_UNIONS: tuple[object, ...] = (Union, UnionType)
_JUMBLED = "a fault is KIND or KIND:KEY=VALUE,KEY=VALUE"


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
    plan, wrong = _structured(written)
    mistakes += [f"{name}: {mistake}" for mistake in wrong]
    faults = list(plan.faults)
    for shorthand in shorthands:
        found, wrong = _one(shorthand)
        mistakes += [f"--fault {shorthand!r}: {mistake}" for mistake in wrong]
        faults += [] if found is None else [found]
    if mistakes:
        raise PlanError(mistakes)
    return Plan(faults=tuple(faults), seed=plan.seed if seed is None else seed)


def plan_of(written: Mapping[str, Any]) -> Plan:
    """The plan of what a TOML file holds. Raises PlanError with all mistakes."""
    plan, mistakes = _structured(written)
    if mistakes:
        raise PlanError(mistakes)
    return plan


def fault_of(shorthand: str) -> Fault:
    """`latency:latency=200ms,tool=get_*`. Raises PlanError with all mistakes."""
    fault, mistakes = _one(shorthand)
    if fault is None:
        raise PlanError(mistakes)
    return fault


def table_of(shorthand: str) -> dict[str, Any]:
    """A shorthand as the table that a plan would have. Words that are keys of `match` and none of
    the kind go there; `true`, numbers and quoted texts are what TOML says they are.
    """
    kind, colon, rest = shorthand.partition(":")
    table: dict[str, Any] = {"kind": kind.strip()}
    knobs = _fields(KINDS.get(kind.strip(), Fault))
    for part in _parts(rest) if colon else ():
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or not key:
            raise PlanError([f"{part.strip()!r} has no value: {_JUMBLED}"])
        first, _, inner = key.partition(".")
        if first == "match" and inner:
            table.setdefault("match", {})[inner] = _value(value.strip())
        elif key not in knobs and key in _fields(Match):
            table.setdefault("match", {})[key] = _value(value.strip())
        else:
            table[key] = _value(value.strip())
    return table


def _parts(text: str) -> list[str]:
    """Split at commas that are in no quotes and no brackets."""
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


def _value(text: str) -> Any:
    """As TOML reads it; what is no value there is a text, so that nobody has to quote twice."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        return text


def _one(shorthand: str) -> tuple[Fault | None, list[str]]:
    try:
        table = table_of(shorthand)
        return _converter.structure(table, Fault), []
    except PlanError as error:
        return None, error.mistakes
    except Exception as error:  # noqa: BLE001 (cattrs gives whatever a hook gave)
        return None, list(_told(error, ""))


def _structured(written: Mapping[str, Any]) -> tuple[Plan, list[str]]:
    try:
        return _converter.structure(written, Plan), []
    except Exception as error:  # noqa: BLE001 (as above)
        return Plan(), list(_told(error, ""))


def _told(error: BaseException, path: str) -> Iterable[str]:
    """All that is wrong, depth first, as `fault[1].match.nth: expected ...`."""
    if isinstance(error, BaseValidationError):
        for inner in error.exceptions:
            yield from _told(inner, path + _step(inner, path))
        return
    where = f"{path}: " if path else ""
    match error:
        case PlanError(keyed=keyed):
            yield from (f"{path}.{mistake}" if path else mistake for mistake in keyed)
        case ForbiddenExtraKeysError(extra_fields=extra, cl=cl):
            prefix = f"{path}." if path else ""
            for key in sorted(extra):
                yield f"{prefix}{key}: unknown key; {_neighbours(key, _keys(cl))}"
        case KeyError(args=(key,)):
            yield f"{where}{key} is missing"
        case _:
            yield f"{where}{error}"


def _step(error: BaseException, path: str) -> str:
    """What a note of cattrs adds to the path."""
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, IterableValidationNote):
            return f"[{note.index}]"
        if isinstance(note, AttributeValidationNote):
            name = "fault" if note.name == "faults" else note.name
            return f".{name}" if path else name
    return ""


def _neighbours(word: str, known: Iterable[str]) -> str:
    known = sorted(known)
    near = get_close_matches(word, known, n=3, cutoff=0.6)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{meant}known: {', '.join(known)}"


def _fields(cls: type) -> set[str]:
    return {field.name for field in attrs.fields(cls)}


def _keys(cls: type) -> set[str]:
    if cls is Plan:
        return {"seed", "fault"}
    return _fields(cls) | ({"kind"} if issubclass(cls, Fault) else set())


def _kinded(written: Any, _type: object) -> Fault:
    """One `[[fault]]`: its kind first, for that says which keys there are."""
    if not isinstance(written, Mapping):
        raise ValueError(f"expected a table, not {shown(written)}")
    kind = written.get("kind")
    if kind is None:
        raise PlanError([f"kind: missing; one of {', '.join(sorted(KINDS))}"])
    if not isinstance(kind, str) or kind not in KINDS:
        told = _neighbours(str(kind), KINDS)
        raise PlanError([f"kind: unknown kind {shown(kind)}; {told}"])
    rest = {key: value for key, value in written.items() if key != "kind"}
    return _structure_kind(rest, KINDS[kind])


def _structure_kind(written: Mapping[str, Any], kind: type[Fault]) -> Fault:
    function = make_dict_structure_fn(
        kind, _converter, _cattrs_forbid_extra_keys=True, _cattrs_detailed_validation=True
    )
    return function(written, kind)


def _plain(value: Any, type_: Any) -> Any:
    if type(value) is not type_:
        raise ValueError(f"expected {_PLAIN[type_]}, not {shown(value)}")
    return value


def _literal(value: Any, type_: Any) -> Any:
    words = get_args(type_)
    if value not in words:
        raise ValueError(f"expected one of {', '.join(words)}, not {shown(value)}")
    return value


def _knobbed(value: Any, type_: Any) -> Any:
    knob = knob_of(type_)
    assert knob is not None
    return knob.read(value)


def _union(value: Any, type_: Any) -> Any:
    """`X | None` is X, for TOML has no null; `int | str` is either as it is."""
    inside = [arg for arg in get_args(type_) if arg is not type(None)]
    if len(inside) == 1:
        return _converter.structure(value, inside[0])
    if type(value) not in inside:
        wanted = " or ".join(_PLAIN[arg] for arg in inside)
        raise ValueError(f"expected {wanted}, not {shown(value)}")
    return value


def _pair(value: Any, type_: Any) -> Any:
    """A tuple of fixed length."""
    wanted = get_args(type_)
    if not isinstance(value, list) or len(value) != len(wanted):
        raise ValueError(f"expected a list of {len(wanted)}, not {shown(value)}")
    return tuple(_converter.structure(v, t) for v, t in zip(value, wanted, strict=True))


def _table(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a table, not {shown(value)}")
    return value


def _is_pair(type_: object) -> bool:
    return get_origin(type_) is tuple and ... not in get_args(type_)


def _is_literal(type_: Any) -> bool:
    return bool(get_origin(type_) == Literal)


def _is_union(type_: Any) -> bool:
    return get_origin(type_) in _UNIONS


def _make() -> Converter:
    converter = Converter(detailed_validation=True, forbid_extra_keys=True)
    for plain in _PLAIN:
        converter.register_structure_hook(plain, _plain)
    converter.register_structure_hook_func(_is_literal, _literal)
    converter.register_structure_hook_func(_is_pair, _pair)
    converter.register_structure_hook_func(_is_union, _union)
    converter.register_structure_hook_func(
        lambda t: hasattr(t, "__metadata__") and knob_of(t) is not None, _knobbed
    )
    converter.register_structure_hook(Fault, _kinded)
    for cls, renamed in ((Plan, {"faults": override(rename="fault")}), (Match, {})):
        function: Any = make_dict_structure_fn(
            cls,
            converter,
            _cattrs_forbid_extra_keys=True,
            **renamed,  # type: ignore[arg-type]
        )
        converter.register_structure_hook(cls, _tabled(function))
    return converter


def _tabled(function: Any) -> Any:
    return lambda value, type_: function(_table(value), type_)


_converter = _make()
