"""`sse_duplicate_id`: events have one id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.messages import S2C, Frame, SseMeta


@attrs.frozen(kw_only=True)
class SseDuplicateId(Fault):
    """The event of the message has this `id`, whatever others have.

    >>> fault = mcpmock.faults.SseDuplicateId(match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "sse_duplicate_id"
    only: ClassVar[Toward | None] = "client"
    transports: ClassVar[Sequence[str]] = ("streamable-http", "sse")

    id: str = "1"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        *heads, message = seen.followed_by()
        metas = [frame.fact for frame in heads if isinstance(frame.fact, SseMeta)]
        meta = SseMeta(self.id, metas[0].event, metas[0].retry) if metas else SseMeta(self.id)
        yield Send(
            [
                *(frame for frame in heads if not isinstance(frame.fact, SseMeta)),
                Frame(S2C, fact=meta, exchange=message.exchange),
                Frame(S2C, message.raw, exchange=message.exchange),
            ]
        )
