"""`RecordedExchange`: what the plan builder knows of a recorded exchange, and how its response
ends.

Ends have causes of their own: many streams end because the client did something else, and some ends
were never recorded, because the client left first. Used by `plan.builder`.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

import attrs

from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import S2C, ExchangeEnd, Frame, HttpResponse

from .plan import NEVER, PlannedMessage


@attrs.define
class RecordedExchange:
    """An exchange as far as it was planned."""

    number: int
    event: int = NEVER
    """Its client event."""
    calls: tuple[int, ...] = ()
    head: HttpResponse | None = None
    head_place: int = 0
    causes: frozenset[int] = frozenset()
    """What the head of the response waits for, and so all that comes behind it."""
    last: PlannedMessage | None = None
    left: int | None = None
    """When the client went away."""

    @property
    def streams(self) -> bool:
        """Whether the response is an event stream."""
        return self.head is not None and self.head.media_type == EVENT_STREAM

    def missing_end(
        self, answered: Set[int], times: Mapping[int | None, int]
    ) -> list[PlannedMessage]:
        """The end of a response that was whole when the recording lost sight of it: the client left
        first (some do, whenever they have their answer), or the recorder was stopped. `times` are
        those of the latest messages by chain.
        """
        last = self.last
        if self.head is None or last is None or isinstance(last.frame.fact, ExchangeEnd):
            return []
        whole = bool(self.calls) and answered >= set(self.calls)
        if self.streams and not whole:
            return []
        t = times[last.chain]
        end = attrs.evolve(
            last,
            frame=Frame(S2C, fact=ExchangeEnd(), exchange=self.number),
            meta=None,
            answers=False,
            is_progress=False,
            overlaps=(),
            live_values=(),
            gap=max((self.left or t) - t, 0) / 1_000_000,
            made_up=True,
        )
        return [end]


def delayed(end: PlannedMessage, cause: int, t: int) -> PlannedMessage:
    """The end of a stream that follows another client event (`cause`) after `t` microseconds."""
    gap = min(end.gap, max(t, 0) / 1_000_000)
    return attrs.evolve(end, causes=end.causes | {cause}, gap=gap)
