"""A cassette as the conversations in it: calls, each with what belongs to it, and what belongs to
none.

Works on bare messages (`bare`), so that the transport of a recording does not count; what HTTP adds
is kept where it means something: the status that an exchange was answered with. What belongs to a
call by an id, a token or its own stream belongs to it surely; what came while it was the only one
open belongs to it by guess. `pairing` holds conversations against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property

import attrs
from msgspec import UNSET

from mcpmock.cassette.model import Cassette, Event, Take
from mcpmock.playback.plan.flatten_http import bare
from mcpmock.protocol.correlation import CANCELLED, Attribution, Correlation
from mcpmock.protocol.messages import (
    C2S,
    Frame,
    HttpResponse,
    Message,
    Notification,
    Opaque,
    ProcessExit,
    Request,
    Response,
    StreamEnd,
    parse_items,
)
from mcpmock.protocol.transport_facts import NO_SESSION

from .message import DiffMessage, Said, swept
from .severity import Where

_KILLED = {1, 2, 9, 15}
"""Signals that say more of who sent them than of the server."""
_SHELL_SIGNAL = 128
Count = Callable[[int], None]
"""Is told how many events were read, now and then."""
_EVERY = 1000
_Stream = tuple[int | None, int | None]
"""A caller, and the exchange on which it is answered, None where there is one stream for all."""


@attrs.define(eq=False)
class RecordedConversation:
    """One session of one take."""

    number: int
    """Of its take, from 1."""
    transport: str
    """What the take was recorded over."""
    calls: list[DiffMessage] = attrs.field(factory=list)
    """What the client asked."""
    loose: list[DiffMessage] = attrs.field(factory=list)
    """What belongs to no call, of both sides."""
    noise: list[DiffMessage] = attrs.field(factory=list)
    """What is no message."""
    statuses: dict[int, tuple[str, int]] = attrs.field(factory=dict)
    """By exchange, the verb of the request and the status it was answered with."""
    failure: str | None = None
    """How the server ended, if it ended by itself, with an error."""
    failed_at: Where | None = None

    @cached_property
    def keys(self) -> tuple[tuple[str, bytes], ...]:
        """What was asked, in order."""
        return tuple((call.method, call.key) for call in self.calls)


def conversations(
    cassette: Cassette, *, one_session: bool, count: Count | None = None
) -> list[RecordedConversation]:
    """All conversations, in the order they began. With `one_session` exchanges that belong to no
    session are part of each session of their take (`bare`).
    """
    found = []
    flat = bare(cassette, one_session=one_session)
    for number, (take, told) in enumerate(zip(cassette.takes, flat.takes, strict=True), 1):
        readers: dict[int, _Reader] = {}
        transport = take.transport
        for done, event in enumerate(told.events):
            reader = readers.get(event.s)
            if reader is None:
                reader = readers[event.s] = _Reader(RecordedConversation(number, transport))
            reader.read(event)
            if count is not None and not done % _EVERY:
                count(min(_EVERY, len(told.events) - done))
        for s, verb, x, status in _statuses(take):
            if s in readers:
                readers[s].conversation.statuses[x] = verb, status
        left = {event.x for event in take.events if event.end is not UNSET and event.d == "c2s"}
        found += [reader.finish(left) for reader in readers.values()]
    return found


def _statuses(take: Take) -> Iterator[tuple[int, str, int, int]]:
    """Of each exchange the session, the verb, its number and the status."""
    verbs: dict[int, str] = {}
    for event in take.events:
        if event.x is None or event.http is UNSET:
            continue
        if event.d == "c2s":
            verbs[event.x] = str(event.http.get("method", ""))
            continue
        frame = event.frame
        if frame is not None and isinstance(frame.fact, HttpResponse) and event.x in verbs:
            yield event.s, verbs[event.x], event.x, frame.fact.status


@attrs.define
class _Reader:
    conversation: RecordedConversation
    _sessions: dict[int | None, Correlation] = attrs.field(factory=dict)
    _open: dict[_Stream, dict[int, DiffMessage]] = attrs.field(factory=dict)
    """The client's requests that are open, by where their answers come and by their ranks."""
    _requests: list[DiffMessage] = attrs.field(factory=list)
    """All requests of both sides."""
    _rank: int = 0
    _left: bool = False

    def read(self, event: Event) -> None:
        frame = event.frame
        if frame is None:
            return
        if frame.fact is not None:
            self._fact(event, frame)
            return
        for message, raw in _messages(frame):
            self._rank += 1
            self._message(event, frame, message, raw)

    def finish(self, left: Collection[int | None]) -> RecordedConversation:
        """The conversation; `left` are the exchanges that the client ended."""
        for call in self.conversation.calls:
            gone = call.exchange is not None and call.exchange in left
            call.given_up = call.given_up or (gone and not call.answers)
        self.conversation.calls = swept(self.conversation.calls)
        return self.conversation

    def _fact(self, event: Event, frame: Frame) -> None:
        if isinstance(frame.fact, StreamEnd) and frame.direction is C2S:
            self._left = True
        elif isinstance(frame.fact, ProcessExit) and not self._left:
            code, signal = frame.fact.code, frame.fact.signal
            if signal is not None and signal not in _KILLED:
                self.conversation.failure = f"signal {signal}"
            elif code and code < _SHELL_SIGNAL:
                self.conversation.failure = f"exit {code}"
            else:
                return
            self.conversation.failed_at = self._where(event)

    def _message(self, event: Event, frame: Frame, message: Said, raw: bytes) -> None:
        # Without a session each exchange is another caller's.
        caller = event.x if event.s == NO_SESSION else None
        session = self._sessions.setdefault(caller, Correlation())
        note = session.note(frame.direction, message, len(self._requests))
        saying = DiffMessage(
            where=self._where(event),
            rank=self._rank,
            direction=frame.direction,
            message=message,
            raw=raw,
            method=note.method or "",
            exchange=event.x,
        )
        if isinstance(message, Request):
            self._requests.append(saying)
        owner = self._owner(note)
        match message:
            case Opaque():
                self.conversation.noise.append(saying)
            case Response() if owner is not None:
                saying.sure = True
                owner.answers.append(saying)
                self._close(caller, owner)
            case Request() if frame.direction is C2S:
                self.conversation.calls.append(saying)
                calls = self._open.setdefault(self._stream(caller, saying), {})
                calls[saying.rank] = saying
            case _:
                owner = None if isinstance(message, Request) else owner
                self._place(saying, caller, owner)
                if saying.method == CANCELLED and owner is not None:
                    owner.given_up = True
                    self._close(caller, owner)

    def _place(self, saying: DiffMessage, caller: int | None, owner: DiffMessage | None) -> None:
        """Where something belongs that is neither asked by the client nor an answer."""
        if owner is not None and owner.direction is C2S:
            saying.sure = True
            owner.within.append(saying)
            return
        guessed = self._guess(saying, caller)
        if guessed is None:
            self.conversation.loose.append(saying)
        else:
            guessed.within.append(saying)

    def _guess(self, saying: DiffMessage, caller: int | None) -> DiffMessage | None:
        """The one call that is open; on an event stream of its own the one of its exchange."""
        stream = self._stream(caller, saying)
        calls = self._open.get(stream, {})
        if saying.direction is C2S or len(calls) != 1:
            return None
        saying.sure = stream[1] is not None
        return next(iter(calls.values()))

    def _stream(self, caller: int | None, saying: DiffMessage) -> _Stream:
        return caller, None if self.conversation.transport == "sse" else saying.exchange

    def _owner(self, note: Attribution) -> DiffMessage | None:
        """The request that it belongs to by what it says."""
        return None if note.call is None else self._requests[note.call.index]

    def _close(self, caller: int | None, owner: DiffMessage) -> None:
        self._open.get(self._stream(caller, owner), {}).pop(owner.rank, None)

    def _where(self, event: Event) -> Where:
        return Where(self.conversation.number, event.n)


def _messages(frame: Frame) -> Iterable[tuple[Said, bytes]]:
    """The message, or those in a batch: how they were packed does not count."""
    content = frame.content
    if isinstance(content, Request | Notification | Response | Opaque):
        return [(content, frame.raw)]
    items: Iterable[Message] = parse_items(frame.raw)
    kept = (item for item in items if isinstance(item, Request | Notification | Response | Opaque))
    return [(item, b"") for item in kept]
