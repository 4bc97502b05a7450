"""`mcpmock report`: a cassette, or two compared, as one HTML file (`view.report`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcpmock.errors import CassetteError
from mcpmock.options.console import ConsoleOptions
from mcpmock.options.redaction import RedactionOptions
from mcpmock.options.views import ReportOptions
from mcpmock.printable import many

from .option_table import options
from .output import CASSETTE, emit, encodable, progress_bar, say, say_notices

if TYPE_CHECKING:
    from mcpmock.cassette.model import Cassette

_START_BYTES = 100
_PROGRESS_MIN_EVENTS = 10_000
"""The number of events from which on a progress bar is shown."""


@click.command(short_help="Write a cassette, or two compared, as an HTML page.")
@click.argument("file", type=CASSETTE)
@click.argument("other", required=False, type=CASSETTE)
@options(reporting=ReportOptions, redaction=RedactionOptions)
def report(
    file: Path,
    other: Path | None,
    reporting: ReportOptions,
    redaction: RedactionOptions,
    console: ConsoleOptions,
) -> int:
    """Write a cassette as one HTML file that any browser opens, without a network.

    The page shows the session over time, each event with its payload, violations of the protocol,
    cancellation races and a search. With OTHER it shows how that recording differs from FILE. If
    FILE is what `mcpmock explore --json` wrote, it shows the grid of that run. An earlier page is
    replaced. Exit status: 0, also if the two differ; 3 if a cassette cannot be
    read.
    """
    from mcpmock.batch.match_rules import rules_beside
    from mcpmock.cassette.file import load, rewrite
    from mcpmock.semantic_diff.ignore_rules import IgnoreRules
    from mcpmock.view.report import report_page

    redacts = reporting.redact or redaction.given
    read = partial(_load_redacted, redaction=redaction) if redacts else load

    stem = file.name.removesuffix(".gz").removesuffix(".jsonl")
    path = reporting.output or file.parent / f"{stem}.html"
    _refuse_foreign(path, (file, other), force=reporting.force)
    exploration = _read_exploration(file)
    if exploration is not None:
        if other is not None or redacts:
            raise click.UsageError(f"{file} is an exploration: OTHER and --redact need a cassette")
        page = _explore_page(file, exploration)
        size, described = {}, ""
    else:
        cassettes = [read(one) for one in (file, other) if one is not None]
        for cassette in cassettes:
            say_notices(cassette.notices, cassette.name, quiet=console.quiet)
            if any(take.header.redaction == "off" for take in cassette.takes):
                say(f"{cassette.name}: is not redacted: the page may hold secrets (--redact)")
        events = sum(len(take.events) for cassette in cassettes for take in cassette.takes)
        shown = events >= _PROGRESS_MIN_EVENTS and not console.quiet
        with progress_bar("making the page", shown=shown) as progress:
            rules = IgnoreRules().with_rules(rules_beside(*cassettes))
            page = report_page(*cassettes, rules=rules, progress=progress)
        size, described = {"events": events}, f"{many(events, 'event')}, "
    rewrite(path, page)
    if console.json:
        emit({"type": "report", "file": encodable(path), **size, "bytes": len(page)})
    elif not console.quiet:
        say(f"{path}: {described}{len(page) / 1024:,.0f} KiB")
    return 0


def _read_exploration(path: Path) -> bytes | None:
    """Return the lines of `mcpmock explore --json`; None if it is another file, or none."""
    from mcpmock.view.explore_grid import is_exploration

    try:
        with path.open("rb") as file:
            start = file.read(_START_BYTES)
            return start + file.read() if is_exploration(start) else None
    except OSError:
        return None  # who loads the cassette says why


def _explore_page(path: Path, data: bytes) -> bytes:
    from mcpmock.view.explore_grid import ExploreLineError, explore_page

    try:
        return explore_page(str(path), data)
    except ExploreLineError as error:
        reason = f"line {error.line} is not what mcpmock explore --json writes"
        raise CassetteError(path, reason) from error


def _load_redacted(path: Path, redaction: RedactionOptions) -> Cassette:
    """Return the cassette with its siblings, without their secrets. The files stay as they are."""
    from mcpmock.batch.redaction_rules import redaction_rules_of
    from mcpmock.cassette.file import find_siblings, load, read_bytes, sorted_by_start
    from mcpmock.cassette.parser import read
    from mcpmock.redaction.cassettes import redact_cassette

    rules = redaction_rules_of(redaction, path)
    load(path)  # refuses a damaged cassette
    data = b"".join(read_bytes(one) for one in (path, *find_siblings(path)))
    return sorted_by_start(read(str(path), redact_cassette(data, rules).data))


def _refuse_foreign(path: Path, shown: Sequence[Path | None], *, force: bool) -> None:
    """Raise CassetteError if there is something that is not a page of ours, or, also by `force`,
    what is to be `shown` or no file: reading a pipe would wait for ever.
    """
    from mcpmock.view.html_page import MARK

    if not path.exists():
        return
    if not path.is_file():
        raise CassetteError(path, "is not a regular file", hint="name a file for the page")
    if any(one is not None and one.exists() and path.samefile(one) for one in shown):
        raise CassetteError(path, "is the recording itself", hint="name another file for the page")
    if force:
        return
    try:
        with path.open("rb") as file:
            ours = file.read(len(MARK)) == MARK
    except OSError as error:
        raise CassetteError(path, error.strerror or str(error)) from error
    if not ours:
        raise CassetteError(path, "was not written by `mcpmock report`", hint="--force replaces it")
