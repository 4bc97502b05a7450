"""`CallTracking`: what each message of a session belongs to, as far as a fault may want to know.

Only requests that some fault may be for are noted, and only until they are answered: as long as
there is none, nothing has to be read (`engine`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from mcpmock.protocol.correlation import CANCELLED, Correlation, PendingCall
from mcpmock.protocol.messages import (
    S2C,
    Batch,
    Direction,
    ExchangeEnd,
    Frame,
    HttpRequest,
    Notification,
    Request,
    Response,
    decode,
    member,
    parse_items,
)

from .match import MatchPlace, Subject
from .segments import On, Unit

_MODERN_ERA = ("_meta", "io.modelcontextprotocol/protocolVersion")


@attrs.define
class CallTracking:
    """The calls of one session that are of interest. `concerns` says which those are."""

    place: MatchPlace
    concerns: Callable[[Request], bool]
    shakes_hands: bool = True
    """Whether that is not over."""
    _calls: Correlation = attrs.field(factory=Correlation)
    _exchanges: dict[int, PendingCall] = attrs.field(factory=dict)
    """The call that each open exchange brought."""
    _awaited: set[tuple[Direction, bytes]] = attrs.field(factory=set)

    def __bool__(self) -> bool:
        """Whether a noted request has no answer yet."""
        return bool(self._awaited)

    def subject(self, unit: Unit) -> Subject:
        """What a unit is about; a request is noted if anything of it may be meant."""
        frame = unit.frames[-1]
        if isinstance(frame.fact, ExchangeEnd) and frame.exchange is not None:
            call = self._exchanges.pop(frame.exchange, None)
            return Subject(frame, None, None if call is None else call.request.method, call)
        if unit.on is None or unit.on in On.BEGIN | On.END | On.CLOSE:
            return Subject(frame, None, None)
        if isinstance(frame.fact, HttpRequest):
            return Subject(frame, None, frame.fact.method)
        message = frame.content
        if isinstance(message, Batch):
            return self._batch(frame)
        if not isinstance(message, Request | Notification | Response):
            return Subject(frame, None, None, None, self._carrier(frame))
        subject = self._followed(frame, message)
        self._settle_in(subject)
        return subject

    def overhear(self, frames: Sequence[Frame]) -> None:
        """Learns of what passes without a look how far the session is: a fault that is added later
        may ask.
        """
        for frame in frames:
            message = None if frame.fact is not None else frame.content
            if isinstance(message, Request | Notification | Response):
                self._settle_in(Subject(frame, message, None))

    def _batch(self, frame: Frame) -> Subject:
        kinds = Request | Notification | Response
        found = [item for item in parse_items(frame.raw) if isinstance(item, kinds)]
        items = [self._followed(frame, item) for item in found]
        for item in items:
            self._settle_in(item)
        return Subject(frame, None, None, None, self._carrier(frame), items)

    def forget(self, direction: Direction, request: Request, exchange: int | None = None) -> None:
        """Nobody will answer it, nor anything on its exchange."""
        if exchange is not None:
            self._exchanges.pop(exchange, None)
        self._awaited.discard((direction, request.id))

    def _followed(self, frame: Frame, message: Request | Notification | Response) -> Subject:
        if isinstance(message, Request):
            if not self.concerns(message):
                return Subject(frame, message, message.method)
            self._awaited.add((frame.direction, message.id))
        note = self._calls.note(frame.direction, message, 0)
        call = note.call
        if isinstance(message, Request) and call is not None and frame.exchange is not None:
            self._exchanges[frame.exchange] = call
        over = isinstance(message, Response) or note.method == CANCELLED
        if over and call is not None:
            self.forget(call.direction, call.request)
        return Subject(frame, message, note.method, call, self._carrier(frame))

    def _carrier(self, frame: Frame) -> PendingCall | None:
        """The request on whose stream this came."""
        if frame.direction is not S2C or frame.exchange is None:
            return None
        return self._exchanges.get(frame.exchange)

    def _settle_in(self, subject: Subject) -> None:
        """Which revision is spoken, and whether the handshake is over. A request of which nothing
        was noted may have been the handshake's.
        """
        era, phase, message = self.place.era, self.place.phase, subject.message
        unknown = subject.method is None and self.shakes_hands
        if isinstance(message, Response) and (unknown or subject.method == "initialize"):
            era = _text(member(message.result, "protocolVersion")) or era
        elif isinstance(message, Request) and (named := member(message.params, *_MODERN_ERA)):
            era, phase = _text(named), "running"
        elif isinstance(message, Notification) and message.method == "notifications/initialized":
            phase = "running"
        if (era, phase) != (self.place.era, self.place.phase):
            self.place = attrs.evolve(self.place, era=era, phase=phase)
            self.shakes_hands = phase == "handshake"


def _text(raw: bytes | None) -> str | None:
    value = None if raw is None else decode(raw)
    return value if isinstance(value, str) else None
