"""`Disconnects`: a stage directly in front of a server over Streamable HTTP that cuts connections.
The client loses an event stream behind one of its events, and takes it up again with
`Last-Event-ID`: that is in `transports.streamable_http.client`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from mcpmock.pipeline.stage import Action, Send, Stage
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    ExchangeEnd,
    Frame,
    HttpResponse,
    Request,
    Response,
    SseMeta,
    parse_items,
)

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
    """It has had an event with an id: without one, nobody can resume it."""
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

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        if seen[0].direction is C2S:
            for frame in seen:
                self._hear_client(frame)
            return (Send(seen),)
        on, back = list[Frame](), list[Frame]()
        for frame in seen:
            x = frame.exchange
            if x in self._cut:
                continue
            on.append(frame)
            stream = None if x is None else self._streams.get(x)
            if x is None or stream is None or not self._hear_server(x, stream, frame):
                continue
            if not stream.retry:
                on.append(Frame(S2C, fact=SseMeta(retry=RETRY_MS), exchange=x))
            on.append(Frame(S2C, fact=ExchangeEnd("reset"), exchange=x))
            back.append(Frame(C2S, fact=ExchangeEnd("reset"), exchange=x))
            self._cut.add(x)
            self.made.append(stream.id)
        return Send(on), Send(back)

    def _hear_client(self, frame: Frame) -> None:
        if frame.fact is not None or frame.exchange is None:
            return
        for message in parse_items(frame.raw):
            if isinstance(message, Request) and message.id in self.places:
                left = self.places[message.id]
                self._streams[frame.exchange] = _Stream(message.id, left)

    def _hear_server(self, x: int, stream: _Stream, frame: Frame) -> bool:
        """Whether the connection is lost here."""
        match frame.fact:
            case HttpResponse() as head:
                stream.streams = head.status == 200 and head.media_type == EVENT_STREAM
            case SseMeta(id=id_, retry=retry):
                stream.resumable = stream.resumable or bool(id_)
                stream.retry = stream.retry or retry is not None
            case ExchangeEnd():
                del self._streams[x]
            case None:
                messages = parse_items(frame.raw) if frame.raw.strip() else ()
                if any(isinstance(one, Response) for one in messages):
                    del self._streams[x]
                    return False
                stream.left -= sum(word_of(one) is not None for one in messages)
                return stream.left == 0 and stream.streams and stream.resumable
            case _:
                pass
        return False
