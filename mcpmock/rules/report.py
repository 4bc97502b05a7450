"""`CheckReport`: what is wrong with one cassette, its file and the protocol spoken in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.cassette.validate import Finding, Inspection
from mcpmock.errors import Level

from .checker import Found, Unchecked, check


@attrs.frozen
class CheckReport:
    """The `violations` of the protocol in a cassette, over which it iterates, and the `findings`
    about its file.

    >>> report = mcpmock.check("weather.jsonl")
    >>> report.takes, report.events, report.ok
    (1, 8, False)
    >>> [(found.line, found.violation.rule.name) for found in report]
    [(2, 'initialize-params'), (8, 'logging-undeclared')]
    >>> [(finding.line, finding.level.value) for finding in report.findings]
    [(1, 'notice')]
    """

    takes: int
    events: int
    findings: tuple[Finding, ...]
    """What is wrong with the file, in the order of its lines; of a cassette that is not a file,
    nothing.
    """
    violations: tuple[Found, ...]
    """In the order of the events."""
    unchecked: tuple[Unchecked, ...] = ()
    """What in the traffic could not be checked, in the order of the events."""

    def __iter__(self) -> Iterator[Found]:
        return iter(self.violations)

    def __len__(self) -> int:
        return len(self.violations)

    def __getitem__(self, index: int) -> Found:
        return self.violations[index]

    def count(self, level: Level) -> int:
        """Return how many findings and violations have this level, without those that are
        allowed.
        """
        levels = [finding.level for finding in self.findings]
        levels += [found.violation.level for found in self.violations if not found.allowed]
        return levels.count(level)

    @property
    def damaged(self) -> bool:
        """Whether a line cannot be read, so that loading the file fails."""
        return any(finding.damage for finding in self.findings)

    @property
    def ok(self) -> bool:
        """Whether there are only warnings and notices."""
        return not self.count(Level.ERROR)


def check_cassette(cassette: Cassette) -> CheckReport:
    """Return the report on a cassette that was read, so without its lines."""
    events = sum(len(take.events) for take in cassette.takes)
    return _report(len(cassette.takes), events, (), check(cassette))


def report_on(inspection: Inspection, only: str | None = None) -> CheckReport:
    """Return the report on a file that was read: `only` its `integrity`, or only the `protocol` in
    it. Damage is reported either way.
    """
    findings = tuple(one for one in inspection.findings if one.damage or only != "protocol")
    found = () if only == "integrity" else check(inspection.cassette, lines=True)
    return _report(inspection.takes, inspection.events, findings, found)


def _report(
    takes: int, events: int, findings: tuple[Finding, ...], found: Iterable[Found | Unchecked]
) -> CheckReport:
    violations, unchecked = list[Found](), list[Unchecked]()
    for one in found:
        if isinstance(one, Found):
            violations.append(one)
        else:
            unchecked.append(one)
    return CheckReport(takes, events, findings, tuple(violations), tuple(unchecked))


def report_values(file: str, report: CheckReport) -> Iterator[dict[str, Any]]:
    """Yield a report as JSON: what was found, a value for each, and the whole."""
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
        "allowed": found.allowed or None,
    }
