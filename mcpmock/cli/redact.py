"""`mcpmock redact`: a cassette without its secrets (`redaction.cassettes`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mcpmock.printable import many

from .options_files import refuse_existing
from .output import CASSETTE, common, report


@click.command(short_help="Replace the secrets in a cassette.")
@click.argument("file", metavar="FILE", type=CASSETTE)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    type=CASSETTE,
    help="Write to OUT, which must not exist, instead of FILE itself.",
)
@common
def redact(file: Path, output: Path | None, quiet: bool, json: bool, **_verbose: Any) -> int:
    """Replace the secrets in a cassette by placeholders, as a recording does.

    For recordings made with --no-redact, by older versions or by hand. What is replaced is what
    `mcpmock scan` finds; every other byte stays. FILE is replaced as a whole or not at all.
    """
    from mcpmock.cassette.file import join_siblings, load, read_bytes, rewrite
    from mcpmock.redaction.cassettes import redact_cassette

    if output is not None:
        refuse_existing(output)
    join_siblings(file)
    load(file)  # refuses a damaged cassette
    data = read_bytes(file)
    done = redact_cassette(data)
    if output is not None:
        rewrite(output, done.data)
    elif done.data != data:
        rewrite(file, done.data, was=data)
    values, events = many(done.replaced, "value"), many(done.events, "event")
    line = f"{file}: replaced {values} in {events}" if done.replaced else f"{file}: no secrets"
    members = {"replaced": done.replaced, "events": done.events}
    return report("redacted", output or file, members, [line], json=json, quiet=quiet)
