"""Whether a cassette is whole and as it was recorded: `inspect` gives findings, as values.

Asks nothing about the protocol that was recorded, only about the file: the promises of the format.
`read` finds what is damaged and what is odd; the digest that loading only warns of is an error
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from mcpmock.errors import Level
from mcpmock.protocol.messages import decode, member

from .lines import Sheet, take_apart
from .model import Cassette, Take
from .parser import read


@attrs.frozen
class Finding:
    """What is to be said about a line of the file."""

    line: int
    level: Level
    text: str


@attrs.frozen
class Inspection:
    """How much a cassette holds, and all findings in the order of its lines."""

    takes: int
    events: int
    findings: tuple[Finding, ...]
    cassette: Cassette = attrs.field(factory=lambda: read("", b""), eq=False, repr=False)
    """What was read."""
    sheets: Sequence[Sheet] = attrs.field(default=(), eq=False, repr=False)
    """On which lines it stands."""

    def count(self, level: Level) -> int:
        return sum(finding.level is level for finding in self.findings)


def inspect(data: bytes) -> Inspection:
    """Holds these bytes against the format. Never raises."""
    cassette = read("", data)
    sheets, lost = take_apart(data, cassette)
    takes = {take.line: take for take in cassette.takes}
    findings = list(_of_the_reader(cassette, sheets))
    known = {finding.line for finding in findings}
    findings += [Finding(d.line, Level.ERROR, d.reason) for d in lost if d.line not in known]
    for sheet in sheets:
        take = takes.get(sheet.header.number) if sheet.header else None
        findings += [*_of_numbers(sheet), *_of_losses(sheet)]
        findings += _of_footer(sheet, take) if take else ()
    findings.sort(key=lambda finding: finding.line)
    events = sum(len(take.events) for take in cassette.takes)
    return Inspection(len(cassette.takes), events, tuple(findings), cassette, sheets)


def _of_the_reader(cassette: Cassette, sheets: list[Sheet]) -> Iterator[Finding]:
    """Damage is an error, and so is what the reader noticed about a footer: an edit."""
    footers = {sheet.footer.number for sheet in sheets if sheet.footer is not None}
    for damage in cassette.damage:
        yield Finding(damage.line, Level.ERROR, damage.reason)
    for notice in cassette.notices:
        level = Level.ERROR if notice.line in footers else Level.NOTICE
        yield Finding(notice.line, level, notice.text)


def _of_footer(sheet: Sheet, take: Take) -> Iterator[Finding]:
    if sheet.footer is None or take.footer is None or take.footer.events == len(sheet.events):
        return
    text = f"the footer counts {take.footer.events} events, there are {len(sheet.events)}"
    yield Finding(sheet.footer.number, Level.ERROR, text)


def _of_numbers(sheet: Sheet) -> Iterator[Finding]:
    before = 0
    for line in sheet.events:
        if line.n <= before:
            yield Finding(line.number, Level.ERROR, f"event {line.n} comes after event {before}")
        before = line.n


def _of_losses(sheet: Sheet) -> Iterator[Finding]:
    """What the recorder said it could not keep."""
    for line in sheet.events:
        if b'"gap"' not in line.raw and b'"oversize"' not in line.raw:
            continue
        gap, oversize = member(line.raw, "gap"), member(line.raw, "oversize", "bytes")
        if gap is not None:
            lost = {"bytes": 0, "events": 0, "reason": "", **(decode(gap) or {})}
            text = "not recorded: {events} events, {bytes} bytes: {reason}".format_map(lost)
            yield Finding(line.number, Level.NOTICE, text)
        if oversize is not None:
            text = f"only the head of a frame of {int(oversize)} bytes"
            yield Finding(line.number, Level.NOTICE, text)
