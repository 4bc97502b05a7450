"""`mcpmock diff`: two cassettes compared by what they mean, as text, JSON, Markdown or JUnit.

Comparing is `semantic_diff.compare`'s work; here are the options in front of it, the words are
`reports`'.
`Options` and `report` are for every command that ends in a comparison.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mcpmock.view.printable import printable

from .output import CASSETTE, common, emit, say

if TYPE_CHECKING:
    from mcpmock.semantic_diff.compare import Comparison, Progress, Rules

FORMATS = ("text", "json", "markdown", "junit")
THRESHOLDS = ("any", "risky", "breaking", "never")
_WORTH_A_BAR = 10_000
"""Events that take long enough to say how far we are."""
_Command = TypeVar("_Command", bound=Callable[..., Any])


def comparing(command: _Command) -> _Command:
    """The options of a command that ends in a comparison."""
    for option in (
        click.option(
            "--unordered",
            multiple=True,
            metavar="RULE",
            help="Lists whose order means nothing; a RULE as for --ignore.",
        ),
        click.option(
            "--tolerance",
            default="0",
            show_default=True,
            metavar="N|N%",
            help="By how much numbers may differ.",
        ),
        click.option(
            "--ignore",
            multiple=True,
            metavar="RULE",
            help="What may differ: [METHOD [NAME]] JSONPATH, as '$.result._meta' or 'tools/call"
            " get_time $.result.content'. May be given more than once.",
        ),
        click.option(
            "--fail-on",
            type=click.Choice(THRESHOLDS),
            default="any",
            show_default=True,
            help="The least that makes the exit status 1.",
        ),
        click.option(
            "--format",
            type=click.Choice(FORMATS),
            default="text",
            show_default=True,
            help="`markdown` is for a comment on a pull request, `junit` for a test report.",
        ),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("old", type=CASSETTE)
@click.argument("new", type=CASSETTE)
@comparing
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
    verbose: bool,  # noqa: ARG001
    json: bool,
) -> int:
    """Compare two recordings by what they mean.

    Calls stand for each other by what they ask, whatever their ids, tokens, sessions, times and
    transports. Each difference is judged: breaking, risky or compatible, for who uses the server.
    Exit status: 0 if nothing differs, 1 if something does (see --fail-on), 3 if a cassette is bad.
    """
    from mcpmock.cassette.file import load
    from mcpmock.semantic_diff.compare import compare

    rules = parsed(ignore, unordered, tolerance)
    before, after = load(old), load(new)
    for cassette in () if quiet else (before, after):
        for notice in cassette.notices:
            say(f"{cassette.name}:{notice.line}: {notice.text}")
    events = sum(len(take.events) for one in (before, after) for take in one.takes)
    with _bar(shown=events >= _WORTH_A_BAR and not quiet) as progress:
        comparison = compare(before, after, rules, progress)
    return report(comparison, "json" if json else format, fail_on, quiet=quiet)


def parsed(ignore: tuple[str, ...], unordered: tuple[str, ...], tolerance: str) -> Rules:
    """Raises UsageError for a rule that is none."""
    from mcpmock.semantic_diff.compare import Rules

    try:
        return Rules.parse(ignore, unordered, tolerance)
    except ValueError as error:
        raise click.UsageError(printable(str(error))) from error


def report(comparison: Comparison, form: str, fail_on: str, *, quiet: bool = False) -> int:
    """Writes the report to standard output and gives the exit status. With `quiet` a text is
    written only where that is not 0.
    """
    from .diff_formats import fails, junit, markdown, object_of, text

    failed = fails(comparison.worst, fail_on)
    if form == "json":
        emit(object_of(comparison))
    elif form == "junit":
        click.echo(junit(comparison, fail_on))
    elif form == "markdown":
        click.echo(markdown(comparison))
    elif failed or not quiet:
        for line in text(comparison):
            click.echo(line)
    return int(failed)


@contextmanager
def _bar(*, shown: bool) -> Iterator[Progress | None]:
    """How far we are, on a terminal's standard error."""
    if not shown or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("comparing")
        yield lambda done, total: bar.update(task, completed=done, total=total)
