"""`delay`: a message comes later by a fixed time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Seconds, to_seconds
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class Delay(Fault):
    """Each message comes later by `delay`; what belongs to the same call waits with it.

    >>> fault = mcpmock.faults.Delay(delay="2s", match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "delay"
    usually: ClassVar[Toward] = "client"

    delay: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield Send(seen.unit, self.delay)
