"""A client that lost its connection takes up an event stream where it was: `Last-Event-ID`.

A stage directly behind the listener (or the recorder), in front of whatever makes the streams.
Servers keep the events of a stream for a while and give the rest of them to a GET that names the
last one the client saw; what stands behind this stage need not know of it. That a client left a
stream that can be resumed is not passed on, for it may come back. The other side is in
`client`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import attrs

from mcpmock.pipeline.stage import PASS, Action, Send, Stage
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import (
    S2C,
    ExchangeEnd,
    Fragment,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    SseMeta,
)
from mcpmock.protocol.revisions import is_modern
from mcpmock.protocol.transport_facts import LAST_EVENT_ID_HEADER, PROTOCOL_VERSION_HEADER

MAX_EVENTS, MAX_BYTES = 1000, 4 << 20
"""What is remembered of one conversation; beyond, its oldest events are forgotten."""


@attrs.define(eq=False)
class _Stream:
    """The event stream that a response is. `client` is the exchange it goes to now: its own, that
    of the GET that resumed it, or None while its client is away.
    """

    client: int | None
    head: HttpResponse
    resumable: bool = False
    """It has had an event with an id."""
    over: bool = False
    newest: _Event | None = None


@attrs.define(eq=False)
class _Event:
    stream: _Stream
    sent: bool
    """It went to a client, who may have seen it or not."""
    id: str | None = None
    frames: list[Frame] = attrs.field(factory=list)
    size: int = 0
    forgotten: bool = False

    @property
    def to_come(self) -> bool:
        """To be sent to who asks for what came behind an earlier event. What has no id was lost if
        it was: an event without an id cannot be named by a client.
        """
        return self.id is not None or not self.sent

    @property
    def whole(self) -> bool:
        """It has its data: whatever comes now is the next event."""
        last = self.frames[-1].fact
        return last is None or (isinstance(last, Fragment) and last.last)


@attrs.define
class Resumption(Stage):
    """Remembers the events of event streams, and gives the rest of one to who asks for it."""

    most: int = MAX_EVENTS
    most_bytes: int = MAX_BYTES
    _streams: dict[int, _Stream] = attrs.field(factory=dict)
    """By the exchange of the response, while that is open."""
    _resumed: dict[int, _Stream] = attrs.field(factory=dict)
    """By the exchange of the GET that is answered here."""
    _events: deque[_Event] = attrs.field(factory=deque)
    _size: int = 0
    _modern: set[int] = attrs.field(factory=set)
    _asked: dict[int, str] = attrs.field(factory=dict)
    """The event after which a GET that was passed on wants to have more."""

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        back: list[Frame] = []
        if seen[0].direction is S2C:
            heard = map(self._hear_server, seen)
            on = [frame for frame in heard if frame is not None]
        else:
            on = [frame for frame in seen if self._hear_client(frame, back)]
        return (Send(back), Send(on)) if back or on != seen else PASS

    def _hear_server(self, frame: Frame) -> Frame | None:
        x, fact = frame.exchange, frame.fact
        if x is None:
            return frame
        if isinstance(fact, HttpResponse) and x not in self._modern:
            id_ = self._asked.pop(x, None)
            if fact.status == 200 and fact.media_type == EVENT_STREAM:
                begun = self._streams[x] = _Stream(x, fact, resumable=id_ is not None)
                if id_ is not None:  # who asks for the same again did not get what comes here
                    self._events.append(_Event(begun, sent=True, id=id_))
            return frame
        stream = self._streams.get(x)
        if stream is None:
            if isinstance(fact, ExchangeEnd):
                self._forget(x)
            return frame
        if isinstance(fact, ExchangeEnd):
            del self._streams[x]
            stream.over = True
            if stream.client is not None:
                self._resumed.pop(stream.client, None)
        else:
            self._remember(x, stream, frame)
        return None if stream.client is None else _renumbered(frame, stream.client)

    def _remember(self, x: int, stream: _Stream, frame: Frame) -> None:
        meta = frame.fact if isinstance(frame.fact, SseMeta) else None
        if meta is not None and meta.event == "endpoint":
            del self._streams[x]  # HTTP+SSE: a session is its stream, and ends with it
            return
        stream.resumable = stream.resumable or bool(meta is not None and meta.id)
        if not stream.resumable:  # a client can only name what comes from here on
            return
        event = stream.newest
        if event is None or event.whole or isinstance(frame.fact, (SseMeta, HttpBody)):
            event = stream.newest = _Event(stream, sent=stream.client is not None)
            self._events.append(event)
        if meta is not None and meta.id:
            event.id = meta.id
        if event.forgotten:
            return
        event.frames.append(frame)
        event.size += frame.size
        self._size += frame.size
        while len(self._events) > self.most or self._size > self.most_bytes:
            oldest = self._events.popleft()
            self._size -= oldest.size
            oldest.forgotten = True

    def _hear_client(self, frame: Frame, back: list[Frame]) -> bool:
        """Return whether the frame goes on."""
        x = frame.exchange
        if x is None:
            return True
        if (stream := self._resumed.get(x)) is not None:
            if isinstance(frame.fact, ExchangeEnd):
                del self._resumed[x]
                stream.client = None
            return False
        match frame.fact:
            case HttpRequest() as head:
                return not self._resume(x, head, back)
            case ExchangeEnd():
                self._forget(x)
                return not self._lose(x)
            case _:
                return True

    def _lose(self, x: int) -> bool:
        """Note that the client left this exchange; return whether it may come back for the rest."""
        stream = self._streams.get(x)
        if stream is None:
            return False
        if not stream.resumable:
            del self._streams[x]
            return False
        if stream.client == x:
            stream.client = None
        return True

    def _forget(self, x: int) -> None:
        self._modern.discard(x)
        self._asked.pop(x, None)

    def _resume(self, x: int, head: HttpRequest, back: list[Frame]) -> bool:
        """Answer a GET with the rest of a stream, where that is known and not nothing."""
        if is_modern(head.header(PROTOCOL_VERSION_HEADER)):
            self._modern.add(x)
            return False
        id_ = head.header(LAST_EVENT_ID_HEADER) if head.method == "GET" else None
        if not id_:
            return False
        if not self._take_up(x, id_, back):
            self._asked[x] = id_
            return False
        return True

    def _take_up(self, x: int, id_: str, back: list[Frame]) -> bool:
        events = list(self._events)
        place = next((n for n in range(len(events), 0, -1) if events[n - 1].id == id_), None)
        if place is None:
            return False
        stream = events[place - 1].stream
        # "The server MUST NOT replay messages that would have been delivered on a different
        # stream." (2025-03-26 to 2025-11-25, Transports, Resumability and Redelivery)
        later = [event for event in events[place:] if event.stream is stream and event.to_come]
        if stream.over and not later:
            return False
        if stream.client is not None and not stream.over:
            self._resumed.pop(stream.client, None)
            back.append(Frame(S2C, fact=ExchangeEnd(), exchange=stream.client))
        back.append(Frame(S2C, fact=stream.head, exchange=x))
        for event in later:
            back += [_renumbered(frame, x) for frame in event.frames]
            event.sent = True
        if stream.over:
            back.append(Frame(S2C, fact=ExchangeEnd(), exchange=x))
        else:
            stream.client = x
            self._resumed[x] = stream
        return True


def _renumbered(frame: Frame, x: int) -> Frame:
    if frame.exchange == x:
        return frame
    return Frame(frame.direction, frame.raw, frame.eol, frame.fact, x, frame.wire)
