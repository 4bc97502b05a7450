"""The command line: one module per command, named like it and imported only when it is called.

A command parses its options, calls a room below (`sessions`, `cassette`, `view`...) and prints.
`options_*.py` hold the options that commands share, `output.py` how they print, `reports.py` a
result in each format. `commands` finds the command and is the only place where errors become exit
statuses; a server may be started before that is imported (`early_start`).
"""

from __future__ import annotations

import gc
import sys

# speed: 6 ms of a start: nearly all of its objects live to its end (tools/bench.py --processor)
_COLLECTED_AFTER = 100_000
"""How many new objects are made before garbage is looked for."""


def main() -> None:
    """Run the command line and exit."""
    try:
        from . import interrupts

        interrupts.raise_interrupts()
        status = _run()
    except KeyboardInterrupt:
        status = 130
    finally:
        from .interrupts import ignore_interrupts

        ignore_interrupts()
    from mcpmock.platforms import exit_argument

    sys.exit(exit_argument(status))


def _run() -> int:
    gc.set_threshold(_COLLECTED_AFTER)

    from mcpmock.channels.inherited import note_descriptors
    from mcpmock.channels.standard_streams import guard_standard_streams

    from . import early_start

    note_descriptors()
    guard_standard_streams()
    early_start.start_server(sys.argv[1:])
    try:
        from .commands import run

        return run()
    finally:
        early_start.end_server()
