"""`FaultCallTracker`: the call that each message of a session belongs to, and the session's phase.

`protocol.correlation` relates messages to calls. `triggers` stands above.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import Correlation, PendingCall
from mcpmock.protocol.raw_json import elements
from mcpmock.protocol.revisions import initialized_version, version_of

from .match import MatchPlace, Subject
from .segments import On, Unit


@attrs.define
class FaultCallTracker:
    """The calls of one session."""

    place: MatchPlace
    _calls: Correlation = attrs.field(factory=Correlation)

    def subject(self, unit: Unit) -> Subject:
        """Return the subject of a unit."""
        frame = unit.frames[-1]
        if isinstance(frame.fact, m.ExchangeEnd) and frame.exchange is not None:
            call = self._carrier(frame.exchange)
            self._calls.end_exchange(frame.exchange)
            return Subject(frame, None, None if call is None else call.request.method, call)
        if unit.on is None or unit.on in On.BEGIN | On.END | On.CLOSE:
            return Subject(frame, None, None)
        if isinstance(frame.fact, m.HttpRequest):
            return Subject(frame, None, frame.fact.method)
        message = frame.content
        if isinstance(message, m.Batch):
            return self._track_batch(frame)
        if not isinstance(message, m.Request | m.Notification | m.Response):
            return Subject(frame, None, None, None, self._stream_call(frame))
        subject = self._track(frame, message)
        self._learn_place(subject)
        return subject

    def overhear(self, frames: Sequence[m.Frame]) -> None:
        """Follow the handshake in frames that no fault looks at: a fault that is added later may
        match by `phase` or `era`.
        """
        if self.place.phase == "running":
            return
        for frame in frames:
            message = None if frame.fact is not None else frame.content
            if isinstance(message, m.Request | m.Notification | m.Response):
                self._learn_place(Subject(frame, message, None))

    def _track_batch(self, frame: m.Frame) -> Subject:
        raws = [frame.raw[slice(*span)] for span in elements(frame.raw) or ()]
        items = [
            self._track(m.Frame(frame.direction, raw, b"", None, frame.exchange), message)
            for raw, message in zip(raws, m.parse_items(frame.raw), strict=True)
        ]
        for item in items:
            self._learn_place(item)
        return Subject(frame, None, None, None, self._stream_call(frame), items)

    def forget(self, exchange: int) -> None:
        """Forget an exchange whose request stays unanswered."""
        self._calls.end_exchange(exchange)

    def _track(self, frame: m.Frame, message: m.Message) -> Subject:
        note = self._calls.note(frame.direction, message, 0, frame.exchange)
        return Subject(frame, message, note.method, note.call, self._stream_call(frame))

    def _stream_call(self, frame: m.Frame) -> PendingCall | None:
        """Return the call on whose HTTP response a server message came."""
        return self._carrier(frame.exchange) if frame.direction is m.S2C else None

    def _carrier(self, exchange: int | None) -> PendingCall | None:
        """Return the call that an exchange carried; of a batch, the last one."""
        posted = self._calls.posted(exchange)
        return posted[-1] if posted else None

    def _learn_place(self, subject: Subject) -> None:
        """Learn the revision and the end of the handshake from a message."""
        place, message = self.place, subject.message
        era, phase = place.era, place.phase
        # Where no fault looked at `initialize`, its response has no method.
        unknown = subject.method is None and place.phase == "handshake"
        if isinstance(message, m.Response) and (unknown or subject.method == "initialize"):
            era = initialized_version(message.result) or era
        elif isinstance(message, m.Request) and (named := version_of(message)):
            # From 2026-07-28 on each request names its revision and there is no handshake.
            era, phase = named, "running"
        elif isinstance(message, m.Notification) and message.method == "notifications/initialized":
            phase = "running"
        if (era, phase) != (place.era, place.phase):
            self.place = attrs.evolve(place, era=era, phase=phase)
