"""`pause`: the server stops for a while."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward, Wall
from mcpmock.faults.units import Seconds, to_seconds
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class Pause(Fault):
    """From the message on nothing goes either way for `time`, as if the server were stopped and
    continued.

    >>> fault = mcpmock.faults.Pause(time="5s", match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "pause"
    usually: ClassVar[Toward] = "server"
    blocks: ClassVar[bool] = True

    time: Seconds = attrs.field(default=5.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield Wall(seen.direction.back, self.time)
        yield Send(seen.unit, self.time)
