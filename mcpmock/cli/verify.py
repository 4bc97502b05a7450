"""`mcpmock verify`: plays the recorded client against a real server (`sessions.drive`) and compares
the two recordings (`diff_output`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from .options_diff import diff_options, ignore_rules_of
from .options_faults import fault_options, faults_of, report_faults
from .options_server import (
    check_server,
    server_of,
    server_options,
    value_option,
    values_of,
)
from .output import CASSETTE, common, say, say_notices


@click.command(short_help="Compare a real server with its recording.")
@click.argument("file", type=CASSETTE)
@click.option("--update", is_flag=True, help="Replace FILE with the new recording if they differ.")
@diff_options(fail_on="risky")
@value_option
@fault_options
@server_options
@common
def verify(file: Path, update: bool, **options: Any) -> int:
    """Check that a real server still behaves as recorded in the cassette FILE.

    Plays the recorded client against the server (COMMAND or --url) and compares the new recording
    with FILE as `mcpmock diff` does. Exit status: 0, or 1 if a difference is risky or breaking (see
    --fail-on). --update replaces FILE only if the server sent everything that the client waited
    for.
    """
    from mcpmock.cassette.file import join_siblings, load, read_bytes, rewrite

    check_server(options)
    rules = ignore_rules_of(options["ignore"], options["unordered"], options["tolerance"])
    values, faults = values_of(options), faults_of(options)
    if update:
        join_siblings(file)
    was = read_bytes(file) if update else None
    recorded = load(file)
    if not options["quiet"]:
        say_notices(recorded, of_lines=False)
    server = server_of(options)

    import trio

    from mcpmock.semantic_diff.compare import compare
    from mcpmock.sessions.drive import DIFFERENT, drive_and_record

    from .diff_output import diff_report
    from .reports import print_report

    driven = trio.run(lambda: drive_and_record(recorded, server, say, values=values, faults=faults))
    owing = report_faults(faults, options)
    if driven.status not in (0, DIFFERENT):
        return driven.status
    comparison = compare(recorded, driven.live, rules)
    form = "json" if options["json"] else options["format"]
    report = diff_report(comparison, options["fail_on"], verbose=options["verbose"])
    status = print_report(report, form, quiet=options["quiet"], paged=True) or owing
    sys.stdout.flush()
    if not update or comparison.worst is None:
        return status
    if driven.status == DIFFERENT:
        say(f"{file}: not replaced, because the session broke off; record it again")
        return DIFFERENT
    rewrite(file, driven.data, was=was)
    say(f"{file}: replaced with the new recording")
    return 0
