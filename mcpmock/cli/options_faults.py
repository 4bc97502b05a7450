"""What the commands share that let faults happen: `--faults`, `--fault` and `--seed`, and what is
told of them at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .output import emit, say

if TYPE_CHECKING:
    from mcpmock.faults.receipts import FaultRun

_Command = TypeVar("_Command", bound=Callable[..., Any])
_OPTIONS = (
    click.option(
        "--faults",
        type=click.Path(path_type=Path),
        metavar="PLAN",
        help="Let go wrong what this TOML file says.",
    ),
    click.option(
        "--fault",
        multiple=True,
        metavar="KIND:KEY=VALUE,..",
        help="One fault more: 'latency:latency=200ms,tool=get_*'.",
    ),
    click.option("--seed", type=int, metavar="N", help="What all chances of a plan come from."),
)


def fault_options(command: _Command) -> _Command:
    """`--faults` and what goes with it."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def faults_of(options: dict[str, Any]) -> FaultRun | None:
    """From the options above, which it takes out; None where nothing is to go wrong. Says every
    mistake in a plan on a line of its own, and ends with 3.
    """
    file, shorthands, seed = (options.pop(name) for name in ("faults", "fault", "seed"))
    if file is None and not shorthands:
        return None

    from mcpmock.faults.fault import PlanError
    from mcpmock.faults.plan_files import load_plan
    from mcpmock.faults.receipts import FaultRun

    try:
        return FaultRun.of(load_plan(file, shorthands, seed))
    except PlanError as error:
        for mistake in error.mistakes:
            say(mistake)
        raise click.exceptions.Exit(error.exit_code) from error


def told_of(run: FaultRun | None, options: dict[str, Any]) -> int:
    """Tells which fired how often and which never did. Gives 1 if one that must have fired has not,
    or if one could not do what it should, else 0.
    """
    if run is None:
        return 0
    owing = {fault.title for fault in run.owing()}
    for mistake in run.mistakes:
        say(f"{mistake}: a mistake of ours; the message passed as it was")
    if options["json"]:
        for tally in run.tallies():
            emit({"type": "fault", **tally}, err=True)
    else:
        for fault, line in zip(run.tallies(), run.summary(), strict=True):
            if not options["quiet"] or fault["fault"] in owing:
                say(line)
    return int(bool(owing or run.mistakes))
