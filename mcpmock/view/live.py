"""`LivePage`: the report page of a cassette that is being recorded.

The bytes of the file go in as they are written, and what the page does not know yet comes out.
Pure: `sessions.watch` reads the file and serves the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.rules.checker import Found, TakeChecker

from .growth import GrowingTimeline
from .html_page import html_page
from .lanes import TimeAxis
from .report import PageRecording
from .timeline import LeftOut, Row

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


def live_page(names: Sequence[str]) -> bytes:
    """Return the page for cassettes of these names; their rows come later."""
    empty = [_recording(name).add([], []) for name in names]
    data = {"live": True, "recordings": empty}
    return html_page("report", ", ".join(names), data, live=True)


def _recording(name: str) -> PageRecording:
    return PageRecording(Cassette(name=name, takes=[]), TimeAxis(IDLE_US))


@attrs.define
class LivePage:
    """One file, from its beginning."""

    name: str
    length: int = 0
    """The number of rows so far."""
    _recording: PageRecording = attrs.field(init=False)
    _timeline: GrowingTimeline = attrs.field(init=False)
    _checker: TakeChecker | None = None
    _caught_up: bool = False
    _skipping: bool = False

    def __attrs_post_init__(self) -> None:
        self._recording = _recording(self.name)
        self._timeline = GrowingTimeline(self._recording.cassette)

    @property
    def full(self) -> bool:
        return self.length > MAX_ROWS

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
        return self._update(data)

    def _update(self, data: bytes) -> dict[str, Any]:
        takes, anew = self._recording.cassette.takes, not self._timeline.lines
        rows: list[Row] = []
        found: list[Found] = []
        for event, more in self._timeline.feed(data):
            number = more[0].take if more else len(takes)
            if self._checker is None or self._checker.number != number:
                self._checker = TakeChecker(number, takes[number - 1])
            # Of each session something was left out, not only of the one of this event.
            self._checker.damaged |= isinstance(event.gap, LeftOut)
            rows += more
            found += self._checker.check(event)
        self.length += len(rows)
        return {**self._recording.add(rows, found), **({"anew": True} if anew else {})}
