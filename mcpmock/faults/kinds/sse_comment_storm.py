"""`sse_comment_storm`: an event stream full of comments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.chunking import with_events
from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Ordinal
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.messages import SseMeta


@attrs.frozen(kw_only=True)
class SseCommentStorm(Fault):
    """In front of the message come `count` comments.

    >>> fault = mcpmock.faults.SseCommentStorm(count=1000, match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "sse_comment_storm"
    only: ClassVar[Toward | None] = "client"
    transports: ClassVar[Sequence[str]] = ("streamable-http", "sse")

    count: Ordinal = 1000
    comment: str = "keep-alive"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield Send(with_events(seen, [SseMeta(comment=self.comment)] * self.count))
