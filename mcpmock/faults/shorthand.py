"""Writes a fault as the shorthand that `plan_parser.fault_of` reads.

A value that the command line cannot express (quotes within quotes, latencies given as samples) has
no shorthand. Failure reports of tests stand above.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, get_type_hints

import attrs

from .fault import Fault, PlanError
from .match import Match
from .plan_parser import fault_of
from .units import Knob, knob_of


def shorthand_of(fault: Fault) -> str | None:
    """`latency:latency=0.25s,match.tool="get_*"`; None if no shorthand means the same."""
    parts = [
        *(f"{name}={value}" for name, value in _spell_fields(fault)),
        *(f"match.{name}={value}" for name, value in _spell_fields(fault.match)),
    ]
    spelled = f"{fault.kind}:{','.join(parts)}" if parts else fault.kind
    try:
        return spelled if fault_of(spelled) == fault else None
    except PlanError:
        return None


def _spell_fields(values: Fault | Match) -> list[tuple[str, str]]:
    """The fields that differ from their defaults, each with its spelling."""
    hints = get_type_hints(type(values), include_extras=True)
    return [
        (field.name, _spell_value(value, knob_of(hints[field.name])))
        for field in attrs.fields(type(values))
        if (value := getattr(values, field.name)) != field.default and not isinstance(value, Match)
    ]


def _spell_value(value: Any, knob: Knob | None) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_spell_value(one, knob) for one in value)}]"
    if knob is not None and knob.units:
        number = format(Decimal(repr(value)), "f")
        unit = next(unit for unit in ("s", "B", "B/s") if unit in knob.units)
        return f'"{number}{unit}"'
    return json.dumps(value, ensure_ascii=False)
