"""The faults of a plan, as classes: what `mcpmock.serve(..., faults=...)` and the rest take.

    >>> from mcpmock.faults import Latency, Match, ToolError
    >>> slow, broken = Latency(latency="250ms"), ToolError(match=Match(tool="get_*", nth=2))
    >>> with mcpmock.serve("weather.jsonl", faults=[slow, broken], seed=7) as server:
    ...     [fault.kind for fault in server.faults.faults]
    ['latency', 'tool_error']

There is a class for each kind (`mcpmock faults` lists them); its fields are the knobs of a plan, by
the same names. A duration is in seconds or `"250ms"`, a size in bytes or `"64KiB"`, and `match` a
`Match` or a table of its keys. `load` reads a plan from a file, `parse` a fault from its shorthand.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # A star, for a theme's classes are public all of them: a new kind is listed in one place only.
    from .control import FaultControl as FaultControl
    from .event_order import EventOrder as EventOrder
    from .fault import Fault as Fault
    from .fault import PlanError as PlanError
    from .kinds.auth import *  # noqa: F403
    from .kinds.cancel import *  # noqa: F403
    from .kinds.connection import *  # noqa: F403
    from .kinds.content import *  # noqa: F403
    from .kinds.errors import *  # noqa: F403
    from .kinds.http import *  # noqa: F403
    from .kinds.loss import *  # noqa: F403
    from .kinds.mcp import *  # noqa: F403
    from .kinds.order import *  # noqa: F403
    from .kinds.process import *  # noqa: F403
    from .kinds.sse import *  # noqa: F403
    from .kinds.timing import *  # noqa: F403
    from .match import Match as Match
    from .plan import Plan as Plan
    from .races.fault import CancelRace as CancelRace
    from .receipts import Armed as Armed
else:
    # Type checkers take a list that is computed for an empty one: they do without.
    from .registry import KINDS, class_name

    _OTHERS = {
        "Armed": "receipts",
        "EventOrder": "event_order",
        "Fault": "fault",
        "FaultControl": "control",
        "Match": "match",
        "Plan": "plan",
        "PlanError": "fault",
    }
    _CLASSES = {class_name(kind): kind for kind in KINDS}
    __all__ = sorted([*_CLASSES, *_OTHERS, "load", "parse"])

    def __getattr__(name: str) -> Any:
        if name in _CLASSES:
            return KINDS[_CLASSES[name]]
        if name in _OTHERS:
            return getattr(import_module(f"{__name__}.{_OTHERS[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load(path: Path | str | os.PathLike[str], *, seed: int | None = None) -> Plan:
    """Return the plan in a TOML file; `seed` overrules the file's.

    Raises PlanError with all mistakes, and CassetteError for a recording that a fault draws from.

    >>> plan = mcpmock.faults.load("slow.toml", seed=8)
    >>> plan.seed, plan.faults[0].latency
    (8, 0.25)
    """
    from mcpmock.faults.plan import load_plan

    return load_plan(Path(path), (), seed)


def parse(shorthand: str) -> Fault:
    """Return a fault from what `--fault` takes: `KIND:KEY=VALUE,KEY=VALUE`. Raises PlanError with
    all mistakes.

    >>> fault = mcpmock.faults.parse("latency:latency=250ms,tool=get_*")
    >>> fault == mcpmock.faults.Latency(latency="250ms", match={"tool": "get_*"})
    True
    """
    from .plan import fault_of

    return fault_of(shorthand)
