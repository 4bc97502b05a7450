"""`LivePage`: the report page of a cassette that is being recorded.

The bytes of the file go in as they are written, and what the page does not know yet comes out.
Pure: `sessions.watch` reads the file and serves the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.cassette.parser import CassetteReader
from mcpmock.rules.checker import Found, TakeChecker

from .lanes import TimeAxis
from .report import PageRecording, page
from .timeline import Row, TakeAnnotator

IDLE_US = 250_000
"""A longer pause is folded. Of a whole recording the median pause decides; a live one has none."""


def live_page(names: Sequence[str]) -> bytes:
    """The page for cassettes of these names; their rows come later."""
    empty = [_recording(name).add([], []) for name in names]
    return page(", ".join(names), {"live": True, "recordings": empty}, live=True)


def _recording(name: str) -> PageRecording:
    return PageRecording(Cassette(name=name, takes=[]), TimeAxis(IDLE_US))


@attrs.define
class LivePage:
    """One file, from its beginning."""

    name: str
    _reader: CassetteReader = attrs.field(init=False)
    _recording: PageRecording = attrs.field(init=False)
    _take: tuple[TakeAnnotator, TakeChecker] | None = None
    _read: int = 0
    """How many events of the take in hand were looked at."""
    _lines: int = 0
    _torn: bytes = b""

    def __attrs_post_init__(self) -> None:
        self._recording = _recording(self.name)
        self._reader = CassetteReader(self._recording.cassette)

    def feed(self, data: bytes) -> dict[str, Any]:
        """What these bytes, the next of the file, add to the page."""
        *lines, self._torn = (self._torn + data).split(b"\n")
        anew = not self._lines
        rows: list[Row] = []
        found: list[Found] = []
        for line in lines:
            self._lines += 1
            takes = len(self._reader.cassette.takes)
            self._reader.line(self._lines, line)
            if len(self._reader.cassette.takes) != takes:
                self._begin(len(self._recording.rows) + len(rows))
            for more, wrong in self._events():
                rows += more
                found += wrong
        return {**self._recording.add(rows, found), **({"anew": True} if anew else {})}

    def _begin(self, offset: int) -> None:
        takes = self._reader.cassette.takes
        annotator = TakeAnnotator(takes[-1], len(takes), offset, timed=True)
        self._take = (annotator, TakeChecker(len(takes), takes[-1]))
        self._read = 0

    def _events(self) -> Iterator[tuple[Sequence[Row], Sequence[Found]]]:
        if self._take is None:
            return
        annotator, checker = self._take
        for event in annotator.take.events[self._read :]:
            self._read += 1
            yield annotator.add(event), list(checker.check(event))
