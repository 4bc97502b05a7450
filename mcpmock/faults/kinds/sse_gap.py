"""`sse_gap`: an event is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Seen, Toward
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.messages import HttpResponse

from .drop import Drop


@attrs.frozen(kw_only=True)
class SseGap(Drop):
    """The event of the message is lost, and with it its id; the stream goes on.

    >>> fault = mcpmock.faults.SseGap(match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "sse_gap"
    only: ClassVar[Toward | None] = "client"
    transports: ClassVar[Sequence[str]] = ("streamable-http", "sse")

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        heads = [frame for frame in seen.followed_by() if isinstance(frame.fact, HttpResponse)]
        if heads:
            yield Send(heads)
