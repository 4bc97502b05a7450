"""Writes faults and their values as plans and the command line have them; `plan` reads them.

The help of the kinds and the failure reports of tests stand above.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

import attrs

from mcpmock.lazy_pattern import lazy_pattern

from .event_order import written_order
from .fault import Fault, PlanError
from .match import Match
from .plan import Plan, fault_of
from .registry import KINDS

_BARE_KEY = lazy_pattern(r"[A-Za-z0-9_-]+")


def shorthand_of(fault: Fault) -> str | None:
    """`latency:latency=0.25,tool=get_*`; None if no shorthand means the same, as for quotation
    marks within quotation marks.
    """
    knobs = {**_changed_fields(fault), "match": _changed_fields(fault.match)}
    try:
        spelled = spell_shorthand(fault.kind, knobs)
        return spelled if fault_of(spelled) == fault else None
    except PlanError:
        return None


def plan_text(plan: Plan) -> str:
    """Return the plan as TOML, which `load_plan` reads. Knobs that have their usual value are left
    out.
    """
    lines = [f"seed = {plan.seed}"]
    if plan.schedule is not None:
        lines += ["", *written_order(plan.schedule)]
    for fault in plan.faults:
        lines += ["", "[[fault]]", f'kind = "{fault.kind}"']
        for key, value in _changed_fields(fault).items():
            written = _changed_fields(value) if key == "match" else value
            lines.append(f"{key} = {spell_toml(written)}")
    return "\n".join(lines) + "\n"


def _changed_fields(values: Fault | Match) -> dict[str, Any]:
    """Return the fields that differ from their defaults."""
    found = {}
    for field in attrs.fields(type(values)):
        usual = field.default
        usual = usual.factory() if isinstance(usual, attrs.Factory) else usual  # type: ignore[arg-type]
        if (value := getattr(values, field.name)) != usual:
            found[field.name] = value
    return found


def spell_shorthand(kind: str, knobs: Mapping[str, Any]) -> str:
    """Return a fault with these knobs, `match` among them, as `--fault` takes it."""
    own = {field.name for field in attrs.fields(KINDS[kind])}
    match = {f"match.{k}" if k in own else k: v for k, v in knobs.get("match", {}).items()}
    knobs = {**{name: value for name, value in knobs.items() if name != "match"}, **match}
    parts = ",".join(f"{name}={_spell_bare(value)}" for name, value in knobs.items())
    return f"{kind}:{parts}" if parts else kind


def spell_toml(value: Any) -> str:
    """Return a value as TOML writes it, which has all of JSON but null and lone surrogates."""
    if isinstance(value, Mapping):
        members = (f"{_spell_key(name)} = {spell_toml(one)}" for name, one in value.items())
        return "{ " + ", ".join(members) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(spell_toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)  # `inf`, where JSON has nothing
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _spell_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else spell_toml(name)


def _spell_bare(value: Any) -> str:
    """Drop the quotation marks that a text needs in TOML only."""
    if not isinstance(value, str):
        return spell_toml(value)
    try:
        tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        if not set(value) & set(",\"'[]{}="):
            return value
    return f"'{value}'" if "'" not in value else spell_toml(value)
