"""An episode as a plan: each recorded server frame as a planned message, with what must have
happened before it is sent, and the requests that overlapped it.

These are values, which never change; `plan.builder` makes them. `playback.matcher` finds which
recorded client event a live message stands for; `playback.schedule` releases messages when their
causes have happened.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import attrs
from msgspec import Struct, field, structs
from msgspec.structs import replace

from mcpmock.cassette.model import Episode
from mcpmock.protocol.messages import ExchangeEnd, Frame, HttpRequest, Request, Response


# A stretch and no list: of 50,000 calls that were open together, every answer would have a list of
# up to 50,000.
class Overlaps(Struct, frozen=True, gc=False):
    """The client events with requests whose ranks are from `start` to `stop`
    (`ReplayPlan.request_ranks`), and `others`.
    """

    start: int = 0
    stop: int = 0
    others: tuple[int, ...] = ()


NO_OVERLAPS = Overlaps()


@attrs.define(eq=False, repr=False)
class OverlapFinder:
    """The requests of an episode, as far as they have arrived."""

    ranks: dict[int, int] = attrs.field(factory=dict)
    """In which place, by arrival, each client event with requests came."""
    _latest: int = -1
    _disordered_until: int = -1

    def add(self, event: int) -> None:
        """Add a client event with requests. Its number is that of the body, which may have been
        recorded after the next request.
        """
        if event < self._latest:
            self._disordered_until = self._latest
        self._latest = max(self._latest, event)
        self.ranks[event] = len(self.ranks)

    def all(self) -> Overlaps:
        """Return all requests so far."""
        return Overlaps(0, len(self.ranks))

    def after(self, event: int) -> Overlaps:
        """Return the requests so far that were recorded after this one."""
        if event > self._disordered_until:
            start, stop = self.ranks[event] + 1, len(self.ranks)
            return Overlaps(start, stop) if start < stop else NO_OVERLAPS
        return Overlaps(others=tuple(sorted(other for other in self.ranks if other > event)))


AGREED_VERSION_PATH = ("result", "protocolVersion")
"""Where the answer to `initialize` has the revision."""
NEVER = -1
"""The index of a client event that never happens: what waits for it is never sent."""


# Structs, because one or two are made for every recorded message: a frozen attrs class sets each
# field by object.__setattr__, and the collector would visit each of them.
class ClientEvent(Struct, frozen=True, gc=False):
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


@attrs.define(eq=False, repr=False)
class Times:
    """When things happened in the recording, in microseconds."""

    of_event_us: dict[int, int] = attrs.field(factory=dict)
    """By client event."""
    of_chain_us: dict[int | None, int] = attrs.field(factory=dict)
    """When the latest message of each chain was sent."""

    def gap_s(self, causes: Iterable[int], chain: int | None, t_us: int) -> float:
        """Return the seconds between the last thing that a message sent at `t_us` waited for and
        itself.
        """
        before = self.of_chain_us.get(chain, 0)
        for cause in causes:
            before = max(before, self.of_event_us.get(cause, 0))
        self.of_chain_us[chain] = max(t_us, before)
        return max(t_us - before, 0) / 1_000_000


class LiveValue(Struct, frozen=True, gc=False):
    """A value in a server frame that follows the live client: at `path`, in member `item` of a
    batch (None: no batch).

    It is the `id` or the `token` of client request number `call`; at AGREED_VERSION_PATH it is the
    revision of the live session.
    """

    call: int
    path: tuple[str, ...]
    token: bool = False
    item: int | None = None


class PlannedMessage(Struct, frozen=True, gc=False):
    """A recorded server frame. `index` is the index of its event in the episode, and so its rank.

    `causes` are the indices of the client events that must have happened; `overlaps` those of
    requests that arrived before this answer in the recording: the answer waits for them for a
    limited time. `gap_s` is the time between the last cause and the message. `calls` are
    the client requests it belongs to; `answers` is True if it answers them.
    """

    index: int
    frame: Frame
    causes: frozenset[int]
    calls: tuple[int, ...] = ()
    answers: bool = False
    overlaps: Overlaps = NO_OVERLAPS
    live_values: tuple[LiveValue, ...] = ()
    gap_s: float = 0.0
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


class ReplayPlan(Struct, frozen=True, eq=False, dict=True):
    """The messages of an episode in recorded order, and its client events by index."""

    episode: Episode
    messages: Sequence[PlannedMessage]
    client_events: Mapping[int, ClientEvent]
    """In their order."""
    replies: Mapping[bytes, Sequence[int]]
    """The client events that answer the server's requests, by the id of the request as it was
    written.
    """
    cancels: Mapping[int, Sequence[int]]
    """The client events that cancel a call, by its number."""
    streams: Mapping[str, int] = field(default_factory=dict)
    """By the ids of server-sent events, the exchanges on which their streams began."""
    session_ids: frozenset[str] = frozenset()
    """The ids that the server gave the session, or their placeholders."""
    request_ranks: Mapping[int, int] = field(default_factory=dict)
    """In which place, by arrival, each client event with requests came; in that order."""

    @cached_property
    def by_call(self) -> Mapping[int, Sequence[int]]:
        """The messages (by their place in `messages`) that belong to a call."""
        return _places(planned.calls for planned in self.messages)

    @cached_property
    def by_cause(self) -> Mapping[int, Sequence[int]]:
        """Which messages (by their place in `messages`) wait for a client event."""
        return _places(planned.causes for planned in self.messages)

    @cached_property
    def by_exchange(self) -> Mapping[int, Sequence[int]]:
        """The messages (by their place in `messages`) that an exchange carries."""
        return _places(
            () if planned.exchange is None else (planned.exchange,) for planned in self.messages
        )

    @cached_property
    def in_order(self) -> Sequence[int]:
        """The client events to which `strict` order applies."""
        return [index for index, event in self.client_events.items() if event.in_order]

    def excerpt(self, event: int) -> ReplayPlan:
        """Return the part of the plan that belongs to one client event, its requests and its
        exchange: for repeating the answers.
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
            kept.append(replace(planned, causes=causes, overlaps=NO_OVERLAPS))
        client = {index: self.client_events[index] for index in sorted(inside)}
        return structs.replace(self, messages=kept, client_events=client)

    def answers(self, event: ClientEvent) -> tuple[bytes | None, ...]:
        """Return the recorded results or errors of the requests of a client event."""
        places = [place for call in event.calls for place in self.by_call.get(call, ())]
        contents = (self.messages[place].frame.content for place in sorted(places))
        return tuple(one.result or one.error for one in contents if isinstance(one, Response))

    def _carried_for(self, events: Iterable[int]) -> set[int]:
        """Return the messages on the exchanges of these client events."""
        exchanges = (self.client_events[index].frame.exchange for index in events)
        return {place for x in exchanges if x is not None for place in self.by_exchange.get(x, ())}

    def _replies_to(self, planned: PlannedMessage) -> Sequence[int]:
        content = planned.frame.content
        return self.replies.get(content.id, ()) if isinstance(content, Request) else ()


def _places(named: Iterable[Iterable[int]]) -> Mapping[int, Sequence[int]]:
    """Return, for each number, the places at which it is named."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for place, numbers in enumerate(named):
        for number in numbers:
            found[number].append(place)
    return dict(found)
