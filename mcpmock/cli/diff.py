"""`mcpmock diff`: two cassettes compared by meaning (`semantic_diff.compare`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options_diff import diff_options, ignore_rules_of, write_report
from .output import CASSETTE, common, say_notices

if TYPE_CHECKING:
    from mcpmock.semantic_diff.compare import Progress

_PROGRESS_MIN_EVENTS = 10_000
"""The number of events from which on a progress bar is shown."""


@click.command()
@click.argument("old", type=CASSETTE)
@click.argument("new", type=CASSETTE)
@diff_options(fail_on="any")
@common
def diff(
    old: Path,
    new: Path,
    format: str,
    fail_on: str,
    ignore: tuple[str, ...],
    unordered: tuple[str, ...],
    tolerance: str,
    quiet: bool,
    verbose: bool,
    json: bool,
) -> int:
    """Compare two recordings by meaning.

    Calls are paired by what they ask, whatever their ids, tokens, sessions, times and transports.
    Each difference is breaking, risky or compatible for clients of the server. Exit status: 0 if
    nothing differs, 1 if something does (see --fail-on), 3 if a cassette cannot be read.
    """
    from mcpmock.cassette.file import load
    from mcpmock.semantic_diff.compare import compare

    rules = ignore_rules_of(ignore, unordered, tolerance)
    before, after = load(old), load(new)
    for cassette in () if quiet else (before, after):
        say_notices(cassette)
    events = sum(len(take.events) for one in (before, after) for take in one.takes)
    with _progress_bar(shown=events >= _PROGRESS_MIN_EVENTS and not quiet) as progress:
        comparison = compare(before, after, rules, progress)
    form = "json" if json else format
    return write_report(comparison, form, fail_on, quiet=quiet, verbose=verbose)


@contextmanager
def _progress_bar(*, shown: bool) -> Iterator[Progress | None]:
    """A progress callback for `compare`, drawn on stderr if that is a terminal."""
    if not shown or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1000, label="comparing", file=sys.stderr) as bar:
        yield lambda done, total: bar.update(done * 1000 // max(total, 1) - bar.pos)
