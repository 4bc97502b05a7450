"""`sse_retry`: the server says how long to wait before the next try."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.chunking import with_events
from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Count
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.messages import SseMeta


@attrs.frozen(kw_only=True)
class SseRetry(Fault):
    """In front of the message comes a `retry` of so many milliseconds.

    >>> fault = mcpmock.faults.SseRetry(retry=2000)
    """

    kind: ClassVar[str] = "sse_retry"
    only: ClassVar[Toward | None] = "client"
    transports: ClassVar[Sequence[str]] = ("streamable-http", "sse")

    retry: Count = 60_000

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield Send(with_events(seen, [SseMeta(retry=self.retry)]))
