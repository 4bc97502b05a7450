"""The rules of a comparison, as `DiffOptions` say them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mcpmock.printable import printable

if TYPE_CHECKING:
    from mcpmock.options.comparison import DiffOptions
    from mcpmock.semantic_diff.ignore_rules import IgnoreRules


def ignore_rules_of(options: DiffOptions) -> IgnoreRules | None:
    """Return the rules; None if there are none. Raises UsageError for one that is not valid."""
    given = options.ignore, options.unordered, options.tolerance, options.like
    if given == ((), (), "0", ()):
        return None

    from mcpmock.semantic_diff.ignore_rules import IgnoreRules

    try:
        return IgnoreRules.parse(*given)
    except ValueError as error:
        raise click.UsageError(printable(str(error))) from error
