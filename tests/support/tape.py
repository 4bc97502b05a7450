"""`Tape`: a disk in memory, for recorders."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mcpmock.cassette.model import Event
from mcpmock.cassette.parser import read

from . import HEADER


@attrs.define
class Tape:
    """A disk in memory; while `full`, appending fails."""

    lines: list[bytes] = attrs.field(factory=list)
    full: bool = False

    def append(self, lines: list[bytes]) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        self.lines += lines

    def events(self) -> Sequence[Event]:
        loaded = read("tape", HEADER + b"".join(self.lines))
        assert [] == loaded.damage
        return loaded.takes[0].events

    def payloads(self) -> list[bytes | None]:
        return [event.payload for event in self.events()]

    def gaps(self) -> list[tuple[int, int]]:
        return [
            (e.gap.events, e.gap.bytes)
            for e in self.events()
            if not isinstance(e.gap, type(e.m)) and e.gap
        ]
