"""`mcpmock merge`: cassettes joined into one new file (`cassette.merge`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcpmock.errors import CassetteError
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.files import NewFileOptions
from mcpmock.printable import many

from .option_table import options
from .options_files import refuse_existing, with_siblings
from .output import CASSETTE, counts, report

if TYPE_CHECKING:
    from mcpmock.cassette.merge import Merged

_PROGRESS_MIN_BYTES = 32 << 20
"""The size of all files from which on a progress bar is shown."""


@click.command()
@click.argument("files", metavar="FILE FILE...", nargs=-1, required=True, type=CASSETTE)
@options(target=NewFileOptions)
def merge(files: tuple[Path, ...], target: NewFileOptions, console: ConsoleOptions) -> int:
    """Join cassettes into one: all takes, in the order of the files.

    Takes are written in the form of `fmt --times keep`. A damaged cassette is refused, and so is
    one that is named twice.
    """
    from mcpmock.cassette.file import rewrite
    from mcpmock.cassette.merge import merge as merged

    if len(files) < 2:
        raise click.UsageError("name two or more cassettes")
    output = target.output
    refuse_existing(output)
    _refuse_duplicates(files)
    result = merged(_read_files(files, quiet=console.quiet))
    rewrite(output, result.data)
    members = {
        "cassettes": len(files),
        **counts(result, "takes", "events", "sealed", "torn"),
    }
    lines = _describe(result, output, len(files))
    return report("merged", output, members, lines, console)


def _describe(result: Merged, output: Path, cassettes: int) -> Iterator[str]:
    for file, damage in result.torn:
        yield f"{file}:{damage.line}: left out: {damage.reason}"
    size = f"{many(result.takes, 'take')}, {many(result.events, 'event')}"
    open_takes = result.takes - result.sealed
    rest = f"; {many(open_takes, 'take')} without a footer" if open_takes else ""
    yield f"{output}: {size} of {many(cassettes, 'cassette')}{rest}"


def _refuse_duplicates(files: Sequence[Path]) -> None:
    """Raise CassetteError for a file that is named twice, also by way of a link."""
    seen: dict[tuple[int, int], Path] = {}
    for file in files:
        try:
            found = file.stat()
        except OSError:
            continue  # reading it reports the reason
        before = seen.setdefault((found.st_dev, found.st_ino), file)
        if before is not file:
            raise CassetteError(file, f"is the same file as {before}", hint="name it once")


def _read_files(files: Sequence[Path], *, quiet: bool) -> Iterator[tuple[str, bytes]]:
    """Raise CassetteError for a damaged file, and if all are larger than a cassette may be."""
    from mcpmock.cassette.file import MAX_BYTES, load_alone, read_bytes

    files = with_siblings(files, quiet=quiet)
    size = sum(file.stat().st_size for file in files if file.exists())
    hidden = quiet or size < _PROGRESS_MIN_BYTES or not sys.stderr.isatty()
    total = 0
    with click.progressbar(files, label="reading", file=sys.stderr, hidden=hidden) as shown:
        for file in shown:
            load_alone(file)  # refuses a damaged cassette
            data = read_bytes(file)
            total += len(data)
            # Or the result could not be loaded again.
            if total > MAX_BYTES:
                raise CassetteError(file, f"makes the result larger than {MAX_BYTES >> 20} MiB")
            yield str(file), data
