"""Checks that a cassette is whole and unedited: `inspect` returns findings.

It checks the file format, not the recorded protocol. `parser` finds damage; a wrong digest, of
which loading only warns, is an error here.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence

import attrs
from msgspec import UNSET

from mcpmock.errors import Level
from mcpmock.printable import many

from .model import Cassette, Take, numbered
from .parser import FOOTER_BEFORE, read


@attrs.frozen
class Finding:
    """A problem in a line of the file."""

    line: int
    level: Level
    text: str
    damage: bool = False
    """Whether the line cannot be read, so that loading the file fails."""


@attrs.frozen
class Inspection:
    """The size of a cassette, and its findings in the order of lines."""

    takes: int
    events: int
    findings: tuple[Finding, ...]
    cassette: Cassette = attrs.field(factory=lambda: read("", b""), eq=False, repr=False)
    """The cassette as parsed."""

    def count(self, level: Level) -> int:
        return sum(finding.level is level for finding in self.findings)


def inspect(data: bytes) -> Inspection:
    """Check these bytes against the format. Never raises."""
    cassette = read("", data)
    damaged = sorted(damage.line for damage in cassette.damage)
    findings = list(_parser_findings(cassette))
    for take in cassette.takes:
        findings += _take_findings(take, damaged)
    findings.sort(key=lambda finding: finding.line)
    events = sum(len(take.events) for take in cassette.takes)
    return Inspection(len(cassette.takes), events, tuple(findings), cassette)


def _parser_findings(cassette: Cassette) -> Iterator[Finding]:
    """Yield damage as errors, and a notice about a footer too: the take was edited."""
    footers = {take.footer_line for take in cassette.takes if take.footer is not None}
    for damage in cassette.damage:
        yield Finding(damage.line, Level.ERROR, damage.reason, damage=True)
    for notice in cassette.notices:
        wrong = notice.line in footers or notice.text == FOOTER_BEFORE
        yield Finding(notice.line, Level.ERROR if wrong else Level.NOTICE, notice.text)


def _take_findings(take: Take, damaged: Sequence[int]) -> Iterator[Finding]:
    """Yield what is out of sequence or was not recorded, and a count that is wrong."""
    before, line_before, whole = 0, take.line, True
    for line, event in numbered(take):
        if event.n <= before:
            if _any_between(damaged, line_before, line):
                whole = False  # the header of another take was lost there
            else:
                text = f"event {event.n} comes after event {before}"
                yield Finding(line, Level.ERROR, text)
        before, line_before = event.n, line
        if event.gap is not UNSET:
            gap = event.gap
            counted = f"{many(gap.events, 'event')}, {many(gap.bytes, 'byte')}"
            yield Finding(line, Level.NOTICE, f"not recorded: {counted}: {gap.reason}")
        if event.oversize is not None:
            text = f"only the head of a frame of {event.oversize.bytes} bytes"
            yield Finding(line, Level.NOTICE, text)
    if whole and take.footer is not None and take.footer.events != len(take.events):
        counted = many(take.footer.events, "event")
        text = f"the footer counts {counted}, there are {len(take.events)}"
        yield Finding(take.footer_line, Level.ERROR, text)


def _any_between(lines: Sequence[int], first: int, last: int) -> bool:
    """Return whether one of these lines, in order, stands between two others."""
    return bisect(lines, last) > bisect(lines, first)
