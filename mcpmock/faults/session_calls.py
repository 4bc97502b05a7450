"""`SessionCall`: a request of a session that is over, with everything that belonged to it. The
invariants of races, the latencies that a fault draws from and the races of a recorded call read it.

`call_tracker` knows the calls while a session goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import CANCELLED, PROGRESS, Correlation, PendingCall

from .match import Subject


@attrs.define(eq=False)
class SessionCall:
    """A request, the frame that carried it, and when, in microseconds."""

    call: PendingCall
    frame: m.Frame
    t: int = 0
    progress: int = 0
    """How much of it came while the call was open."""
    answers: list[m.Response] = attrs.field(factory=list)
    answered_t: int | None = None
    """When it was answered, unless it was cancelled before."""
    cancelled: bool = False
    """Whether its own side cancelled it before any answer."""
    late: int = 0
    """How many of its messages came behind the cancel."""
    closed: bool = False
    """Whether its HTTP exchange is over."""

    @property
    def subject(self) -> Subject:
        """What a fault may match."""
        return Subject(self.frame, self.call.request, self.call.request.method, self.call)

    @property
    def seconds(self) -> float | None:
        """How long the answer took; None without one in time."""
        return None if self.answered_t is None else (self.answered_t - self.t) / 1_000_000


@attrs.define
class SessionCalls:
    """All requests of both sides, in order."""

    calls: list[SessionCall] = attrs.field(factory=list)
    strays: list[m.Response] = attrs.field(factory=list)
    """The answers to no request."""
    last_cancel: int = 0
    """How many requests came before the last one was cancelled."""
    over: bool = False
    """Whether the server ended the session."""

    @classmethod
    def read(cls, frames: Iterable[tuple[m.Frame, int]]) -> SessionCalls:
        """Read the frames of one session, each with its time."""
        session, found = Correlation(), cls()
        ended = set[int]()
        for frame, t in frames:
            match frame.fact:
                case None:
                    for message in m.parse_items(frame.raw):
                        found._note(session, frame, message, t)
                case m.StreamEnd() | m.ProcessExit():
                    found.over |= frame.direction is m.S2C
                case m.ExchangeEnd() if frame.exchange is not None:
                    ended.add(frame.exchange)
        for one in found.calls:
            one.closed = one.frame.exchange in ended
        return found

    def _note(self, session: Correlation, frame: m.Frame, message: m.Message, t: int) -> None:
        note = session.note(frame.direction, message, len(self.calls))
        if note.call is None:
            self.strays += [message] if isinstance(message, m.Response) else []
            return
        if isinstance(message, m.Request):
            self.calls.append(SessionCall(note.call, frame, t))
            return
        one = self.calls[note.call.index]
        if isinstance(message, m.Response):
            one.answered_t = t if not (one.answers or note.late) else one.answered_t
            one.answers.append(message)
            one.late += one.cancelled
        elif note.method == PROGRESS:
            one.progress += not note.late
            one.late += one.cancelled
        elif note.method == CANCELLED and not one.answers and frame.direction is one.call.direction:
            one.cancelled, self.last_cancel = True, len(self.calls)


def answered_calls(cassette: Cassette) -> Iterator[SessionCall]:
    """Yield the requests of a recording that were answered in time."""
    for episode in cassette.episodes():
        events = episode.events
        frames = ((frame, event.t) for event in events if (frame := event.frame) is not None)
        yield from (one for one in SessionCalls.read(frames).calls if one.seconds is not None)
