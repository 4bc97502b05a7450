"""`backpressure`: nobody reads what is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Halt, Seen, Toward
from mcpmock.faults.units import Seconds, to_seconds


@attrs.frozen(kw_only=True)
class Backpressure(Fault):
    """Behind the message nothing more of its direction is read for `time`: whoever sends it has to
    wait, once the pipe is full.

    >>> fault = mcpmock.faults.Backpressure(time="2s", match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "backpressure"
    usually: ClassVar[Toward] = "server"
    transports: ClassVar[Sequence[str]] = ("stdio",)

    time: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield seen.passed()
        yield Halt(seen.direction, self.time)
