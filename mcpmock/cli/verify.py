"""`mcpmock verify`: drives a real server as the recorded client did, and compares what comes of it.

`modes.drive` drives, `diff` has the options and the report.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from .diff import comparing, parsed, report
from .terminal import CASSETTE, common, say
from .upstream import server_of, server_options


@click.command()
@click.argument("file", type=CASSETTE)
@click.option("--update", is_flag=True, help="Replace FILE by what was recorded, if it differs.")
@comparing
@server_options
@common
def verify(file: Path, update: bool, **options: Any) -> int:
    """Check that a real server still does what it did in the cassette FILE.

    The recorded clients are played to the server, which is COMMAND or at --url, and what comes of
    it is compared with the recording as by `mcpmock diff`. Exit status: 1 if it differs (see
    --fail-on).
    """
    import msgspec
    import trio

    from mcpmock.cassette.diff import compare
    from mcpmock.cassette.file import load
    from mcpmock.modes.drive import DIFFERENT, Driving, drive
    from mcpmock.modes.taking import Recording

    rules = parsed(options["ignore"], options["unordered"], options["tolerance"])
    server = server_of(options)
    recorded = load(file)
    with TemporaryDirectory(dir=file.parent if update else None, prefix=".mcpmock-") as folder:
        output = Path(folder) / "live.jsonl"
        driving = Driving(server, recording=Recording.to(str(output)))
        status = trio.run(drive, recorded, driving, say)
        if status not in (0, DIFFERENT):
            return status
        live = msgspec.structs.replace(load(output), name="live")
        comparison = compare(recorded, live, rules)
        form = "json" if options["json"] else options["format"]
        status = report(comparison, form, options["fail_on"], quiet=options["quiet"])
        if update and comparison.worst is not None:
            sys.stdout.flush()
            os.replace(output, file)
            say(f"{file}: replaced by what was recorded now")
            return 0
    return status
