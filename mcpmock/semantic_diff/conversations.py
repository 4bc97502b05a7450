"""Reads the conversations of a cassette: calls, each with the messages that belong to it, and the
messages that belong to none.

Reads messages without their HTTP exchanges (`plan.steps`), because a diff ignores the transport; of
HTTP it keeps only the status of each exchange. A message certainly belongs to a call if it names
the call or came on its stream, and presumably if the call was the only open one
(`Correlation.related`). `pairing` finds the counterparts of conversations.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property

import attrs
from msgspec import UNSET

from mcpmock.cassette.model import Cassette, Event, has_exchanges
from mcpmock.playback.plan.steps import bare
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import CANCELLED, Correlation, id_space

from .message import (
    DiffMessage,
    SessionMessages,
    SingleMessage,
    join_pages,
    messages_in,
    with_one_more,
)
from .normalize import ComparedKeys
from .severity import EventLocation

Count = Callable[[int], None]
"""Progress callback: how many more events were read."""
_EVENTS_PER_COUNT = 1000
_SUBSTITUTE_METHODS: dict[type, str] = {m.Opaque: "output", m.Response: "response"}
"""The methods, in reports and in rules, of output that is not a message, and of a response to an
unknown request.
"""


@attrs.define(eq=False)
class RecordedConversation:
    """One session of one take."""

    messages: SessionMessages
    transport: str
    """The transport of the take."""
    calls: list[DiffMessage] = attrs.field(factory=list)
    """The requests of the client."""
    unrelated: list[DiffMessage] = attrs.field(factory=list)
    """Messages of both sides that belong to no call."""
    noise: list[DiffMessage] = attrs.field(factory=list)
    """Output that is not a message."""
    statuses: dict[int, tuple[str, int]] = attrs.field(factory=dict)
    """By exchange, the verb of the request and the status of the response."""
    at_opening: set[int] = attrs.field(factory=set)
    """The numbers of the events that came as a GET stream opened (`_OpeningStreams`)."""
    failure: str | None = None
    """How the server ended by itself with an error (`exit 1`), if it did."""
    failed_at: EventLocation | None = None

    @cached_property
    def keys(self) -> tuple[bytes, ...]:
        """The keys of the calls, in order."""
        return tuple(call.bare_key for call in self.calls)


def read_conversations(
    cassette: Cassette, *, one_session: bool, count: Count | None = None
) -> list[RecordedConversation]:
    """Return all conversations, in the order they began. With `one_session` exchanges that belong
    to no session are part of each session of their take (`bare`).
    """
    found = []
    flat = bare(cassette, one_session=one_session)
    for number, (take, flat_take) in enumerate(zip(cassette.takes, flat.takes, strict=True), 1):
        readers: dict[int, _Reader] = {}
        transport = take.transport
        events = flat_take.events
        for place, event in enumerate(events):
            reader = readers.get(event.s)
            if reader is None:
                messages = SessionMessages(number, events)
                reader = readers[event.s] = _Reader(RecordedConversation(messages, transport))
            reader.read(event, place)
            if count is not None and not place % _EVENTS_PER_COUNT:
                count(min(_EVENTS_PER_COUNT, len(events) - place))
        exchanges = take.events if has_exchanges(take.events) else ()
        for s, verb, x, status in _statuses(exchanges):
            if s in readers:
                readers[s].conversation.statuses[x] = verb, status
        opening: defaultdict[int, _OpeningStreams] = defaultdict(_OpeningStreams)
        for event in exchanges:
            if event.s in readers and opening[event.s].note(event):
                readers[event.s].conversation.at_opening.add(event.n)
        ends = (event for event in exchanges if event.end is not UNSET and event.d == "c2s")
        left = {event.x for event in ends if event.x is not None}
        found += [reader.finish(left) for reader in readers.values()]
    return found


def _statuses(events: Iterable[Event]) -> Iterator[tuple[int, str, int, int]]:
    """Yield the session, verb, number and status of each exchange."""
    verbs: dict[int, str] = {}
    for event in events:
        if event.x is None or event.http is UNSET:
            continue
        if event.d == "c2s":
            verbs[event.x] = str(event.http.get("method", ""))
            continue
        frame = event.frame
        if frame is not None and isinstance(frame.fact, m.HttpResponse) and event.x in verbs:
            yield event.s, verbs[event.x], event.x, frame.fact.status


@attrs.define
class _OpeningStreams:
    """The GET streams of a session that opened while the server handled a POST."""

    _posts: set[int] = attrs.field(factory=set)
    """The POST requests without a response."""
    _asked: dict[int, bool] = attrs.field(factory=dict)
    """The GET requests without a response: whether a POST was open meanwhile."""
    _opened: set[int] = attrs.field(factory=set)
    """Those with a response, until the client sends its next request."""

    def note(self, event: Event) -> bool:
        """Note the next event of the session; return whether it came on such a stream before the
        client sent anything more.
        """
        x = event.x
        if x is None:
            return False
        if event.http is UNSET:
            return event.d == "s2c" and x in self._opened
        if event.d == "s2c":
            self._posts.discard(x)
            if self._asked.pop(x, False):
                self._opened.add(x)
            return False
        self._opened.clear()
        if event.http.get("method") == "GET":
            self._asked[x] = bool(self._posts)
        else:
            self._posts.add(x)
            self._asked = dict.fromkeys(self._asked, True)
        return False


@attrs.define
class _Reader:
    conversation: RecordedConversation
    _sessions: defaultdict[tuple[int, int | None], Correlation] = attrs.field(
        factory=lambda: defaultdict(Correlation)
    )
    _requests: list[DiffMessage] = attrs.field(factory=list)
    """All requests of both sides."""
    _first_to_end: m.Direction | None = None
    """The side whose messages ended first."""
    _signalled: int | None = None
    """Before which message the client sent the server's process a signal that may end it."""

    def read(self, event: Event, place: int) -> None:
        """Read the next event of the session; `place` is where it stands in the take."""
        frame = event.frame
        if frame is None:
            return
        if frame.fact is not None:
            self._read_fact(event, frame)
            return
        for message, raw in messages_in(frame):
            rank = self.conversation.messages.add(place, message, raw)
            self._read_message(event.s, frame, message, rank)

    def finish(self, left: Collection[int]) -> RecordedConversation:
        """Return the conversation; `left` are the exchanges that the client ended."""
        for call in self.conversation.calls:
            if call.exchange in left and not call.answer_ranks:
                call.abandoned = True
        self.conversation.calls = join_pages(self.conversation.calls)
        return self.conversation

    def _read_fact(self, event: Event, frame: m.Frame) -> None:
        if isinstance(frame.fact, m.StopSignal):
            self._signalled = len(self.conversation.messages)
        elif isinstance(frame.fact, m.StreamEnd):
            self._first_to_end = self._first_to_end or frame.direction
        elif isinstance(frame.fact, m.ProcessExit) and self._signalled is None:
            code, signal = frame.fact.code, frame.fact.signal
            if frame.fact.failed and self._first_to_end is not m.C2S:
                how = f"exit {code}" if signal is None else f"signal {signal}"
                self.conversation.failure = how
                take = self.conversation.messages.take
                self.conversation.failed_at = EventLocation(take, event.n)

    def _read_message(
        self, session: int, frame: m.Frame, message: SingleMessage, rank: int
    ) -> None:
        exchange = frame.exchange
        calls = self._sessions[id_space(session, exchange)]
        note = calls.note(frame.direction, message, len(self._requests), exchange)
        if isinstance(message, m.Response) and note.call is not None:
            answered = self._requests[note.call.index]
            answered.answer_ranks = with_one_more(answered.answer_ranks, rank)
            if self._signalled is not None and answered.rank >= self._signalled:
                self._signalled = None  # the server goes on
            return
        method = note.method or _SUBSTITUTE_METHODS.get(type(message), "(empty)")
        one = DiffMessage(
            messages=self.conversation.messages,
            rank=rank,
            direction=frame.direction,
            kind=type(message),
            method=sys.intern(method),
            exchange=exchange,
        )
        if isinstance(message, m.Opaque):
            self.conversation.noise.append(one)
            return
        if isinstance(message, m.Request):
            self._requests.append(one)
            if frame.direction is m.C2S:
                one.keys = ComparedKeys.of_request(message)
                self.conversation.calls.append(one)
                return
        named = None if note.call is None else self._requests[note.call.index]
        if one.method == CANCELLED:
            # Cancellation: it "MUST only reference requests that ... are believed to still be
            # in-progress", and some clients send one behind each answer. It changes nothing.
            if named is None or named.answer_ranks:
                return
            named.abandoned = True
        one_stream = exchange is None or self.conversation.transport == "sse"
        call = (
            note.call
            if frame.direction is m.C2S
            else calls.related(message, note, exchange, guess=one_stream)
        )
        if call is None or call.direction is not m.C2S:
            self.conversation.unrelated.append(one)
            return
        one.sure = call is note.call or (call.exchange == exchange is not None)
        owner = self._requests[call.index]
        owner.within = with_one_more(owner.within, one)
