"""One cassette checked, or searched for secrets, wherever it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from pathlib import Path

import attrs

from mcpmock.cassette.file import refuse_newer
from mcpmock.cassette.model import Cassette, encode_cassette, numbered
from mcpmock.cassette.validate import inspect
from mcpmock.options.redaction import RedactionOptions
from mcpmock.redaction.cassettes import SecretFound, scan_cassette
from mcpmock.rules.allowances import Allowance
from mcpmock.rules.call_assertions import CallAssertions, JudgedCalls
from mcpmock.rules.checker import Found
from mcpmock.rules.report import CheckReport, check_cassette, report_on

from .redaction_rules import redaction_rules_of
from .sources import Source, name_of, read_source


@attrs.frozen
class FileCheck:
    """What `mcpmock check` does with each file."""

    only: str | None = None
    """`integrity` or `protocol`, if not both."""
    allowances: tuple[Allowance, ...] = ()
    assertions: CallAssertions = attrs.field(factory=CallAssertions)

    def allow(self, violations: Iterable[Found], applied: set[str]) -> Iterator[Found]:
        """Yield violations, each with the first line that allows it. `applied` gets all that do."""
        for found in violations:
            lines = [one.text for one in self.allowances if one.covers(found.violation)]
            applied.update(lines)
            yield attrs.evolve(found, allowed=lines[0]) if lines else found


@attrs.frozen
class CheckedFile:
    """The outcome for one file."""

    report: CheckReport
    calls: JudgedCalls
    applied: frozenset[str] = frozenset()
    """The texts of the allowances that covered something."""


def check_source(source: Source) -> CheckReport:
    """Return the report of `rules.report`. Raises CassetteError for what cannot be read, or is no
    cassette; damage is in the report.
    """
    if isinstance(source, Cassette):
        return check_cassette(source)
    return report_on(inspect(read_source(source)))


def check_file(file: Path | str, plan: FileCheck) -> CheckedFile:
    """Return the outcome for the file at this path or URL. Raises as `check_source`."""
    inspection = inspect(read_source(file))
    report = report_on(inspection, plan.only)
    applied: set[str] = set()
    if plan.allowances:
        allowed = tuple(plan.allow(report.violations, applied))
        report = attrs.evolve(report, violations=allowed)
    calls = plan.assertions.judge(inspection.cassette)
    lines = _lines_of(inspection.cassette, {(case.take, case.event) for case in calls.cases})
    calls.cases = [attrs.evolve(one, line=lines[one.take, one.event]) for one in calls.cases]
    return CheckedFile(report, calls, frozenset(applied))


def _lines_of(cassette: Cassette, events: Set[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Return the lines of these events of a file, named by take and number."""
    takes = enumerate(cassette.takes, 1) if events else ()
    return {
        (number, event.n): line
        for number, take in takes
        for line, event in numbered(take)
        if (number, event.n) in events
    }


def scan_source(
    source: Source,
    redaction: RedactionOptions = RedactionOptions(),  # noqa: B008 (frozen)
) -> list[SecretFound]:
    """Return the secrets in the order of the lines, those of these rules and of the project file
    too. Damaged lines are read as text. Raises CassetteError for what cannot be read or unpacked to
    its end, is no cassette, or has a take of a newer format; ProjectFileError.
    """
    if isinstance(source, Cassette):
        return scan_cassette(encode_cassette(source), redaction_rules_of(redaction))
    place = source if isinstance(source, Path) else None
    data = read_source(source)
    refuse_newer(name_of(source), data)
    return scan_cassette(data, redaction_rules_of(redaction, place))
