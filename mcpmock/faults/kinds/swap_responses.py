"""`swap_responses`: two requests get each other's answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Keep, On, Seen
from mcpmock.faults.units import Seconds, to_seconds
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import Response


@attrs.frozen
class _Waiting:
    """The answer that waits for another."""

    keep: Keep
    id: bytes
    raw: bytes
    until: float


@attrs.frozen(kw_only=True)
class SwapResponses(Fault):
    """An answer waits for the next one that matches (no longer than `at_most`), and each comes with
    the other's id.

    >>> fault = mcpmock.faults.SwapResponses(match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "swap_responses"
    acts_on: ClassVar[On] = On.RESPONSE
    transports: ClassVar[Sequence[str]] = ("stdio", "sse")

    at_most: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        answer, waiting = seen.subject.message, seen.memory.pop("waiting", None)
        assert isinstance(answer, Response)
        id_ = answer.id or b"null"
        if waiting is None or waiting.until <= seen.now:
            keep = Keep(seen.unit, 1, self.at_most, On.RESPONSE)
            seen.memory["waiting"] = _Waiting(keep, id_, seen.frame.raw, seen.now + self.at_most)
            yield keep
            return
        # What is kept leaves as soon as this one has: it gets the other answer where it stands.
        frames = waiting.keep.frames
        frames[:] = [
            *frames[:-1],
            *seen.with_raw(edit.with_id(seen.frame.raw, waiting.id))[-1:],
        ]
        yield Send(seen.with_raw(edit.with_id(waiting.raw, id_)))
