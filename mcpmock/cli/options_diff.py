"""The options of commands that end in a comparison (`diff`, `verify`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mcpmock.printable import printable

from .output import option_set

if TYPE_CHECKING:
    from mcpmock.semantic_diff.compare import Rules

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
