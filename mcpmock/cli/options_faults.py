"""The options of commands that inject faults, `--faults`, `--fault` and `--seed`, and the summary
at the end.
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
        help="Inject the faults described in this TOML plan.",
    ),
    click.option(
        "--fault",
        multiple=True,
        metavar="KIND:KEY=VALUE,..",
        help="Add one fault (repeatable): 'latency:latency=200ms,tool=get_*'.",
    ),
    click.option("--seed", type=int, metavar="N", help="Random seed for all fault decisions."),
)


def fault_options(command: _Command) -> _Command:
    """Add `--faults`, `--fault` and `--seed` to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def faults_of(options: dict[str, Any]) -> FaultRun | None:
    """The faults of the options above, which are removed; None if there are none. Prints every
    mistake in a plan on a line of its own and exits with status 3.
    """
    file, shorthands, seed = (options.pop(name) for name in ("faults", "fault", "seed"))
    if file is None and not shorthands:
        return None

    from mcpmock.faults.fault import PlanError
    from mcpmock.faults.plan import load_plan
    from mcpmock.faults.receipts import FaultRun

    try:
        return FaultRun.of(load_plan(file, shorthands, seed))
    except PlanError as error:
        for mistake in error.mistakes:
            say(mistake)
        raise click.exceptions.Exit(error.exit_code) from error


def report_faults(run: FaultRun | None, options: dict[str, Any]) -> int:
    """Print how often each fault fired. Gives the exit status: 1 if a fault with `must_fire`
    never fired or a fault failed, else 0.
    """
    if run is None:
        return 0
    never_fired = {fault.title for fault in run.owing()}
    for mistake in run.mistakes:
        say(f"{mistake}: internal error (please report); the message passed unchanged")
    if options["json"]:
        for tally in run.tallies():
            emit({"type": "fault", **tally}, err=True)
    else:
        for fault, line in zip(run.tallies(), run.summary(), strict=True):
            if not options["quiet"] or fault["fault"] in never_fired:
                say(line)
    return int(bool(never_fired or run.mistakes))
