"""`hold`: a message and all behind it come later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Seconds, to_seconds
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class Hold(Fault):
    """The message is held for `time`, and all that goes its way waits behind it.

    >>> fault = mcpmock.faults.Hold(time="500ms", match={"method": "notifications/*"})
    """

    kind: ClassVar[str] = "hold"
    usually: ClassVar[Toward] = "client"
    blocks: ClassVar[bool] = True

    time: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield Send(seen.unit, self.time)
