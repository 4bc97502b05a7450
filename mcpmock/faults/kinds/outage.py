"""`outage`: the server is away for a while."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen, Toward
from mcpmock.faults.responses import refusal
from mcpmock.faults.units import Seconds, Status, to_seconds
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.messages import S2C, ExchangeEnd, Frame


@attrs.frozen(kw_only=True)
class Outage(Fault):
    """For `time` from the first request that matches, every one that does is refused, or (`reset`)
    its connection is.

    >>> fault = mcpmock.faults.Outage(time="5s", status=503, match={"nth": 3})
    """

    kind: ClassVar[str] = "outage"
    acts_on: ClassVar[On] = On.ASKED | On.RESPONSE
    only: ClassVar[Toward | None] = "server"
    transports: ClassVar[Sequence[str]] = ("streamable-http", "sse")

    time: Seconds = attrs.field(default=5.0, converter=to_seconds)
    status: Status = 503
    reset: bool = False

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        if seen.now >= seen.memory.setdefault("until", seen.now + self.time):
            yield seen.passed()
        elif self.reset:
            yield Send([Frame(S2C, fact=ExchangeEnd("reset"), exchange=seen.exchange)])
        else:
            yield Send(refusal(seen.exchange, self.status))
