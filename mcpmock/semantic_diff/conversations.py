"""Reads the conversations of a cassette: calls, each with the messages that belong to it, and the
messages that belong to none.

Reads messages without their HTTP exchanges (`plan.steps`), because a diff ignores the transport; of
HTTP it keeps only the status of each exchange. A message certainly belongs to a call if it names
the call or came on its stream, and presumably if the call was the only open one
(`Correlation.related`). `pairing` finds the counterparts of conversations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property

import attrs
from msgspec import UNSET

from mcpmock.cassette.model import Cassette, Event, has_exchanges
from mcpmock.playback.plan.steps import bare
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import CANCELLED, Correlation, id_space

from .message import DiffMessage, SingleMessage, join_pages, with_message
from .severity import EventLocation

_KILL_SIGNALS = {1, 2, 9, 15}
"""HUP, INT, KILL, TERM: sent from outside, so not a failure of the server."""
_FIRST_SIGNAL_STATUS = 128
"""A shell reports a signal as an exit status from here on."""
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

    number: int
    """The number of its take, from 1."""
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
    failure: str | None = None
    """How the server ended by itself with an error (`exit 1`), if it did."""
    failed_at: EventLocation | None = None

    @cached_property
    def keys(self) -> tuple[tuple[str, bytes], ...]:
        """The methods and parameters of the calls, in order."""
        return tuple((call.method, call.bare_key) for call in self.calls)


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
        for done, event in enumerate(flat_take.events):
            reader = readers.get(event.s)
            if reader is None:
                reader = readers[event.s] = _Reader(RecordedConversation(number, transport))
            reader.read(event)
            if count is not None and not done % _EVENTS_PER_COUNT:
                count(min(_EVENTS_PER_COUNT, len(flat_take.events) - done))
        exchanges = take.events if has_exchanges(take.events) else ()
        for s, verb, x, status in _statuses(exchanges):
            if s in readers:
                readers[s].conversation.statuses[x] = verb, status
        left = {event.x for event in exchanges if event.end is not UNSET and event.d == "c2s"}
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
class _Reader:
    conversation: RecordedConversation
    _sessions: defaultdict[tuple[int, int | None], Correlation] = attrs.field(
        factory=lambda: defaultdict(Correlation)
    )
    _requests: list[DiffMessage] = attrs.field(factory=list)
    """All requests of both sides."""
    _rank: int = 0
    _left: bool = False
    _signalled: int | None = None
    """Behind which message the client sent the server's process a signal that may end it."""

    def read(self, event: Event) -> None:
        frame = event.frame
        if frame is None:
            return
        if frame.fact is not None:
            self._read_fact(event, frame)
            return
        for message, raw in _messages(frame):
            self._rank += 1
            self._read_message(event, frame, message, raw)

    def finish(self, left: Collection[int | None]) -> RecordedConversation:
        """Return the conversation; `left` are the exchanges that the client ended."""
        for call in self.conversation.calls:
            gone = call.exchange is not None and call.exchange in left
            call.abandoned = call.abandoned or (gone and not call.answers)
        self.conversation.calls = join_pages(self.conversation.calls)
        return self.conversation

    def _read_fact(self, event: Event, frame: m.Frame) -> None:
        if isinstance(frame.fact, m.StopSignal):
            self._signalled = self._rank
        elif isinstance(frame.fact, m.StreamEnd) and frame.direction is m.C2S:
            self._left = True
        elif isinstance(frame.fact, m.ProcessExit) and not self._left and self._signalled is None:
            code, signal = frame.fact.code, frame.fact.signal
            if signal is not None and signal not in _KILL_SIGNALS:
                self.conversation.failure = f"signal {signal}"
            elif code and code < _FIRST_SIGNAL_STATUS:
                self.conversation.failure = f"exit {code}"
            else:
                return
            self.conversation.failed_at = self._where(event)

    def _read_message(
        self, event: Event, frame: m.Frame, message: SingleMessage, raw: bytes
    ) -> None:
        calls = self._sessions[id_space(event.s, event.x)]
        note = calls.note(frame.direction, message, len(self._requests), event.x)
        one = DiffMessage(
            where=self._where(event),
            rank=self._rank,
            direction=frame.direction,
            message=message,
            raw=raw if isinstance(message, m.Opaque) else b"",
            method=note.method or _SUBSTITUTE_METHODS.get(type(message), "(empty)"),
            exchange=event.x,
        )
        if isinstance(message, m.Opaque):
            self.conversation.noise.append(one)
            return
        if isinstance(message, m.Request):
            self._requests.append(one)
            if frame.direction is m.C2S:
                self.conversation.calls.append(one)
                return
        named = None if note.call is None else self._requests[note.call.index]
        if isinstance(message, m.Response) and named is not None:
            one.sure = True
            named.answers = with_message(named.answers, one)
            if self._signalled is not None and named.rank > self._signalled:
                self._signalled = None  # the server goes on
            return
        if one.method == CANCELLED:
            # Cancellation: it "MUST only reference requests that ... are believed to still be
            # in-progress", and some clients send one behind each answer. It changes nothing.
            if named is None or named.answers:
                return
            named.abandoned = True
        one_stream = event.x is None or self.conversation.transport == "sse"
        call = (
            note.call
            if frame.direction is m.C2S
            else calls.related(message, note, event.x, guess=one_stream)
        )
        if call is None or call.direction is not m.C2S:
            self.conversation.unrelated.append(one)
            return
        one.sure = call is note.call or (call.exchange == event.x is not None)
        owner = self._requests[call.index]
        owner.within = with_message(owner.within, one)

    def _where(self, event: Event) -> EventLocation:
        return EventLocation(self.conversation.number, event.n)


def _messages(frame: m.Frame) -> Iterable[tuple[SingleMessage, bytes]]:
    """Return the message, or the members of a batch: a diff ignores the packing."""
    content = frame.content
    if isinstance(content, (m.Request, m.Notification, m.Response, m.Opaque)):
        return [(content, frame.raw)]
    items: Iterable[m.Message] = m.parse_items(frame.raw)
    kept = (
        item
        for item in items
        if isinstance(item, (m.Request, m.Notification, m.Response, m.Opaque))
    )
    return [(item, b"") for item in kept]
