"""Checks that a cassette is whole and unedited: `inspect` returns findings.

It checks the file format, not the recorded protocol. `parser` finds damage; a wrong digest, of
which loading only warns, is an error here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from mcpmock.errors import Level
from mcpmock.printable import many
from mcpmock.protocol.messages import decode, member

from .lines import Sheet, take_apart
from .model import Cassette, Take
from .parser import read


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
    sheets: Sequence[Sheet] = attrs.field(default=(), eq=False, repr=False)
    """Its lines, by take."""

    def count(self, level: Level) -> int:
        return sum(finding.level is level for finding in self.findings)


def inspect(data: bytes) -> Inspection:
    """Check these bytes against the format. Never raises."""
    cassette = read("", data)
    sheets, lost = take_apart(data, cassette)
    takes = {take.line: take for take in cassette.takes}
    findings = list(_parser_findings(cassette, sheets))
    known = {finding.line for finding in findings}
    findings += [Finding(d.line, Level.ERROR, d.reason) for d in lost if d.line not in known]
    for sheet in sheets:
        take = takes.get(sheet.header.number) if sheet.header else None
        findings += [*_sequence_findings(sheet), *_loss_findings(sheet)]
        findings += _footer_findings(sheet, take) if take else ()
    findings.sort(key=lambda finding: finding.line)
    events = sum(len(take.events) for take in cassette.takes)
    return Inspection(len(cassette.takes), events, tuple(findings), cassette, sheets)


def _parser_findings(cassette: Cassette, sheets: list[Sheet]) -> Iterator[Finding]:
    """Yield the findings of the parser: damage is an error, and so is a notice about a footer:
    the take was edited.
    """
    footers = {sheet.footer.number for sheet in sheets if sheet.footer is not None}
    for damage in cassette.damage:
        yield Finding(damage.line, Level.ERROR, damage.reason, damage=True)
    for notice in cassette.notices:
        level = Level.ERROR if notice.line in footers else Level.NOTICE
        yield Finding(notice.line, level, notice.text)


def _footer_findings(sheet: Sheet, take: Take) -> Iterator[Finding]:
    if sheet.footer is None or take.footer is None or take.footer.events == len(sheet.events):
        return
    text = f"the footer counts {many(take.footer.events, 'event')}, there are {len(sheet.events)}"
    yield Finding(sheet.footer.number, Level.ERROR, text)


def _sequence_findings(sheet: Sheet) -> Iterator[Finding]:
    before = 0
    for line in sheet.events:
        n = line.n
        if n <= before:
            yield Finding(line.number, Level.ERROR, f"event {n} comes after event {before}")
        before = n


def _loss_findings(sheet: Sheet) -> Iterator[Finding]:
    """Yield what the recorder could not record, as it noted itself."""
    for line in sheet.events:
        if b'"gap"' not in line.raw and b'"oversize"' not in line.raw:
            continue
        gap, oversize = member(line.raw, "gap"), member(line.raw, "oversize", "bytes")
        if gap is not None:
            lost = {"bytes": 0, "events": 0, "reason": "", **(decode(gap) or {})}
            counted = f"{many(lost['events'], 'event')}, {many(lost['bytes'], 'byte')}"
            text = f"not recorded: {counted}: {lost['reason']}"
            yield Finding(line.number, Level.NOTICE, text)
        if oversize is not None:
            text = f"only the head of a frame of {int(oversize)} bytes"
            yield Finding(line.number, Level.NOTICE, text)
