"""The faults that `FaultOptions` describe, and the summary at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .output import emit, say

if TYPE_CHECKING:
    from mcpmock.faults.receipts import FaultRun
    from mcpmock.options.console import ConsoleOptions
    from mcpmock.options.faults import FaultOptions


def faults_of(options: FaultOptions) -> FaultRun | None:
    """Return the faults; None if there are none. Raises PlanError."""
    if not options.given:
        return None

    from mcpmock.faults.plan import load_plan
    from mcpmock.faults.receipts import FaultRun

    return FaultRun.of(load_plan(options.faults, options.fault, options.seed))


def report_faults(run: FaultRun | None, console: ConsoleOptions) -> int:
    """Print how often each fault fired. Gives the exit status: 1 if a fault with `must_fire`
    never fired or a fault failed, else 0.
    """
    if run is None:
        return 0
    never_fired = {fault.title for fault in run.owing()}
    for mistake in run.mistakes:
        say(f"{mistake}: internal error (please report); the message passed unchanged")
    if console.json:
        for tally in run.tallies():
            emit({"type": "fault", **tally}, err=True)
    else:
        for fault, line in zip(run.tallies(), run.summary(), strict=True):
            if not console.quiet or fault["fault"] in never_fired:
                say(line)
    return int(bool(never_fired or run.mistakes))
