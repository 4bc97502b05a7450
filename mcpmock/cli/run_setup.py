"""Running a `Setup` from the command line: sessions, the summary of the faults, the exit status."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from .options_faults import report_faults

if TYPE_CHECKING:
    from mcpmock.options.console import ConsoleOptions
    from mcpmock.sessions.run import Setup

_COLLECTED_AFTER = 5_000, 5, 200
"""New objects, young collections, older ones. A session has few objects that are new and stay, and
a collection of so many takes less than a millisecond.
"""


def spare_collections() -> None:
    """Let the garbage collector leave alone what lives already, and come seldom: it takes 4 % of
    the time of a recording (tools/bench.py, record), and holds up an answer for 70 ms where 100,000
    events are loaded.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)


def run_to_end(setup: Setup, console: ConsoleOptions) -> int:
    """Run sessions and print how often each fault fired. Gives the exit status."""
    import trio

    from mcpmock.sessions.run import run_sessions

    spare_collections()
    status = trio.run(run_sessions, setup)
    fault_status = report_faults(setup.faults, console)
    return status or fault_status
