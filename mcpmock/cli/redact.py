"""`mcpmock redact`: a cassette without its secrets (`redaction.cassettes`)."""

from __future__ import annotations

from pathlib import Path

import click

from mcpmock.options.console import ConsoleOptions
from mcpmock.options.files import RedactOptions
from mcpmock.options.redaction import RedactionOptions
from mcpmock.printable import many

from .option_table import options
from .options_files import refuse_existing
from .output import CASSETTE, report


@click.command(short_help="Replace the secrets in a cassette.")
@click.argument("file", metavar="FILE", type=CASSETTE)
@options(target=RedactOptions, redaction=RedactionOptions)
def redact(
    file: Path, target: RedactOptions, redaction: RedactionOptions, console: ConsoleOptions
) -> int:
    """Replace the secrets in a cassette by placeholders, as a recording does.

    For recordings made with --no-redact, by older versions or by hand. What is replaced is what
    `mcpmock scan` finds with the same rules; every other byte stays. FILE is replaced as a whole
    or not at all.
    """
    from mcpmock.batch.redaction_rules import redaction_rules_of
    from mcpmock.cassette.file import join_siblings, load, read_bytes, rewrite
    from mcpmock.redaction.cassettes import redact_cassette
    from mcpmock.redaction.skill_files import describe_redacted, redacted_files_in

    output, rules = target.output, redaction_rules_of(redaction, file)
    if output is not None:
        refuse_existing(output)
    join_siblings(file)
    load(file)  # refuses a damaged cassette
    data = read_bytes(file)
    done = redact_cassette(data, rules)
    if output is not None:
        rewrite(output, done.data)
    elif done.data != data:
        rewrite(file, done.data, was=data)
    values, events = many(done.replaced, "value"), many(done.events, "event")
    line = f"{file}: replaced {values} in {events}" if done.replaced else f"{file}: no secrets"
    members = {"replaced": done.replaced, "events": done.events}
    lines = [line]
    takes = redacted_files_in(done.data.splitlines()) if done.replaced else []
    if skills := [*dict.fromkeys(uri for take in takes for uri in take)]:
        lines.append(f"{output or file}: {describe_redacted(skills)}")
    return report("redacted", output or file, members, lines, console)
