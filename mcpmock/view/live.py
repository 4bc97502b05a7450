"""`LivePage`: the report page of a cassette that is being recorded; `GrowingTimeline`: its rows.

The bytes of the file go in as they are written, and what the page does not know yet comes out.
Pure: `sessions.watch` reads the file and serves the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

import attrs

from mcpmock.cassette import HEADER_START
from mcpmock.cassette.model import Cassette, Event
from mcpmock.cassette.other_files import describe_other, is_other
from mcpmock.cassette.parser import CassetteReader
from mcpmock.rules.checker import Found, TakeChecker

from .html_page import html_page
from .lanes import TimeAxis
from .report import PageRecording
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


IDLE_US = 250_000
"""A longer pause is folded. Of a whole recording the median pause decides; a live one has none."""
MAX_HISTORY_BYTES = 32 << 20
"""What a cassette may have when the page is opened. Of more, only the beginning is read, and the
last TAIL_BYTES.
"""
MAX_UNREAD_BYTES = 4 << 20
"""How far a page may fall behind; further, all but the last TAIL_BYTES are left out."""
TAIL_BYTES = 1 << 20
MAX_ROWS = 200_000
"""A page that has so many begins anew."""


def live_page(name: str, files: Sequence[tuple[int, str]], ended: str) -> bytes:
    """Return the page for a folder or a file of this name; the rows of its `files`, each with a
    number, come later. `ended` is what it says when nothing more will come.
    """
    recording = _recording(name).add([], [])
    data = {"live": True, "title": name, "files": files, "ended": ended, "recordings": [recording]}
    return html_page("report", name, data, live=True)


def _recording(name: str) -> PageRecording:
    return PageRecording(Cassette(name=name, takes=[]), TimeAxis(IDLE_US), live=True)


@attrs.define
class LivePage:
    """One file, from its beginning."""

    name: str
    length: int = 0
    """The number of rows so far."""
    _recording: PageRecording = attrs.field(init=False)
    _timeline: GrowingTimeline = attrs.field(init=False)
    _checker: TakeChecker | None = None
    _begun: bool = False
    _caught_up: bool = False
    _skipping: bool = False

    def __attrs_post_init__(self) -> None:
        self._recording = _recording(self.name)
        self._timeline = GrowingTimeline(self._recording.cassette)

    @property
    def full(self) -> bool:
        return self.length > MAX_ROWS

    @property
    def open(self) -> bool:
        """Whether the file ends in a take that is being recorded, as far as was said."""
        return self._recording.open

    def abandon(self) -> dict[str, Any]:
        """Return what the page changes if no recorder has the file open: that take breaks off."""
        self._recording.live = False
        return self._update(b"")

    def feed(self, data: bytes, unread: int = 0) -> dict[str, Any] | None:
        """Return what these bytes, the next of the file, add to the page; `unread` is the number of
        bytes behind them. None if the page is too far behind: a row will say how many events they
        had.
        """
        most = TAIL_BYTES if self._skipping else MAX_UNREAD_BYTES
        if not (self._caught_up or self._skipping):
            most = MAX_HISTORY_BYTES
        self._caught_up |= not unread
        self._skipping = self.length > 0 and unread + len(data) > most
        if self._skipping:
            self._timeline.skip(data)
            return None
        self._recording.live = True
        return self._update(data)

    def _update(self, data: bytes) -> dict[str, Any]:
        recording, anew = self._recording, not self._begun
        takes = recording.cassette.takes
        if data and not self._timeline.lines and is_other(data):
            name = PurePath(self.name).name
            recording.other = f"{name} {'; '.join(filter(None, describe_other(name, data)))}"
        self._begun = True
        rows: list[Row] = []
        found: list[Found] = []
        for event, more in self._timeline.feed(data):
            number = more[0].take if more else len(takes)
            if self._checker is None or self._checker.number != number:
                self._checker = TakeChecker(number, takes[number - 1])
            # Of each session something was left out, not only of the one of this event.
            self._checker.damaged |= isinstance(event.gap, LeftOut)
            rows += more
            found += [one for one in self._checker.check(event) if isinstance(one, Found)]
        self.length += len(rows)
        return {**recording.add(rows, found), **({"anew": True} if anew else {})}
