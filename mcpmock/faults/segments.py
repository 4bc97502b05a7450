"""`UnitSplitter`: frames in the pieces that faults act on.

A unit is one message with what it must not be parted from: the `SseMeta` of its event, the head of
a response in JSON (whose length counts the message), the head of the POST that brings it. What is
no message is a unit of its own, with no subject. A response's head is held until its message comes,
but only in the exchanges that are `watched`: nothing else may be touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, Flag, auto

import attrs

from mcpmock.protocol import messages as m
from mcpmock.protocol.http_reply import EVENT_STREAM


class On(Flag):
    """What a fault can act on."""

    REQUEST = auto()
    RESPONSE = auto()
    NOTIFICATION = auto()
    OTHER = auto()
    """A batch, or something other than JSON-RPC."""
    EXCHANGE = auto()
    """An HTTP request without a message: GET, DELETE."""
    BEGIN = auto()
    """The beginning of the session."""
    END = auto()
    """The end of the client's input."""
    CLOSE = auto()
    """The end of the server's output, or of an HTTP exchange."""
    HANGUP = auto()
    """The end of a replay over stdio: it hangs up behind its client, without a frame."""
    LEFT = auto()
    """A client that leaves before its HTTP exchange is over."""
    LOGIN = auto()
    """What a fake authorization server is about to say: nothing that passes in a session."""
    MESSAGE = REQUEST | RESPONSE | NOTIFICATION | OTHER
    ASKED = REQUEST | NOTIFICATION | OTHER | EXCHANGE


@attrs.frozen
class Unit:
    """`on` says what it is; None if no fault can act on it."""

    frames: Sequence[m.Frame]
    on: On | None = None
    late: bool = False
    """Whether its head came in an earlier batch and was held."""

    @property
    def stream_head(self) -> Sequence[m.Frame]:
        """The head of an event stream, where it was held until its first event: no frames else."""
        fact = self.frames[0].fact
        if len(self.frames) == 1 or not isinstance(fact, m.HttpResponse):
            return ()
        return self.frames[:1] if fact.media_type == EVENT_STREAM else ()


class Held(Enum):
    """What of an HTTP response comes in one unit, its head with its message."""

    BODY = auto()
    """A response in JSON."""
    STREAM = auto()
    """A response in JSON, or the first event of a stream."""


@attrs.define
class UnitSplitter:
    """Frames in, units out, in order."""

    watched: dict[int, Held] = attrs.field(factory=dict)
    """What comes in one unit, by exchange."""
    _heads: dict[int, list[m.Frame]] = attrs.field(factory=dict)

    def __bool__(self) -> bool:
        """Return whether a head waits for its message."""
        return bool(self._heads)

    def feed(self, frames: Sequence[m.Frame]) -> Iterator[Unit]:
        before: list[m.Frame] = []
        waited = set(self._heads)
        for frame in frames:
            fact, number = frame.fact, frame.exchange
            if before and (before[0].exchange != number or fact is not None):
                yield from self._alone(before)
                before = []
            if fact is None:
                heads = [] if number is None else self._heads.pop(number, [])
                late = bool(heads) and number in waited
                yield Unit([*heads, *before, frame], message_kind(frame.content), late)
                before = []
            elif isinstance(fact, m.SseMeta) or (isinstance(fact, m.HttpRequest) and fact.has_body):
                before = [frame]
            elif isinstance(fact, m.HttpRequest):
                yield Unit([frame], On.EXCHANGE)
            elif isinstance(fact, m.HttpResponse) and self._waits(fact, number):
                assert number is not None
                self._heads[number] = [frame]
            else:
                yield from self._other(frame)
        if before:
            yield from self._alone(before)

    def forget(self, number: int) -> None:
        """Forget an exchange that is over."""
        self.watched.pop(number, None)
        self._heads.pop(number, None)

    def _alone(self, frames: list[m.Frame]) -> Iterator[Unit]:
        """Yield a head or a meta without its message; behind a held head it is held as well."""
        held = self._heads.get(frames[0].exchange or 0)
        if held is not None:
            held += frames
        else:
            yield Unit(frames)

    def _other(self, frame: m.Frame) -> Iterator[Unit]:
        heads = None if frame.exchange is None else self._heads.pop(frame.exchange, None)
        if heads is not None:
            yield Unit(heads)
        yield Unit([frame], _end_of(frame))

    def _waits(self, head: m.HttpResponse, number: int | None) -> bool:
        held = None if number is None else self.watched.get(number)
        if held is None or not head.media_type:
            return False
        return held is Held.STREAM or head.media_type != EVENT_STREAM


def message_kind(message: object) -> On:
    match message:
        case m.Request():
            return On.REQUEST
        case m.Response():
            return On.RESPONSE
        case m.Notification():
            return On.NOTIFICATION
        case _:
            return On.OTHER


def _end_of(frame: m.Frame) -> On | None:
    if isinstance(frame.fact, m.StreamEnd):
        return On.END if frame.direction is m.C2S else On.CLOSE
    if isinstance(frame.fact, m.ExchangeEnd):
        return On.LEFT if frame.direction is m.C2S else On.CLOSE
    return None
