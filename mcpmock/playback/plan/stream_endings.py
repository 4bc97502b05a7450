"""`RecordedExchange`: what the plan builder knows of a recorded exchange, and how its response
ends.

Ends have causes of their own: many streams end because of another client event, and some ends were
never recorded because the client left first. Used by `plan.builder`.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

import attrs

from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import S2C, ExchangeEnd, Frame, HttpResponse

from .plan import NEVER, PlannedMessage


@attrs.define
class RecordedExchange:
    """An exchange as far as it is planned."""

    number: int
    event: int = NEVER
    """Its client event."""
    calls: tuple[int, ...] = ()
    head: HttpResponse | None = None
    head_place: int = 0
    causes: frozenset[int] = frozenset()
    """The causes of the response head, and so of everything on the exchange."""
    all_causes: set[int] = attrs.field(factory=set)
    """The causes of everything on the exchange: its end waits for all of them."""
    is_session: bool = False
    """It is the stream of HTTP+SSE that carries everything the server sends."""
    last: PlannedMessage | None = None
    left: int | None = None
    """When the client left, in microseconds."""

    @property
    def streams(self) -> bool:
        """Whether the response is an event stream."""
        return self.head is not None and self.head.media_type == EVENT_STREAM

    def missing_end(
        self, answered: Set[int], times: Mapping[int | None, int]
    ) -> list[PlannedMessage]:
        """The end of a response that was complete but whose end was not recorded: the client left
        first, or the recorder was stopped. `times` has the time of the latest message of each
        chain.
        """
        # The Python SDK 2.3 disconnects right after it has read the response.
        last = self.last
        if self.head is None or last is None or isinstance(last.frame.fact, ExchangeEnd):
            return []
        complete = bool(self.calls) and answered >= set(self.calls)
        if self.streams and not complete:
            return []
        t = times[last.chain]
        end = attrs.evolve(
            last,
            causes=last.causes | self.all_causes,
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
