"""`mcpmock diff`: two cassettes compared by meaning (`semantic_diff.compare`), or two folders of
them file by file (`batch.diff`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from mcpmock.options.comparison import DiffOptions, FailOn, SharingOptions
from mcpmock.options.console import ConsoleOptions

from .option_table import TableCommand, options
from .options_diff import ignore_rules_of
from .options_files import highest, reachable, work_on_each
from .output import FILE_NAME, progress_bar, say_notices
from .stats import latency_lines

if TYPE_CHECKING:
    from mcpmock.batch.diff import ComparedPair, FilePair
    from mcpmock.semantic_diff.ignore_rules import IgnoreRules

    from .diff_output import FolderReport

_PROGRESS_MIN_EVENTS = 10_000
"""The number of events from which on a progress bar is shown."""


@click.command(cls=TableCommand)
@click.argument("old", type=FILE_NAME)
@click.argument("new", type=FILE_NAME)
@options(comparing=DiffOptions, sharing=SharingOptions)
def diff(
    old: str, new: str, comparing: DiffOptions, sharing: SharingOptions, console: ConsoleOptions
) -> int:
    """Compare two recordings, or two folders of recordings, by meaning.

    Calls are paired by what they ask, whatever their ids, tokens, sessions, times and transports.
    Each difference is breaking, risky or compatible for clients of the server. Of two folders, the
    files of the same name are compared, and a missing one is a difference. A wide terminal also
    gets histograms of the latencies, old and new. Exit status: 0 if nothing differs, 1 if something
    does (see --fail-on), 3 if a cassette cannot be read.
    """
    from mcpmock.batch.diff import compare_pair, is_folder, pair_folders
    from mcpmock.semantic_diff.ignore_rules import IgnoreRules

    from .diff_output import FolderReport
    from .run_setup import without_collections

    rules = ignore_rules_of(comparing) or IgnoreRules()
    if not is_folder(old) and not is_folder(new):
        with without_collections():
            return _diff_files(old, new, rules, comparing, console)
    if not (is_folder(old) and is_folder(new)):
        raise click.UsageError("give two files, or two folders")
    old, new = (reachable(one, sharing.scheduler) for one in (old, new))
    pairs, report = pair_folders(old, new), FolderReport(comparing, console)
    slower = report.fail_on.slower
    work = partial(compare_pair, rules=rules, no_rules=comparing.no_rules, slower=slower)
    with work_on_each(work, pairs, sharing, quiet=console.quiet) as results:
        status = highest(partial(_report, report, pair, compared) for pair, compared in results)
    report.end(old, new)
    return status


def _report(report: FolderReport, pair: FilePair, compared: Callable[[], ComparedPair]) -> int:
    found = compared()
    say_notices(found.notices, quiet=report.console.quiet)
    return report.add(pair.name, found.diff)


def _diff_files(
    old: str, new: str, rules: IgnoreRules, comparing: DiffOptions, console: ConsoleOptions
) -> int:
    from mcpmock.batch.diff import compare_cassettes
    from mcpmock.batch.sources import load_source

    from .diff_output import diff_report, say_idle_rules
    from .reports import print_report

    before, after = load_source(old), load_source(new)
    fail_on = FailOn.parse(comparing.fail_on, "any")
    for cassette in (before, after):
        say_notices(cassette.notices, cassette.name, quiet=console.quiet)
    events = sum(len(take.events) for one in (before, after) for take in one.takes)
    shown = events >= _PROGRESS_MIN_EVENTS and not console.quiet
    with progress_bar("comparing", shown=shown) as progress:
        comparison = compare_cassettes(
            before,
            after,
            rules,
            no_rules=comparing.no_rules,
            slower=fail_on.slower,
            progress=progress,
        )
    above = latency_lines(before, after)
    report = diff_report(comparison, fail_on, above=above, verbose=console.verbose)
    status = print_report(report, console, comparing.format, paged=True)
    say_idle_rules(rules, (before, after), comparison, console)
    return status
