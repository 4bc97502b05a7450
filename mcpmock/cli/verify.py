"""`mcpmock verify`: drives a real server as the recorded client did, and compares what comes of it.

`sessions.drive` drives, `diff` has the options and the report.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from .diff import comparing, parsed, report
from .options_faults import fault_options, faults_of, told_of
from .options_server import server_of, server_options
from .output import CASSETTE, common, say


@click.command()
@click.argument("file", type=CASSETTE)
@click.option("--update", is_flag=True, help="Replace FILE by what was recorded, if it differs.")
@comparing
@fault_options
@server_options
@common
def verify(file: Path, update: bool, **options: Any) -> int:
    """Check that a real server still does what it did in the cassette FILE.

    The recorded clients are played to the server, which is COMMAND or at --url, and what comes of
    it is compared with the recording as by `mcpmock diff`. Exit status: 1 if it differs (see
    --fail-on). With --update only a session that went as recorded replaces FILE.
    """
    import trio

    from mcpmock.cassette.file import load, read_bytes, rewrite
    from mcpmock.semantic_diff.compare import compare
    from mcpmock.sessions.drive import DIFFERENT, drive_and_record

    rules = parsed(options["ignore"], options["unordered"], options["tolerance"])
    server = server_of(options)
    was = read_bytes(file) if update else None
    recorded = load(file)
    faults = faults_of(options)
    driven = trio.run(lambda: drive_and_record(recorded, server, say, faults=faults))
    owing = told_of(faults, options)
    if driven.status not in (0, DIFFERENT):
        return driven.status
    comparison = compare(recorded, driven.live, rules)
    form = "json" if options["json"] else options["format"]
    status = report(comparison, form, options["fail_on"], quiet=options["quiet"]) or owing
    sys.stdout.flush()
    if not update or comparison.worst is None:
        return status
    if driven.status == DIFFERENT:
        say(f"{file}: not replaced, for the session did not go as recorded; record it anew")
        return DIFFERENT
    rewrite(file, driven.data, was=was)
    say(f"{file}: replaced by what was recorded now")
    return 0
