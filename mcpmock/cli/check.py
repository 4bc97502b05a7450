"""`mcpmock check`: integrity of a cassette (`cassette.validate`) and conformance of its traffic to
the protocol (`rules.report`), reported in the order of the file's lines.
"""

from __future__ import annotations

from functools import partial

import click

from mcpmock.options.comparison import CheckOptions, SharingOptions
from mcpmock.options.console import ConsoleOptions

from .option_table import TableCommand, options
from .options_files import MANY_FILES, highest, list_files, work_on_each


@click.command(cls=TableCommand, short_help="Check cassettes, and the protocol spoken in them.")
@MANY_FILES
@options(sharing=SharingOptions, checking=CheckOptions)
def check(
    files: tuple[str, ...], sharing: SharingOptions, checking: CheckOptions, console: ConsoleOptions
) -> int:
    """Check cassettes for damage, for edits and for violations of the protocol.

    The rules are those of the protocol revision in use; each violation quotes the sentence of the
    specification. Known deviations of the official SDKs are notices. Repeated findings are
    summarized; -v lists all of them. Exit status: 0 if there are only warnings and notices (see
    --fail-on), 1 if a rule is broken, a file was edited or an assertion failed, 3 if a file is
    damaged, cannot be read or is not a cassette.
    """
    from mcpmock.batch.check import check_file

    from .check_output import CheckOutput
    from .options_check import plan_of
    from .reports import refuse_cassettes

    plan = plan_of(checking)
    refuse_cassettes(checking.junit, checking.sarif, checking.write_baseline)
    named = list_files(files, sharing.scheduler, quiet=console.quiet)
    output = CheckOutput(checking, console, plan)
    work = partial(check_file, plan=plan)
    with work_on_each(work, named, sharing, quiet=console.quiet) as results:
        status = highest(partial(output.add, name, result) for name, result in results)
    return max(status, output.end())
