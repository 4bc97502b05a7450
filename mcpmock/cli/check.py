"""`mcpmock check`: integrity of a cassette (`cassette.validate`) and conformance of its traffic to
the protocol (`rules.report`), reported in the order of the file's lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcpmock.errors import CassetteError, Level
from mcpmock.options.comparing import CheckOptions, SharingOptions
from mcpmock.options.console import ConsoleOptions
from mcpmock.printable import many, printable

from .option_table import TableCommand, options
from .options_files import MANY_FILES, list_files, work_on_each
from .output import BAD, ODD, REMARK, encodable, text_limit
from .reports import Report, print_each

if TYPE_CHECKING:
    from mcpmock.rules.checker import Found
    from mcpmock.rules.report import CheckReport

_COLORS = {Level.ERROR: BAD, Level.WARNING: ODD, Level.NOTICE: REMARK}
_SHOWN = {Level.ERROR: 10, Level.WARNING: 10, Level.NOTICE: 1}
"""How many findings of one kind are printed without `-v`."""


@click.command(cls=TableCommand, short_help="Check cassettes, and the protocol spoken in them.")
@MANY_FILES
@options(sharing=SharingOptions, checking=CheckOptions)
def check(
    files: tuple[str, ...], sharing: SharingOptions, checking: CheckOptions, console: ConsoleOptions
) -> int:
    """Check cassettes for damage, for edits and for violations of the protocol.

    The rules are those of the protocol revision in use; each violation quotes the sentence of the
    specification. Known deviations of the official SDKs are notices. Repeated findings are
    summarized; -v lists all of them. Exit status: 0 if there are only warnings and notices, 1 if a
    rule is broken or a file was edited, 3 if a file is damaged, cannot be read or is not a
    cassette.
    """
    from mcpmock.batch.check import check_source

    named = list_files(files, sharing.scheduler, quiet=console.quiet)
    work = partial(check_source, only=checking.only)
    with work_on_each(work, named, sharing, quiet=console.quiet) as results:
        return print_each(results, partial(_report, verbose=console.verbose), console)


def _report(name: Path | str, found: CheckReport, *, verbose: bool) -> Report:
    return Report(
        status=CassetteError.exit_code if found.damaged else int(not found.ok),
        lines=_lines(printable(str(name)), found, verbose=verbose),
        values=_values(encodable(name), found),
    )


def _lines(name: str, report: CheckReport, *, verbose: bool) -> Iterator[str]:
    from mcpmock.view.summary import brief

    limit = text_limit()
    findings = [
        (finding.line, finding.level, brief(finding.text, limit), "") for finding in report.findings
    ]
    findings += _violations(report, verbose=verbose)
    for line, level, text, more in sorted(findings, key=lambda one: one[0]):
        place = f"{name}:{line}" if line else name
        yield f"{place}: {click.style(level.value, fg=_COLORS[level])}: {printable(text)}"
        if more:
            yield f"    {printable(more)}"
    counts = [many(count, level.value) for level in Level if (count := report.count(level))]
    unchecked = [one for one in report.unchecked if verbose or not one.quiet]
    for one in unchecked:
        place = f"{name}:{one.line}" if one.line else name
        yield f"{place}: not checked: {printable(one.what)}: {printable(brief(one.why, limit))}"
    verdict = counts if report.count(Level.ERROR) else ["ok", *counts]
    verdict += [f"{len(unchecked)} not checked"] if unchecked else []
    size = f"{many(report.takes, 'take')}, {many(report.events, 'event')}"
    yield f"{name}: {size}: {', '.join(verdict)}"


def _violations(report: CheckReport, *, verbose: bool) -> Iterator[tuple[int, Level, str, str]]:
    """Yield line, level and text of each violation; the first of its kind also with the sentence of
    the specification, or the SDK that is known for it.
    """
    kinds = Counter(_group_of(found) for found in report)
    seen = Counter[object]()
    for found in report:
        violation, kind = found.violation, _group_of(found)
        seen[kind] += 1
        limit = kinds[kind] if verbose else _SHOWN[violation.level]
        if seen[kind] > limit:
            continue
        left = kinds[kind] - limit if seen[kind] == limit else 0
        more = f", and {left} more like it" if left > 0 else ""
        first = _reason_for(found) if seen[kind] == 1 else ""
        yield found.line, violation.level, f"{violation.text}{more} [{violation.rule.name}]", first


def _group_of(found: Found) -> object:
    return found.violation.rule, found.violation.known


def _reason_for(found: Found) -> str:
    violation = found.violation
    if violation.known is not None:
        return violation.known.words
    return f'{violation.cited}: "{violation.sentence}"'


def _values(file: str, report: CheckReport) -> Iterator[dict[str, Any]]:
    for finding in report.findings:
        where = {"type": "finding", "file": file, "line": finding.line}
        yield {**where, "level": finding.level.value, "text": finding.text}
    for found in report:
        yield {"type": "violation", "file": file, "line": found.line, **_members(found)}
    for one in report.unchecked:
        where = {"type": "unchecked", "file": file, "line": one.line, "take": one.take}
        yield {**where, "event": one.event.n, "what": one.what, "why": one.why}
    counts = {f"{level.value}s": report.count(level) for level in Level}
    size = {"takes": report.takes, "events": report.events}
    yield {"type": "check", "file": file, **size, **counts, "damaged": report.damaged}


def _members(found: Found) -> dict[str, Any]:
    violation = found.violation
    revision, _, section = violation.cited.partition(" ")
    return {
        "take": found.take,
        "event": found.event.n,
        "level": violation.level.value,
        "rule": violation.rule.name,
        "by": violation.by,
        "path": violation.path or None,
        "text": violation.text,
        "revision": revision,
        "section": section,
        "sentence": violation.sentence,
        "known": None if violation.known is None else violation.known.words,
    }
