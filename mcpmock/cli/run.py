"""Running a `Setup` from the command line: sessions, the summary of the faults, the exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .options_faults import report_faults

if TYPE_CHECKING:
    from mcpmock.sessions.run import Setup


def run_to_end(setup: Setup, options: dict[str, Any]) -> int:
    """Run sessions and print how often each fault fired. Gives the exit status."""
    import trio

    from mcpmock.sessions.run import run_sessions

    status = trio.run(run_sessions, setup)
    fault_status = report_faults(setup.faults, options)
    return status or fault_status
