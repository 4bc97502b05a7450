"""An episode as a plan: each recorded server frame as a planned message, with what must have
happened before it is sent.

These are the values; `plan.builder` makes them. `playback.matcher` finds which recorded client
event a live message stands for; `playback.schedule` releases messages when their causes have
happened.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import attrs

from mcpmock.cassette.model import Episode
from mcpmock.protocol.correlation import PendingCall
from mcpmock.protocol.messages import ExchangeEnd, Frame, HttpRequest, Request

NEVER = -1
"""The index of a client event that never happens: what waits for it is never sent."""


@attrs.frozen
class ClientEvent:
    """A message of the recorded client. `calls` are the numbers of the requests in it (a batch has
    several).

    Over HTTP it is a whole request: `frame` is its body, or its head if it has no body. `status` is
    the status of the response.
    """

    index: int
    frame: Frame
    calls: tuple[int, ...] = ()
    head: HttpRequest | None = None
    status: int | None = None

    @property
    def in_order(self) -> bool:
        """Whether `strict` order applies to it. Clients open streams at any time."""
        return not isinstance(self.frame.fact, HttpRequest)


@attrs.frozen
class RecordedCall:
    """A recorded client request: `event` is the index of the client event it came in."""

    event: int
    call: PendingCall


@attrs.frozen
class LiveValue:
    """A value in a server frame that follows the live client: at `path`, in member `item` of a
    batch (None: no batch).

    It is the `id` or the `token` of client request number `call`.
    """

    call: int
    path: tuple[str, ...]
    token: bool = False
    item: int | None = None


@attrs.frozen
class PlannedMessage:
    """A recorded server frame. `index` is the index of its event in the episode, and so its rank.

    `causes` are the indices of the client events that must have happened; `overlaps` those of
    requests that arrived before this answer in the recording: the answer waits for them for a
    limited time. `gap` is the time in seconds between the last cause and the message. `calls` are
    the client requests it belongs to; `answers` is True if it answers them.
    """

    index: int
    frame: Frame
    causes: frozenset[int]
    calls: tuple[int, ...] = ()
    answers: bool = False
    overlaps: tuple[int, ...] = ()
    live_values: tuple[LiveValue, ...] = ()
    gap: float = 0.0
    chain: int | None = None
    """Messages of one chain are paced one after the other: those of one call, of one exchange
    without calls (below 0), of no exchange (None), or (strict) all messages.
    """
    meta: Frame | None = None
    """The other fields of the server-sent event whose data the frame is; sent directly before it.
    """
    exchange: int | None = None
    """The recorded exchange that carries it."""
    is_progress: bool = False
    """A progress notification: an answer of the same chain must not follow it at once."""
    made_up: bool = False
    """The end of a response that the recording lacks because the client left first. It is delayed
    so that a live client can leave first too.
    """

    @property
    def is_http_detail(self) -> bool:
        """Whether only HTTP needs it: heads, ends, and the empty events that open streams."""
        return self.exchange is not None and (self.frame.fact is not None or not self.frame.raw)


@attrs.frozen
class ReplayPlan:
    """The messages of an episode in recorded order, and its client events by index."""

    episode: Episode
    messages: tuple[PlannedMessage, ...]
    client_events: dict[int, ClientEvent]
    calls: tuple[RecordedCall, ...]
    replies: dict[bytes, tuple[int, ...]]
    """The client events that answer the server's requests, by the id of the request as it was
    written.
    """

    cancels: dict[int, tuple[int, ...]]
    """The client events that cancel a call, by its number."""
    streams: dict[str, int] = attrs.field(factory=dict)
    """By the ids of server-sent events, the exchanges on which their streams began."""
    session_ids: frozenset[str] = frozenset()
    """The ids that the server gave the session, or their placeholders."""

    @cached_property
    def by_call(self) -> dict[int, list[int]]:
        """The messages (by their place in `messages`) that belong to a call."""
        return _index_by(planned.calls for planned in self.messages)

    @cached_property
    def by_cause(self) -> dict[int, list[int]]:
        """Which messages (by their place in `messages`) wait for a client event."""
        return _index_by(planned.causes for planned in self.messages)

    @cached_property
    def by_exchange(self) -> dict[int, list[int]]:
        """The messages (by their place in `messages`) that an exchange carries."""
        exchanges = (planned.exchange for planned in self.messages)
        return _index_by(() if x is None else (x,) for x in exchanges)

    def excerpt(self, event: int) -> ReplayPlan:
        """The part of the plan that belongs to one client event, its requests and its exchange: for
        repeating the answers.
        """
        calls = self.client_events[event].calls
        places = {place for call in calls for place in self.by_call.get(call, ())}
        places |= self._carried_for([event])
        messages = [self.messages[place] for place in sorted(places)]
        replies = {index for planned in messages for index in self._replies_to(planned)}
        inside = {event}.union(replies, *(planned.causes for planned in messages))
        inside -= {index for index in inside if index < event}
        places |= self._carried_for(replies & inside)
        messages = [self.messages[place] for place in sorted(places)]
        own = {event, *replies}.union(*(self.cancels.get(call, ()) for call in calls))
        kept = []
        for planned in messages:
            # What other calls sent on this response does not come: its end does not wait for that.
            is_end = calls and isinstance(planned.frame.fact, ExchangeEnd)
            causes = planned.causes & (inside & own if is_end else inside)
            kept.append(attrs.evolve(planned, causes=causes, overlaps=()))
        client = {index: self.client_events[index] for index in inside}
        return attrs.evolve(self, messages=tuple(kept), client_events=client)

    def _carried_for(self, events: Iterable[int]) -> set[int]:
        """The messages on the exchanges of these client events."""
        exchanges = (self.client_events[index].frame.exchange for index in events)
        return {place for x in exchanges if x is not None for place in self.by_exchange.get(x, ())}

    def _replies_to(self, planned: PlannedMessage) -> tuple[int, ...]:
        content = planned.frame.content
        return self.replies.get(content.id, ()) if isinstance(content, Request) else ()


def _index_by(keys: Iterable[Iterable[int]]) -> dict[int, list[int]]:
    """The places of the items that have a key, by key."""
    found: dict[int, list[int]] = {}
    for place, mine in enumerate(keys):
        for key in mine:
            found.setdefault(key, []).append(place)
    return found
