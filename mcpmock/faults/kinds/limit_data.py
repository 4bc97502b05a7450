"""`limit_data`: the connection breaks in the middle of a message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import attrs

from mcpmock.faults.chunking import broken_off, cut_in_chunk, has_chunks, wire_of
from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Size, to_bytes

Inside = Literal["frame", "character", "line_end", "field", "chunk_header"]


@attrs.frozen(kw_only=True)
class LimitData(Fault):
    """After so many `bytes` of what matches, the stream ends: in the middle of a message mostly,
    and without the end of its line. Or `inside` something of the first that matches: the frame, one
    of its characters (of several bytes), the line end, between CR and LF; and over HTTP the name of
    a field of its event, or the length of the chunk that carries it.

    >>> fault = mcpmock.faults.LimitData(inside="character", match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "limit_data"
    usually: ClassVar[Toward] = "client"

    bytes: Size | None = attrs.field(default=None, converter=attrs.converters.optional(to_bytes))
    inside: Inside | None = None

    def contradictions(self) -> Iterable[str]:
        if (self.bytes is None) is (self.inside is None):
            yield "bytes: say either bytes or inside"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        if self.inside == "chunk_header" and has_chunks(seen):
            yield from cut_in_chunk(seen)
            return
        data = wire_of(seen)
        if self.inside == "line_end":
            data = data.rstrip(b"\r\n") + b"\r\n"
        passed = seen.memory.get("passed", 0)
        seen.memory["passed"] = passed + len(data)
        if self.bytes is not None and passed + len(data) <= self.bytes:
            yield seen.passed()
            return
        at = self._place(data, dice) if self.bytes is None else self.bytes - passed
        dice.drawn["at"] = at
        yield from broken_off(seen, data[:at])

    def _place(self, data: bytearray | Any, dice: Dice) -> int:
        if self.inside == "line_end":
            return len(data) - 1
        field = data.find(b"data:") if self.inside == "field" else -1
        if field >= 0:
            return field + 2
        wide = [at for at, byte in enumerate(data) if 0x80 <= byte < 0xC0]
        if self.inside == "character" and wide:
            return wide[0]
        return dice.below("at", len(data), 1)
