"""Order: messages that arrive twice, out of order, or as the response to another request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import attrs

from mcpmock.faults.delay_queue import Keep
from mcpmock.faults.fault import Act, Dice, Fault, MatchedMessage, frozen
from mcpmock.faults.segments import On
from mcpmock.options.units import Ordinal, Seconds, to_seconds
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.error_codes import INTERNAL_ERROR
from mcpmock.protocol.messages import Response

# On Streamable HTTP each response has a stream of its own: there is no order among them to change.
_ONE_STREAM = ("stdio", "sse")


@frozen(kw_only=True)
class Duplicate(Fault, usually="client", aliases={"copies": "count"}):
    """The message arrives `count` more times, all at once or each `after` the one before.

    >>> fault = mcpmock.faults.Duplicate(count=2, after="10ms", match={"method": "tools/call"})
    """

    count: Ordinal = 1
    after: Seconds = attrs.field(default=0.0, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield from matched.trailed_by([matched.frame.raw] * self.count, self.after)


@frozen(kw_only=True)
class Reorder(Fault, usually="client", transports=_ONE_STREAM):
    """The message arrives behind the next `behind` messages of its direction.

    It waits no longer than `at_most`.

    >>> fault = mcpmock.faults.Reorder(behind=1, match={"method": "tools/call"})
    """

    behind: Ordinal = 1
    at_most: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield Keep(matched.unit, self.behind, self.at_most)


@attrs.frozen
class _WaitingResponse:
    """The response that waits for another."""

    keep: Keep
    id: bytes
    raw: bytes
    until: float


@frozen(kw_only=True)
class SwapResponses(Fault, acts_on=On.RESPONSE, transports=_ONE_STREAM):
    """Two responses exchange their ids.

    A response waits for the next one that matches, no longer than `at_most`.

    >>> fault = mcpmock.faults.SwapResponses(match={"method": "tools/call"})
    """

    at_most: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        answer, waiting = matched.subject.message, matched.memory.pop("waiting", None)
        assert isinstance(answer, Response)
        id_ = answer.id or b"null"
        if waiting is None or waiting.until <= matched.now:
            keep, until = (
                Keep(matched.unit, 1, self.at_most, On.RESPONSE),
                matched.now + self.at_most,
            )
            matched.memory["waiting"] = _WaitingResponse(keep, id_, matched.frame.raw, until)
            yield keep
            return
        # What is kept leaves as soon as this one has: it gets the other response where it stands.
        frames = waiting.keep.frames
        frames[-1:] = matched.with_raw(edit.with_id(matched.frame.raw, waiting.id))[-1:]
        yield Send(matched.with_raw(edit.with_id(waiting.raw, id_)))


@frozen(kw_only=True)
class RespondTwice(Fault, acts_on=On.RESPONSE):
    """The request gets a second response, `after` the first: the `same`, or an `error`.

    >>> fault = mcpmock.faults.RespondTwice(second="error", match={"method": "tools/call"})
    """

    second: Literal["same", "error"] = "same"
    after: Seconds = attrs.field(default=0.0, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        answer, second = matched.subject.message, matched.frame.raw
        if self.second == "error" and isinstance(answer, Response):
            second = edit.error(answer.id or b"null", INTERNAL_ERROR, "Internal error")
        yield from matched.trailed_by([second], self.after)
