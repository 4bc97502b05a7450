"""`mcpmock verify`: plays the recorded client against a real server (`sessions.drive`) and compares
the two recordings (`diff_output`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcpmock.options.comparison import DiffOptions, FailOn, VerifyOptions
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.endpoints import ServerOptions, ValueOptions
from mcpmock.options.faults import FaultOptions

from .interrupts import run_trio
from .option_table import COMMAND, TableCommand, options
from .options_diff import ignore_rules_of
from .output import CASSETTE, say, say_notices, say_waiting
from .run_setup import check_server, faults_of, playing_text, report_faults, server_of, values_of

if TYPE_CHECKING:
    from mcpmock.cassette.model import Cassette
    from mcpmock.matching.match_rule import MatchRules
    from mcpmock.semantic_diff.ignore_rules import IgnoreRules
    from mcpmock.sessions.drive import DriveOutcome


@click.command(cls=TableCommand, short_help="Compare a real server with its recording.")
@click.argument("file", type=CASSETTE)
@COMMAND
@options(
    verifying=VerifyOptions,
    comparing=DiffOptions,
    secrets=ValueOptions,
    faults=FaultOptions,
    server=ServerOptions,
    defaults={"fail_on": "risky"},
)
def verify(
    file: Path,
    verifying: VerifyOptions,
    comparing: DiffOptions,
    secrets: ValueOptions,
    faults: FaultOptions,
    server: ServerOptions,
    console: ConsoleOptions,
) -> int:
    """Check that a real server still behaves as recorded in the cassette FILE.

    Plays the recorded client against the server (COMMAND or --url) and compares the new recording
    with FILE as `mcpmock diff` does. Exit status: 0, or 1 if a difference is risky or breaking (see
    --fail-on). --update replaces FILE only if the server sent everything that the client waited
    for.
    """
    from mcpmock.batch.match_rules import rules_beside
    from mcpmock.cassette.file import join_siblings, load, read_bytes, rewrite

    check_server(server)
    rules, update = ignore_rules_of(comparing), verifying.update
    values, run = values_of(secrets), faults_of(faults)
    if update:
        join_siblings(file)
    was = read_bytes(file) if update else None
    recorded = load(file)
    beside = rules_beside(recorded, no_rules=comparing.no_rules)
    say_notices(recorded.notices, recorded.name, quiet=console.quiet, of_lines=False)
    back = server_of(server)

    from mcpmock.sessions.drive import DIFFERENT, drive_and_record

    say_waiting(playing_text(file), console)
    told: list[str] = []
    driven = run_trio(
        lambda: drive_and_record(recorded, back, say, values=values, faults=run, report=told.append)
    )
    owing = report_faults(run, console)
    if driven.status not in (0, DIFFERENT):
        return driven.status
    status, differs = _report(recorded, driven, told, (rules, beside), comparing, console)
    if not update or not differs:
        return status or owing
    if driven.status == DIFFERENT:
        say(f"{file}: not replaced, because the session broke off; record it again")
        return DIFFERENT
    rewrite(file, driven.data, was=was)
    say(f"{file}: replaced with the new recording")
    return 0


def _report(
    recorded: Cassette,
    driven: DriveOutcome,
    told: Sequence[str],
    rules: tuple[IgnoreRules | None, MatchRules | None],
    comparing: DiffOptions,
    console: ConsoleOptions,
) -> tuple[int, bool]:
    """Print what differs, or why the server did not start. Gives the exit status, and whether a
    comparison found a difference. It is imported here: the server need not wait for it.
    """
    from mcpmock.semantic_diff.compare import compare
    from mcpmock.semantic_diff.ignore_rules import IgnoreRules
    from mcpmock.sessions.server_start import failed_start
    from mcpmock.view.latency_changes import with_slower_calls
    from mcpmock.view.unanswered_posts import unanswered_posts

    from .diff_output import diff_report, failure_report, say_idle_rules
    from .reports import print_report

    fail_on = FailOn.parse(comparing.fail_on, "risky")
    failure = failed_start(driven.live, recorded)
    for line in told if failure is None else failure.lines:
        say(line)
    if failure is not None:
        report = failure_report(recorded.name, failure.sentence, fail_on)
        return print_report(report, console, comparing.format), False
    own, beside = rules
    found = compare(recorded, driven.live, (own or IgnoreRules()).with_rules(beside))
    if fail_on.slower is not None:
        found = with_slower_calls(found, recorded, driven.live, fail_on.slower)
    if any(one.rule.name == "answer-missing" for one in found.differences):
        for line in unanswered_posts(driven.live):
            say(line)
    report = diff_report(found, fail_on, verbose=console.verbose)
    status = print_report(report, console, comparing.format, paged=True)
    sys.stdout.flush()
    say_idle_rules(own, (recorded, driven.live), found, console)
    return status, found.worst is not None
