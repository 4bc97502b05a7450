"""Order: messages that arrive twice, out of order, or as the response to another request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import attrs

from mcpmock.faults.delay_queue import Keep
from mcpmock.faults.fault import Act, Dice, Fault, Seen
from mcpmock.faults.segments import On
from mcpmock.faults.units import Ordinal, Seconds, to_seconds
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import Response

# On Streamable HTTP each response has a stream of its own: there is no order among them to change.
_ONE_STREAM = ("stdio", "sse")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Duplicate(Fault, usually="client"):
    """The message arrives `copies` more times, all at once or each `after` the one before.

    >>> fault = mcpmock.faults.Duplicate(copies=2, after="10ms", match={"method": "tools/call"})
    """

    copies: Ordinal = 1
    after: Seconds = attrs.field(default=0.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        raw = seen.frame.raw
        if not self.after:
            yield Send(seen.followed_by(*[raw] * self.copies))
            return
        yield Send(seen.followed_by())
        for number in range(self.copies):
            yield Send([seen.message(seen.direction, raw)], self.after * (number + 1))


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Reorder(Fault, usually="client", transports=_ONE_STREAM):
    """The message arrives behind the next `behind` messages of its direction.

    It waits no longer than `at_most`.

    >>> fault = mcpmock.faults.Reorder(behind=1, match={"method": "tools/call"})
    """

    behind: Ordinal = 1
    at_most: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        yield Keep(seen.unit, self.behind, self.at_most)


@attrs.frozen
class _WaitingResponse:
    """The response that waits for another."""

    keep: Keep
    id: bytes
    raw: bytes
    until: float


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SwapResponses(Fault, acts_on=On.RESPONSE, transports=_ONE_STREAM):
    """Two responses exchange their ids.

    A response waits for the next one that matches, no longer than `at_most`.

    >>> fault = mcpmock.faults.SwapResponses(match={"method": "tools/call"})
    """

    at_most: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        answer, waiting = seen.subject.message, seen.memory.pop("waiting", None)
        assert isinstance(answer, Response)
        id_ = answer.id or b"null"
        if waiting is None or waiting.until <= seen.now:
            keep, until = Keep(seen.unit, 1, self.at_most, On.RESPONSE), seen.now + self.at_most
            seen.memory["waiting"] = _WaitingResponse(keep, id_, seen.frame.raw, until)
            yield keep
            return
        # What is kept leaves as soon as this one has: it gets the other response where it stands.
        frames = waiting.keep.frames
        frames[-1:] = seen.with_raw(edit.with_id(seen.frame.raw, waiting.id))[-1:]
        yield Send(seen.with_raw(edit.with_id(waiting.raw, id_)))


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RespondTwice(Fault, acts_on=On.RESPONSE):
    """The request gets a second response, `after` the first: the `same`, or an `error`.

    >>> fault = mcpmock.faults.RespondTwice(second="error", match={"method": "tools/call"})
    """

    second: Literal["same", "error"] = "same"
    after: Seconds = attrs.field(default=0.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        answer, second = seen.subject.message, seen.frame.raw
        if self.second == "error" and isinstance(answer, Response):
            second = edit.error(answer.id or b"null", -32603, "Internal error")
        if not self.after:
            yield Send(seen.followed_by(second))
            return
        yield Send(seen.followed_by())
        yield Send([seen.message(seen.direction, second)], self.after)
