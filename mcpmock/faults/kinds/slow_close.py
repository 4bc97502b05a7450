"""`slow_close`: the end comes late."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen, Toward
from mcpmock.faults.units import Seconds, to_seconds
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class SlowClose(Fault):
    """The end of the server's output, or of an exchange, comes `delay` later.

    >>> fault = mcpmock.faults.SlowClose(delay="2s")
    """

    kind: ClassVar[str] = "slow_close"
    acts_on: ClassVar[On] = On.CLOSE
    usually: ClassVar[Toward] = "client"

    delay: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield Send(seen.unit, self.delay)
