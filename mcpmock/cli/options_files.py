"""The arguments of commands that read several files or write a new one, and what goes with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from mcpmock.errors import CassetteError

from .output import CASSETTE, say

FILES = click.argument("files", metavar="FILE...", nargs=-1, required=True, type=CASSETTE)
OUTPUT = click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    type=CASSETTE,
    help="Write to OUT, which must not exist.",
)


def refuse_existing(output: Path) -> None:
    """Raises CassetteError if there is anything at `output`, a dangling link included."""
    if os.path.lexists(output):
        raise CassetteError(output, "exists", hint="name a file that does not")


def with_siblings(files: Iterable[Path], *, quiet: bool) -> list[Path]:
    """The files, each followed by its siblings unless they are named too."""
    from mcpmock.cassette.file import find_siblings

    named = list(files)
    found: list[Path] = []
    for path in named:
        found.append(path)
        for sibling in find_siblings(path):
            if sibling not in named:
                found.append(sibling)
                if not quiet:
                    say(f"{path}: {sibling} is read too: it is not joined yet")
    return found


def run_each(files: Iterable[Path], work: Callable[[Path], int]) -> int:
    """Run `work` on each file and return the highest status; a file that cannot be read does not
    stop the others.
    """
    worst = 0
    for path in files:
        try:
            worst = max(worst, work(path))
        except CassetteError as error:
            say(str(error))
            worst = max(worst, error.exit_code)
    return worst
