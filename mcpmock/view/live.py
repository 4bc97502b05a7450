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
from .lanes import TimeAxis
from .report import PageRecording, page
from .timeline import Row

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
    _recording: PageRecording = attrs.field(init=False)
    _timeline: GrowingTimeline = attrs.field(init=False)
    _checker: TakeChecker | None = None

    def __attrs_post_init__(self) -> None:
        self._recording = _recording(self.name)
        self._timeline = GrowingTimeline(self._recording.cassette)

    def feed(self, data: bytes) -> dict[str, Any]:
        """What these bytes, the next of the file, add to the page."""
        takes, anew = self._recording.cassette.takes, not self._timeline.lines
        rows: list[Row] = []
        found: list[Found] = []
        for event, more in self._timeline.feed(data):
            if self._checker is None or self._checker.number != len(takes):
                self._checker = TakeChecker(len(takes), takes[-1])
            rows += more
            found += self._checker.check(event)
        return {**self._recording.add(rows, found), **({"anew": True} if anew else {})}
