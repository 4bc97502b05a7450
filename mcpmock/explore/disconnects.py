"""Stages directly in front of a server under test: `ServerView` knows what it owes, and
`Disconnects` cuts connections over Streamable HTTP. The client loses an event stream behind one of
its events, and takes it up again with `Last-Event-ID`: that is in
`transports.streamable_http.client`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from mcpmock.pipeline.stage import PASS, Action, Send, Stage
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import Correlation
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import C2S, S2C, Frame, parse_items

from .recorded_call import word_of

RETRY_MS = 50
"""After how long the stream is resumed, unless the server says `retry`."""


@attrs.define
class _Stream:
    """The response to a request whose connection is to be cut behind `left` more messages."""

    id: bytes
    left: int
    streams: bool = False
    resumable: bool = False
    """It has had an event with an id: without one, it cannot be resumed."""
    retry: bool = False
    """Whether the server said when to come back."""


@attrs.define
class Disconnects(Stage):
    """Cuts the connection of each request in `places`, by its id, behind so many messages of its
    call: behind none, if the stream begins with an event that has only an id.
    """

    places: Mapping[bytes, int]
    made: list[bytes] = attrs.field(factory=list)
    """The requests whose connection was cut."""
    _streams: dict[int, _Stream] = attrs.field(factory=dict)
    _cut: set[int] = attrs.field(factory=set)

    def feed(self, seen: Sequence[m.Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        if seen[0].direction is m.C2S:
            for frame in seen:
                self._hear_client(frame)
            return (Send(seen),)
        on, back = list[m.Frame](), list[m.Frame]()
        for frame in seen:
            x = frame.exchange
            if x in self._cut:
                continue
            on.append(frame)
            stream = None if x is None else self._streams.get(x)
            if x is None or stream is None or not self._hear_server(x, stream, frame):
                continue
            if not stream.retry:
                on.append(m.Frame(m.S2C, fact=m.SseMeta(retry=RETRY_MS), exchange=x))
            on.append(m.Frame(m.S2C, fact=m.ExchangeEnd("reset"), exchange=x))
            back.append(m.Frame(m.C2S, fact=m.ExchangeEnd("reset"), exchange=x))
            self._cut.add(x)
            self.made.append(stream.id)
        return Send(on), Send(back)

    def _hear_client(self, frame: m.Frame) -> None:
        if frame.fact is not None or frame.exchange is None:
            return
        for message in m.parse_items(frame.raw):
            if isinstance(message, m.Request) and message.id in self.places:
                left = self.places[message.id]
                self._streams[frame.exchange] = _Stream(message.id, left)

    def _hear_server(self, x: int, stream: _Stream, frame: m.Frame) -> bool:
        """Return whether the connection is lost here."""
        match frame.fact:
            case m.HttpResponse() as head:
                stream.streams = head.status == 200 and head.media_type == EVENT_STREAM
            case m.SseMeta(id=id_, retry=retry):
                stream.resumable = stream.resumable or bool(id_)
                stream.retry = stream.retry or retry is not None
            case m.ExchangeEnd():
                del self._streams[x]
            case None:
                messages = m.parse_items(frame.raw) if frame.raw.strip() else ()
                if any(isinstance(one, m.Response) for one in messages):
                    del self._streams[x]
                    return False
                stream.left -= sum(word_of(one) is not None for one in messages)
                return stream.left == 0 and stream.streams and stream.resumable
            case _:
                pass
        return False


@attrs.define
class ServerView(Stage):
    """What passed, as the server saw it: behind all faults."""

    _calls: Correlation = attrs.field(factory=Correlation)
    _count: int = 0

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        for frame in seen:
            for message in parse_items(frame.raw) if frame.fact is None else ():
                self._count += 1
                self._calls.note(frame.direction, message, self._count, frame.exchange)
        return PASS

    def owes(self, id_: bytes) -> bool:
        """Return whether the server has this request, and neither answered it nor waits for an
        answer of the client itself.
        """
        open_ = self._calls.open_call(C2S, id_) is not None
        return open_ and not self._calls.open_calls(S2C)
