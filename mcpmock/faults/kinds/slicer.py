"""`slicer`: a message comes in pieces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.chunking import pieces, wire_of
from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Seconds, Size, to_bytes, to_seconds
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class Slicer(Fault):
    """The message comes in pieces of `size` bytes, give or take `vary`, each `delay` after the one
    before; all behind it waits.

    >>> fault = mcpmock.faults.Slicer(size="16B", delay="5ms", match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "slicer"
    usually: ClassVar[Toward] = "client"
    blocks: ClassVar[bool] = True

    size: Size = attrs.field(default=64, converter=to_bytes)
    vary: Size = attrs.field(default=0, converter=to_bytes)
    delay: Seconds = attrs.field(default=0.01, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        cuts, at, end = list[int](), 0, len(wire_of(seen))
        while (at := at + self._step(dice)) < end:
            cuts.append(at)
        dice.drawn = {**dice.drawn, "cuts": cuts[:20]}
        for number, frames in enumerate(pieces(seen, cuts)):
            yield Send(frames, number * self.delay)

    def _step(self, dice: Dice) -> int:
        vary = dice.random.randint(-self.vary, self.vary) if self.vary else 0
        return max(1, self.size + vary)
