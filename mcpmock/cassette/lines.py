"""A cassette as lines: a `Sheet` for each take, byte for byte.

`parser` decides which lines are good and returns values; this module keeps the lines, for
`canonical`, which formats them, and `validate`, which reports their numbers.
"""

from __future__ import annotations

import hashlib

import attrs
import msgspec

from mcpmock.protocol.messages import member

from . import FORMAT, HEADER_START
from .model import Damage, Header
from .parser import footer_of, header_within, read, unreadable

SUBSTITUTE = msgspec.json.encode(Header(mcpmock=FORMAT, tool="mcpmock recover"))
"""Replaces a lost header."""


@attrs.frozen
class SourceLine:
    """A line of the file, without its line break; `number` counts from 1."""

    number: int
    raw: bytes

    @property
    def n(self) -> int:
        """The sequence number of the event in it."""
        return int(member(self.raw, "n") or 0)


@attrs.define
class Sheet:
    """The lines of a take. `header` is None if that line was lost."""

    header: SourceLine | None
    body: list[SourceLine] = attrs.field(factory=list)
    footer: SourceLine | None = None

    @property
    def events(self) -> list[SourceLine]:
        """The body without its blank lines."""
        return [line for line in self.body if line.raw.strip()]

    @property
    def data(self) -> bytes:
        """The bytes of the take."""
        return self._above_footer + (self.footer.raw + b"\n" if self.footer else b"")

    @property
    def seal(self) -> dict[str, bytes]:
        """The members that its footer must have."""
        digest = hashlib.sha256(self._above_footer).hexdigest()
        return {"events": b"%d" % len(self.events), "sha256": b'"%b"' % digest.encode()}

    @property
    def _above_footer(self) -> bytes:
        header = SUBSTITUTE if self.header is None else self.header.raw
        return b"".join(raw + b"\n" for raw in (header, *(line.raw for line in self.body)))


def take_apart(data: bytes) -> tuple[list[Sheet], list[Damage]]:
    """Return the takes of a cassette, and the lines of no take: damaged, torn, or a second
    footer.
    """
    cassette = read("", data)
    headers = {take.line for take in cassette.takes}
    sorter = _LineSorter(headers, {damage.line: damage for damage in cassette.damage})
    # A last line without a line break is torn.
    lines = data.replace(b"\r\n", b"\n").split(b"\n")[:-1]
    for number, raw in enumerate(lines, 1):
        sorter.add(SourceLine(number, raw))
    sorter.end_take(None)
    return [sheet for sheet in sorter.sheets if sheet.header or sheet.events], sorter.lost


@attrs.define
class _LineSorter:
    """Assigns each line to its take."""

    headers: set[int]
    """The lines where a take begins, as parsed."""
    damaged: dict[int, Damage]
    sheets: list[Sheet] = attrs.field(factory=list)
    lost: list[Damage] = attrs.field(factory=list)
    _sheet: Sheet | None = None
    _after_loss: bool = False
    _refused: bool = False

    def add(self, line: SourceLine) -> None:
        raw, damage = line.raw, self.damaged.get(line.number)
        if line.number in self.headers:
            self._header(line)
        elif raw.startswith(HEADER_START) and unreadable(raw):
            self._refuse(line)
        elif self._refused:
            return
        elif not raw.strip():
            if self._sheet is not None:
                self._sheet.body.append(line)
        elif damage is not None and not _is_event(raw):
            self._lose(line, damage.reason)
        elif footer_of(raw) is not None:
            self._footer(line)
        else:
            self._sheet_for(line).body.append(line)

    def end_take(self, new: Sheet | None) -> None:
        """Go on with `new`. A last line that is not an event is the torn tail of the take."""
        old, self._sheet, self._after_loss = self._sheet, new, False
        if old is None or old.footer is not None or not old.events:
            return
        tail = old.events[-1]
        if not _is_event(tail.raw):
            old.body.remove(tail)
            self.lost.append(Damage(tail.number, "torn"))

    def _header(self, line: SourceLine) -> None:
        start, _ = header_within(line.raw) or (0, None)
        if start:
            self.lost.append(Damage(line.number, "torn, and the next take is glued to it"))
        self._begin(SourceLine(line.number, line.raw[start:]))
        self._refused = False

    def _refuse(self, line: SourceLine) -> None:
        """Begin a take of an unknown format: its lines are left out."""
        self._lose(line, unreadable(line.raw) or "")
        self._refused = True

    def _footer(self, line: SourceLine) -> None:
        if self._sheet is None:
            self._lose(line, "a footer without a take")
            return
        if self._sheet.footer is not None:
            self._lose(self._sheet.footer, "another footer follows")
        self._sheet.footer = line

    def _lose(self, line: SourceLine, reason: str) -> None:
        if line.raw.startswith(HEADER_START):
            self.end_take(None)
        self.lost.append(Damage(line.number, reason))
        self._after_loss = True

    def _sheet_for(self, line: SourceLine) -> Sheet:
        """Begin a take where numbers restart after a lost line: that must have been a header."""
        sheet, after_loss = self._sheet, self._after_loss
        self._after_loss = False
        if sheet is None or sheet.footer is not None:
            return self._begin(None)
        anew = after_loss and sheet.body and line.n <= sheet.body[-1].n
        return self._begin(None) if anew else sheet

    def _begin(self, header: SourceLine | None) -> Sheet:
        sheet = Sheet(header)
        self.end_take(sheet)
        self.sheets.append(sheet)
        return sheet


def _is_event(raw: bytes) -> bool:
    return bool(read("", SUBSTITUTE + b"\n" + raw + b"\n").takes[0].events)
