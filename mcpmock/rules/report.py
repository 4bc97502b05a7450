"""`CheckReport`: what is wrong with one cassette, its file and the protocol spoken in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
    """What is wrong with the file, in the order of its lines; of a cassette that is no file,
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
