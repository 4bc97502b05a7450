"""`coalesce`: several messages come in one read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Seconds, to_seconds
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class Coalesce(Fault):
    """Messages are gathered for `time` from the first on, and come in one piece.

    >>> fault = mcpmock.faults.Coalesce(time="50ms")
    """

    kind: ClassVar[str] = "coalesce"
    usually: ClassVar[Toward] = "client"
    blocks: ClassVar[bool] = True

    time: Seconds = attrs.field(default=0.1, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        if seen.now < seen.memory.get("until", 0.0):
            yield Send(seen.unit)  # it waits behind the first, to the same instant
            return
        seen.memory["until"] = seen.now + self.time
        yield Send(seen.unit, self.time)
