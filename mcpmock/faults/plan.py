"""`Plan`: the faults of a run, and the seed of all its random decisions; from Python, from TOML and
from the shorthand of the command line, with all mistakes at once, each with its path.

`options.converter` reads the tables; `kind` says which class one is. The only module of this room
that reads files.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from mcpmock.options.units import shown
from mcpmock.printable import did_you_mean

from .event_order import EventOrder
from .fault import Fault, PlanError
from .match import Match
from .registry import KINDS

if TYPE_CHECKING:
    from cattrs import Converter

_WHERE_KINDS_ARE = "`mcpmock faults` lists all kinds"
_SHORTHAND_SYNTAX = (
    "a fault is KIND or KIND:KEY=VALUE,KEY=VALUE; quote a value that has a comma: KEY='a, b'"
)


@attrs.frozen(kw_only=True)
class Plan:
    """The faults of a run. The same plan, seed and input give the same bytes.

    >>> rarely = mcpmock.faults.Drop(match={"probability": 0.1})
    >>> plan = mcpmock.faults.Plan(faults=(rarely,), seed=7)
    """

    faults: tuple[Fault, ...] = ()
    seed: int = 0
    schedule: EventOrder | None = None
    """Another order of the recorded events."""


@attrs.frozen(kw_only=True)
class _PlanTable:
    """The file of a plan."""

    seed: int = 0
    fault: tuple[Fault, ...] = ()
    schedule: EventOrder | None = None


def load_plan(file: Path | None, shorthands: Sequence[str] = (), seed: int | None = None) -> Plan:
    """Return the plan in a TOML file, if there is one, and behind its faults those of the
    shorthands; `seed` overrules the file's. Raises PlanError with all mistakes, and CassetteError
    for a recording that it draws from.
    """
    return sampled(read_plan(_read_text(file), str(file), shorthands, seed), file)


def sampled(plan: Plan, file: Path | None = None) -> Plan:
    """Return the plan with the latencies of the recordings that it names, relative to its file.
    Raises CassetteError, and PlanError for a recording that has nothing to draw from.
    """
    from mcpmock.cassette.file import load

    folder = Path() if file is None else file.parent
    faults = (fault.with_samples(lambda name: load(folder / name)) for fault in plan.faults)
    return attrs.evolve(plan, faults=tuple(faults))


def _read_text(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        return file.read_text("utf-8-sig")
    except OSError as error:
        raise PlanError([f"{file}: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise PlanError([f"{file}: not UTF-8: {error}"]) from error


def read_plan(
    text: str, name: str, shorthands: Sequence[str] = (), seed: int | None = None
) -> Plan:
    """Return the plan in a TOML file of this name, and behind its faults those of the command line.

    `seed` overrules the one in the file. Raises PlanError with all mistakes.
    """
    from mcpmock.options.converter import TableError, read_table

    mistakes: list[str] = []
    try:
        written: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        written, mistakes = {}, [f"{name}: {error}"]
    plan = _PlanTable()
    try:
        plan = read_table(_converter(), written, _PlanTable)
    except TableError as error:
        mistakes += [f"{name}: {mistake}" for mistake in error.mistakes]
    faults = list(plan.fault)
    for shorthand in shorthands:
        try:
            faults.append(fault_of(shorthand))
        except PlanError as error:
            mistakes += [f"--fault {shorthand!r}: {mistake}" for mistake in error.keyed]
    if mistakes:
        raise PlanError(mistakes)
    used = plan.seed if seed is None else seed
    return Plan(faults=tuple(faults), seed=used, schedule=plan.schedule)


def fault_of(shorthand: str) -> Fault:
    """`latency:latency=200ms,tool=get_*`. Raises PlanError with all mistakes."""
    from mcpmock.options.converter import TableError, read_table, unknown_key

    table, mistakes = table_of(shorthand), list[str]()
    if (kind := table["kind"]) in KINDS:
        known = _knobs_of(KINDS[kind]) | _field_names(Match)
        wrong = sorted(table.keys() - known - {"kind"})
        mistakes = [unknown_key(key, known) for key in wrong]
        table = {key: value for key, value in table.items() if key not in wrong}
    try:
        fault = read_table(_converter(), table, Fault)
    except TableError as error:
        mistakes += error.mistakes
    if mistakes:
        raise PlanError(mistakes)
    return fault


def table_of(shorthand: str) -> dict[str, Any]:
    """Return a shorthand as a table of a plan. A key of `match` that is no knob of the kind goes
    into `match`. Values are read as TOML.
    """
    kind, colon, rest = shorthand.partition(":")
    table: dict[str, Any] = {"kind": kind.strip()}
    knobs = _knobs_of(KINDS.get(kind.strip(), Fault))
    for part in _split_shorthand(rest) if colon else ():
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or not key:
            raise PlanError([f"{part.strip()!r} has no value: {_SHORTHAND_SYNTAX}"])
        first, _, inner = key.partition(".")
        if first == "match" and inner:
            into, name = table.setdefault("match", {}), inner
        elif key not in knobs and key in _field_names(Match):
            into, name = table.setdefault("match", {}), key
        else:
            into, name = table, key
        if name in into:
            raise PlanError([f"{key}: stands twice; say it once"])
        into[name] = _read_value(value.strip())
    return table


def _split_shorthand(text: str) -> list[str]:
    """Return the parts between commas outside of quotes and brackets."""
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
    """Return the value as TOML reads it, else the text: a shell user need not quote twice. A date
    is a text, as in `era=2026-07-28`.
    """
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        return text
    return text if isinstance(value, date | time) else value


@cache
def _converter() -> Converter:
    """Return the converter of plans: `kind` says which class a `[[fault]]` is."""
    from mcpmock.options.converter import table_converter

    converter = table_converter()
    converter.register_structure_hook_func(lambda type_: type_ is Fault, _structure_fault)
    return converter


def _structure_fault(written: Any, _type: type = Fault) -> Fault:
    """Return one `[[fault]]`. Raises ValueError, or a group of mistakes, each with its key."""

    if not isinstance(written, Mapping):
        raise ValueError(f"expected a table, not {shown(written)}")
    kind = written.get("kind")
    if kind is None:
        for key in written:
            if hint := did_you_mean(key, ["kind"], cutoff=0.7):
                raise PlanError([f"{key}: unknown key{hint} {_WHERE_KINDS_ARE}"])
        raise PlanError([f"kind: missing; {_WHERE_KINDS_ARE}"])
    if not isinstance(kind, str) or kind not in KINDS:
        from .fears import suggest_kinds  # few plans are wrong

        near = suggest_kinds(str(kind))
        suggestion = f"did you mean {' or '.join(near)}? " if near else ""
        raise PlanError([f"kind: unknown kind {shown(kind)}; {suggestion}{_WHERE_KINDS_ARE}"])
    cls = KINDS[kind]
    for alias in written.keys() & cls.aliases.keys():
        if cls.aliases[alias] in written:
            raise PlanError([f"{alias}: the same as {cls.aliases[alias]}; say one of them"])
    knobs = {cls.aliases.get(key, key): value for key, value in written.items() if key != "kind"}
    return _converter().structure(knobs, cls)


def _knobs_of(cls: type[Fault]) -> set[str]:
    return {*_field_names(cls), *cls.aliases}


def _field_names(cls: type) -> set[str]:
    return {field.name for field in attrs.fields(cls)}
