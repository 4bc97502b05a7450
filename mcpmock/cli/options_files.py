"""The arguments of commands that read several files, and what goes with them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click

from mcpmock.errors import CassetteError
from mcpmock.options.comparison import SharingOptions
from mcpmock.printable import printable

from .output import NamedFile, Progress, is_terminal, progress_bar, say, without_secrets

Item = TypeVar("Item")
Result = TypeVar("Result")
_MIN_PROGRESS_ITEMS = 10
MANY_FILES = click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=NamedFile(allow_dash=True)
)
"""Names of cassettes, of which there may be many."""


def refuse_existing(output: Path) -> None:
    """Raise CassetteError if there is anything at `output`, a dangling link included."""
    if os.path.lexists(output):
        raise CassetteError(output, "exists", hint="name a file that does not")


def list_files(
    names: Iterable[str],
    scheduler: str | None,
    *,
    quiet: bool,
    siblings: bool = True,
    rejected: bool = False,
) -> list[Path | str]:
    """Return the files and URLs that are meant by names, patterns and folders, with what failed
    tests have recorded in these if `rejected`, and the siblings of the files; `-` stands for the
    names on standard input, one on a line or, as of `find -print0`, with NUL between them. Raises
    UsageError if nothing matches a pattern.
    """
    from mcpmock.batch.file_lists import expand

    try:
        meant = (reachable(name, scheduler) for name in _with_stdin(names))
        found = expand(meant, rejected=rejected)
    except ValueError as error:
        raise click.BadParameter(printable(str(error)), param_hint="FILE") from error
    if not found:
        raise click.BadParameter("no names on standard input", param_hint="FILE")
    if not siblings:
        return found
    paths = with_siblings((one for one in found if isinstance(one, Path)), quiet=quiet)
    return [*paths, *(one for one in found if not isinstance(one, Path))]


def named_files(names: Iterable[str]) -> list[Path]:
    """Return the files on this machine that are meant by names, patterns and folders. Raises as
    `list_files`.
    """
    files: list[Path] = []
    for one in list_files(names, None, quiet=True, siblings=False):
        if not isinstance(one, Path):
            raise click.BadParameter(f"{printable(one)} is not on this machine", param_hint="FILE")
        files.append(one)
    return files


def reachable(name: str, scheduler: str | None) -> str:
    """Return a name as the workers of a cluster need it: they run in folders of their own."""
    from mcpmock.batch.sources import is_url

    return name if scheduler is None or is_url(name) else os.path.abspath(name)


def _with_stdin(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name == "-":
            if is_terminal(sys.stdin):
                say("waiting for the names of cassettes on standard input, one a line, then Ctrl-D")
            data = sys.stdin.buffer.read()
            lines = data.split(b"\0") if b"\0" in data else data.splitlines()
            yield from (os.fsdecode(line) for line in lines if line)
        else:
            yield name


@contextmanager
def work_on_each(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    sharing: SharingOptions,
    *,
    quiet: bool,
    prints_each: bool = True,
) -> Iterator[Iterator[tuple[Item, Callable[[], Result]]]]:
    """Give each item with a function that gives the result of `work`, or raises its error; done by
    processes or a Dask cluster. Progress is shown on a terminal, unless
    what is printed for each item (`prints_each`) shows it there.
    """
    from mcpmock.batch.executors import processes, run_in_order, scheduler

    jobs, address = sharing.jobs, sharing.scheduler
    if jobs > 1 and address is not None:
        raise click.UsageError("--jobs and --scheduler are mutually exclusive")
    workers = processes(min(jobs, len(items))) if address is None else scheduler(address)
    shown = len(items) >= _MIN_PROGRESS_ITEMS and not quiet
    shown = shown and not (prints_each and sys.stdout.isatty())
    with workers as executor, progress_bar("reading", shown=shown) as bar:
        yield _counted(run_in_order(work, items, executor), len(items), bar)


def _counted(
    results: Iterable[tuple[Item, Callable[[], Result]]], total: int, progress: Progress | None
) -> Iterator[tuple[Item, Callable[[], Result]]]:
    for done, result in enumerate(results, 1):
        yield result
        if progress is not None:
            progress(done, total)


def with_siblings(files: Iterable[Path], *, quiet: bool) -> list[Path]:
    """Return the files, each followed by its siblings unless they are named too."""
    from mcpmock.cassette.file import siblings_of_each

    siblings = siblings_of_each(files)
    found: list[Path] = []
    for path, those in siblings.items():
        found.append(path)
        for sibling in those:
            if sibling not in siblings:
                found.append(sibling)
                if not quiet:
                    say(f"{path}: {sibling} is read too: it is not joined yet")
    return found


def highest(works: Iterable[Callable[[], int]]) -> int:
    """Run each and return the highest status; a file that cannot be read does not stop the
    others.
    """
    worst = 0
    for work in works:
        try:
            worst = max(worst, work())
        except CassetteError as error:
            say(without_secrets(str(error)))
            worst = max(worst, error.exit_code)
    return worst
