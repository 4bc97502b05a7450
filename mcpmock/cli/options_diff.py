"""The options of commands that end in a comparison (`diff`, `verify`), and their report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mcpmock.printable import printable

from .output import emit, option_set, print_lines

if TYPE_CHECKING:
    from mcpmock.semantic_diff.compare import Diff, Rules

FORMATS = ("text", "json", "markdown", "junit")
_Command = TypeVar("_Command", bound=Callable[..., Any])
THRESHOLDS = ("any", "risky", "breaking", "never")


def diff_options(*, fail_on: str) -> Callable[[_Command], _Command]:
    """The options, with the default of --fail-on."""
    return option_set(
        click.option(
            "--format",
            type=click.Choice(FORMATS),
            default="text",
            show_default=True,
            help="Format of the report; `markdown` suits a pull request comment.",
        ),
        click.option(
            "--fail-on",
            type=click.Choice(THRESHOLDS),
            default=fail_on,
            show_default=True,
            help="Lowest verdict that exits with status 1.",
        ),
        click.option(
            "--ignore",
            multiple=True,
            metavar="RULE",
            help="Ignore differences at [METHOD [NAME]] JSONPATH, for example '$.result._meta' or"
            " 'tools/call get_time $.result.content' (repeatable).",
        ),
        click.option(
            "--tolerance",
            default="0",
            show_default=True,
            metavar="N|N%",
            help="Ignore differences between numbers up to N or N percent.",
        ),
        click.option(
            "--unordered",
            multiple=True,
            metavar="RULE",
            help="Ignore the order of the lists at RULE, written as for --ignore (repeatable).",
        ),
    )


def ignore_rules_of(ignore: tuple[str, ...], unordered: tuple[str, ...], tolerance: str) -> Rules:
    """Parse the rules. Raises UsageError for one that is not valid."""
    from mcpmock.semantic_diff.compare import Rules

    try:
        return Rules.parse(ignore, unordered, tolerance)
    except ValueError as error:
        raise click.UsageError(printable(str(error))) from error


def write_report(
    comparison: Diff,
    form: str,
    fail_on: str,
    *,
    above: Iterable[str] = (),
    quiet: bool = False,
    verbose: bool = False,
) -> int:
    """Print the report to stdout and return the exit status. With `quiet`, a text report is printed
    only if it makes the status 1. `above` are lines that stand above its text.
    """
    from .diff_formats import fails, junit, markdown, object_of, text

    failed = fails(comparison.worst, fail_on)
    if form == "json":
        emit(object_of(comparison))
    elif form == "junit":
        click.echo(junit(comparison, fail_on))
    elif form == "markdown":
        click.echo(markdown(comparison, verbose=verbose))
    elif failed or not quiet:
        print_lines(chain(above, text(comparison, verbose=verbose)))
    return int(failed)
