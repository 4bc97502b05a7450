"""SSE: fields and comments of an event stream."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from mcpmock.faults.chunking import with_events
from mcpmock.faults.fault import HTTP, Act, Dice, Fault, MatchedMessage, frozen
from mcpmock.options.units import Milliseconds, Ordinal, to_milliseconds
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.messages import S2C, Frame, SseMeta


@frozen(kw_only=True)
class SseCommentStorm(Fault, only="client", transports=HTTP, aliases={"comment": "text"}):
    """In front of the message come `count` SSE comments with this `text`.

    >>> fault = mcpmock.faults.SseCommentStorm(count=1000, match={"method": "tools/call"})
    """

    count: Ordinal = 1000
    text: str = "keep-alive"

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield Send(with_events(matched, [SseMeta(comment=self.text)] * self.count))


@frozen(kw_only=True)
class SseRetry(Fault, only="client", transports=HTTP):
    """In front of the message comes an SSE `retry` field.

    It tells the client how long to wait before it reconnects.

    >>> fault = mcpmock.faults.SseRetry(retry="2s")
    """

    retry: Milliseconds = attrs.field(default=60_000, converter=to_milliseconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield Send(with_events(matched, [SseMeta(retry=self.retry)]))


@frozen(kw_only=True)
class SseDuplicateId(Fault, only="client", transports=HTTP):
    """The SSE event of the message has this `id`, so that several events have the same one.

    >>> fault = mcpmock.faults.SseDuplicateId(match={"method": "tools/call"})
    """

    id: str = "1"

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        *heads, message = matched.followed_by()
        metas = [frame.fact for frame in heads if isinstance(frame.fact, SseMeta)]
        meta = SseMeta(self.id, metas[0].event, metas[0].retry) if metas else SseMeta(self.id)
        yield Send(
            [
                *(frame for frame in heads if not isinstance(frame.fact, SseMeta)),
                Frame(S2C, fact=meta, exchange=message.exchange),
                Frame(S2C, message.raw, exchange=message.exchange),
            ]
        )
