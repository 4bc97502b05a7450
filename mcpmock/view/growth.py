"""`GrowingTimeline`: the timeline of a cassette that is being recorded.

The bytes of the file go in as they are written, and their rows come out. Pure: `sessions.watch`
reads the file; `live` and `mcpmock show --follow` show the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from mcpmock.cassette.model import Cassette, Event
from mcpmock.cassette.parser import CassetteReader

from .timeline import Row, TakeAnnotator


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

    def __attrs_post_init__(self) -> None:
        self._reader = CassetteReader(self.cassette)

    def feed(self, data: bytes) -> Iterator[tuple[Event, Sequence[Row]]]:
        """The events that these bytes, the next of the file, complete; each with its rows. What
        later events decide is missing: the status of an exchange, and that a request got no answer.
        """
        *lines, self._torn = (self._torn + data).split(b"\n")
        takes = self.cassette.takes
        for line in lines:
            self.lines += 1
            known = len(takes)
            self._reader.line(self.lines, line)
            if len(takes) != known:
                self._annotator = TakeAnnotator(takes[-1], len(takes), self.length, timed=True)
                self._read = 0
            if self._annotator is None:
                continue
            for event in takes[-1].events[self._read :]:
                self._read += 1
                rows = self._annotator.add(event)
                self.length += len(rows)
                yield event, rows
