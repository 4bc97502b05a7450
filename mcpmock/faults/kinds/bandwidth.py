"""`bandwidth`: bytes come slowly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.chunking import pieces, wire_of
from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Rate, to_rate
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class Bandwidth(Fault):
    """The message comes at `rate`, in a piece every tenth of a second; all behind it waits.

    >>> fault = mcpmock.faults.Bandwidth(rate="1KiB/s", match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "bandwidth"
    usually: ClassVar[Toward] = "client"
    blocks: ClassVar[bool] = True

    rate: Rate = attrs.field(default=1000, converter=to_rate)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        size = max(1, self.rate // 10)
        data = wire_of(seen)
        cuts = range(size, len(data), size)
        # Each piece comes when its last byte would have, so the last one when all of them have.
        for frames, cut in zip(pieces(seen, cuts), [*cuts, len(data)], strict=True):
            yield Send(frames, cut / self.rate)
