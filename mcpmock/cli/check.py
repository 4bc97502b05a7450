"""`mcpmock check`: integrity of a cassette (`cassette.validate`) and conformance of its traffic to
the protocol (`rules.checker`), reported in the order of the file's lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from mcpmock.errors import CassetteError, Level
from mcpmock.printable import printable

from .options_files import FILES, run_each, with_siblings
from .output import BAD, ODD, REMARK, common, emit, encodable, many

if TYPE_CHECKING:
    from mcpmock.cassette.validate import Finding, Inspection
    from mcpmock.rules.checker import Found

_COLORS = {Level.ERROR: BAD, Level.WARNING: ODD, Level.NOTICE: REMARK}
_SHOWN = {Level.ERROR: 10, Level.WARNING: 10, Level.NOTICE: 1}
"""How many findings of one kind are printed without `-v`."""


@click.command(short_help="Check cassettes, and the protocol spoken in them.")
@FILES
@click.option(
    "--only",
    type=click.Choice(("integrity", "protocol")),
    help="Check only the files, or only the protocol in them.",
)
@common
def check(files: tuple[Path, ...], only: str | None, quiet: bool, verbose: bool, json: bool) -> int:
    """Check cassettes for damage, for edits and for violations of the protocol.

    The rules are those of the protocol revision in use; each violation quotes the sentence of the
    specification. Known deviations of the official SDKs are notices. Repeated findings are
    summarized; -v lists all of them. Exit status: 0 if there are only warnings and notices, 1 if a
    rule is broken or a file was edited, 3 if a file is damaged, cannot be read or is not a
    cassette.
    """
    named = with_siblings(files, quiet=quiet)
    return run_each(named, lambda path: _check(path, only, quiet=quiet, verbose=verbose, json=json))


@attrs.frozen
class _Report:
    """What was found in one file."""

    inspection: Inspection
    findings: list[Finding]
    """The problems of the file."""
    found: list[tuple[int, Found]]
    """The protocol violations, each with its line."""

    def count(self, level: Level) -> int:
        levels = [finding.level for finding in self.findings]
        return (levels + [found.violation.level for _, found in self.found]).count(level)

    @property
    def status(self) -> int:
        if any(finding.damage for finding in self.findings):
            return CassetteError.exit_code
        return int(self.count(Level.ERROR) > 0)


def _check(path: Path, only: str | None, *, quiet: bool, verbose: bool, json: bool) -> int:
    from mcpmock.cassette.file import read_cassette_bytes

    data = read_cassette_bytes(path)
    report = _report(data, only)
    if json:
        _emit_report(path, report)
    elif report.status or not quiet:
        _print_report(path, report, verbose=verbose)
    return report.status


def _report(data: bytes, only: str | None) -> _Report:
    from mcpmock.cassette.validate import inspect
    from mcpmock.rules.checker import check

    inspection = inspect(data)
    findings = [one for one in inspection.findings if one.damage or only != "protocol"]
    found = [] if only == "integrity" else list(check(inspection.cassette))
    return _Report(inspection, findings, list(_with_lines(inspection, found)))


def _with_lines(inspection: Inspection, found: Iterable[Found]) -> Iterator[tuple[int, Found]]:
    """Each violation with the line of its event."""
    sheets = {sheet.header.number: sheet for sheet in inspection.sheets if sheet.header}
    lines: dict[int, dict[int, int]] = {}
    for one in found:
        if one.take not in lines:
            sheet = sheets[inspection.cassette.takes[one.take - 1].line]
            lines[one.take] = {line.n: line.number for line in sheet.events}
        yield lines[one.take].get(one.event.n, 0), one


def _print_report(path: Path, report: _Report, *, verbose: bool) -> None:
    from mcpmock.view.summary import brief

    name = printable(str(path))
    findings = [
        (finding.line, finding.level, brief(finding.text), "") for finding in report.findings
    ]
    findings += _violations(report, verbose=verbose)
    for line, level, text, more in sorted(findings, key=lambda one: one[0]):
        click.echo(
            f"{name}:{line}: {click.style(level.value, fg=_COLORS[level])}: {printable(text)}"
        )
        if more:
            click.echo(f"    {printable(more)}")
    verdict = ", ".join(
        many(count, level.value) for level in Level if (count := report.count(level))
    )
    size = f"{many(report.inspection.takes, 'take')}, {many(report.inspection.events, 'event')}"
    click.echo(f"{name}: {size}: {verdict if report.count(Level.ERROR) else _ok(verdict)}")


def _violations(report: _Report, *, verbose: bool) -> Iterator[tuple[int, Level, str, str]]:
    """Line, level and text of each violation; the first of its kind also with the sentence of the
    specification, or the SDK that is known for it.
    """
    kinds = Counter(_group_of(found) for _, found in report.found)
    seen = Counter[object]()
    for line, found in report.found:
        violation, kind = found.violation, _group_of(found)
        seen[kind] += 1
        limit = kinds[kind] if verbose else _SHOWN[violation.level]
        if seen[kind] > limit:
            continue
        left = kinds[kind] - limit if seen[kind] == limit else 0
        more = f", and {left} more like it" if left > 0 else ""
        first = _reason_for(found) if seen[kind] == 1 else ""
        yield line, violation.level, f"{violation.text}{more} [{violation.rule.name}]", first


def _group_of(found: Found) -> object:
    return found.violation.rule, found.violation.known


def _reason_for(found: Found) -> str:
    violation = found.violation
    if violation.known is not None:
        return violation.known.words
    return f'{violation.cited}: "{violation.rule.sentence}"'


def _ok(notices: str) -> str:
    return f"ok, {notices}" if notices else "ok"


def _emit_report(path: Path, report: _Report) -> None:
    file = encodable(path)
    for finding in report.findings:
        where = {"type": "finding", "file": file, "line": finding.line}
        emit({**where, "level": finding.level.value, "text": finding.text})
    for line, found in report.found:
        emit({"type": "violation", "file": file, "line": line, **_members(found)})
    counts = {f"{level.value}s": report.count(level) for level in Level}
    size = {"takes": report.inspection.takes, "events": report.inspection.events}
    damaged = report.status == CassetteError.exit_code
    emit({"type": "check", "file": file, **size, **counts, "damaged": damaged})


def _members(found: Found) -> dict[str, Any]:
    violation = found.violation
    revision, _, section = violation.cited.partition(" ")
    return {
        "take": found.take,
        "event": found.event.n,
        "level": violation.level.value,
        "rule": violation.rule.name,
        "text": violation.text,
        "revision": revision,
        "section": section,
        "sentence": violation.rule.sentence,
        "known": None if violation.known is None else violation.known.words,
    }
