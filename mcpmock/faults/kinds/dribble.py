"""`dribble`: a message comes in pieces, spread over a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.chunking import pieces, wire_of
from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Ordinal, Seconds, to_seconds
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class Dribble(Fault):
    """The message comes in `parts` pieces of one length, the last of them after `time`; all behind
    it waits.

    >>> fault = mcpmock.faults.Dribble(parts=5, time="1s", match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "dribble"
    usually: ClassVar[Toward] = "client"
    blocks: ClassVar[bool] = True

    parts: Ordinal = 10
    time: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        size = len(wire_of(seen))
        cuts = sorted({size * part // self.parts for part in range(1, self.parts)} - {0})
        sliced = pieces(seen, cuts)
        for number, frames in enumerate(sliced, 1):
            yield Send(frames, self.time * number / len(sliced))
