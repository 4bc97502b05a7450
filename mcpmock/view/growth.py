"""`GrowingTimeline`: the timeline of a cassette that is being recorded.

The bytes of the file go in as they are written, and their rows come out. Pure: `sessions.watch`
reads the file; `live` and `mcpmock show --follow` show the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from mcpmock.cassette import HEADER_START
from mcpmock.cassette.model import Cassette, Event
from mcpmock.cassette.parser import CassetteReader

from .timeline import LeftOut, Row, TakeAnnotator

_REASON = "not read, to keep up; the cassette has them"

Added = tuple[Event, Sequence[Row]]
"""An event, with its rows."""


@attrs.define
class GrowingTimeline:
    """One file, from its beginning."""

    cassette: Cassette
    """What has been read so far."""
    length: int = 0
    """The number of rows so far."""
    lines: int = 0
    """The number of lines so far."""
    _reader: CassetteReader = attrs.field(init=False)
    _annotator: TakeAnnotator | None = None
    _read: int = 0
    """How many events of the last take have become rows."""
    _torn: bytes = b""
    _skipped: int = 0
    """How many events of the last take were skipped behind its last row."""
    _passed: list[Added] = attrs.field(factory=list)
    """What stands for events that were skipped in takes before the last one."""

    def __attrs_post_init__(self) -> None:
        self._reader = CassetteReader(self.cassette)

    def feed(self, data: bytes) -> Iterator[Added]:
        """Yield the events that these bytes, the next of the file, complete; each with its rows.
        What later events decide is missing: the status of an exchange, and that a request got no
        answer.
        """
        for line in self._whole_lines(data):
            self._read_line(line)
            yield from self._take_passed()
            yield from self._new()

    def skip(self, data: bytes) -> None:
        """Pass over these bytes: of what they hold, only the headers of takes are read. An event
        of the kind `gap` will stand for the rest.
        """
        for line in self._whole_lines(data):
            if line.startswith(HEADER_START):
                self._read_line(line)
            else:
                self.lines += 1
                self._skipped += 1
                self._reader.pass_over(line)

    def _whole_lines(self, data: bytes) -> list[bytes]:
        *lines, self._torn = (self._torn + data).split(b"\n")
        return lines

    def _read_line(self, line: bytes) -> None:
        takes = self.cassette.takes
        known = len(takes)
        self._passed += self._gap()
        self.lines += 1
        self._reader.line(self.lines, line)
        if len(takes) != known:
            self._annotator = TakeAnnotator(takes[-1], len(takes), self.length, timed=True)
            self._read = 0

    def _gap(self) -> Iterator[Added]:
        """Yield what stands for the events that were skipped."""
        count, self._skipped = self._skipped, 0
        if count and self._annotator is not None:
            events = self._annotator.take.events
            n, t = (events[-1].n, events[-1].t) if events else (0, 0)
            yield self._add(Event(n=n + 1, t=t, gap=LeftOut(events=count, reason=_REASON)))

    def _take_passed(self) -> Iterator[Added]:
        passed, self._passed = self._passed, []
        yield from passed

    def _new(self) -> Iterator[Added]:
        if self._annotator is not None:
            for event in self._annotator.take.events[self._read :]:
                self._read += 1
                yield self._add(event)

    def _add(self, event: Event) -> Added:
        assert self._annotator is not None, "events stand in a take"
        rows = self._annotator.add(event)
        self.length += len(rows)
        return event, rows
