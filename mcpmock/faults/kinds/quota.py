"""`quota`: too many requests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen, Toward
from mcpmock.faults.responses import refusal
from mcpmock.faults.units import Count, Seconds, to_seconds
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class Quota(Fault):
    """Of the requests that match, `requests` are let through in each `window`; others get 429 and
    are told when to try again.

    >>> fault = mcpmock.faults.Quota(requests=10, window="1s")
    """

    kind: ClassVar[str] = "quota"
    acts_on: ClassVar[On] = On.ASKED
    only: ClassVar[Toward | None] = "server"
    transports: ClassVar[Sequence[str]] = ("streamable-http", "sse")

    requests: Count = 10
    window: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        began = seen.memory.get("began")
        if began is None or seen.now >= began + self.window:
            began = seen.memory["began"] = seen.now
            seen.memory["let"] = 0
        if seen.memory["let"] < self.requests:
            seen.memory["let"] += 1
            yield seen.passed()
            return
        left = math.ceil(began + self.window - seen.now)
        yield Send(refusal(seen.exchange, 429, {"Retry-After": str(left)}))
