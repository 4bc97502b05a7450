"""`mcpmock recover`: the readable part of a damaged cassette, written to a new one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcpmock.errors import CassetteError
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.files import NewFileOptions
from mcpmock.printable import many

from .option_table import options
from .options_files import refuse_existing
from .output import CASSETTE, counts, report

if TYPE_CHECKING:
    from mcpmock.cassette.canonical import Recovery


@click.command()
@click.argument("file", type=CASSETTE)
@options(target=NewFileOptions)
def recover(file: Path, target: NewFileOptions, console: ConsoleOptions) -> int:
    """Write the readable part of a damaged cassette to a new file.

    Good lines are kept as they are. The damaged file is not changed.
    """
    from mcpmock.cassette.canonical import recover as recovered
    from mcpmock.cassette.file import read_bytes, refuse_newer, rewrite

    output = target.output
    refuse_existing(output)
    data = read_bytes(file, damaged=True)
    refuse_newer(file, data)
    recovery = recovered(data)
    if not recovery.takes:
        raise CassetteError(file, "contains nothing that can be recovered")
    rewrite(output, recovery.data)
    members = counts(recovery, "takes", "events", "lost", "headers", "footers", "renumbered")
    lines = [f"{file}:{damage.line}: lost: {damage.reason}" for damage in recovery.lost]
    lines.append(f"{output}: {_changes(recovery)}")
    return report("recovered", file, members, lines, console)


def _changes(recovery: Recovery) -> str:
    parts = [f"saved {many(recovery.events, 'event')} in {many(recovery.takes, 'take')}"]
    if recovery.headers:
        parts.append(f"{many(recovery.headers, 'header')} lost and replaced")
    if recovery.footers:
        parts.append(f"{many(recovery.footers, 'footer')} left out (checksum no longer fits)")
    if recovery.renumbered:
        parts.append(f"{many(recovery.renumbered, 'take')} renumbered")
    return "; ".join(parts)
