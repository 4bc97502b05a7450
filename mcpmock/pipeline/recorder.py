"""`Recorder`: a stage that notes what passes, before it passes.

Its `feed` returns the frames only after `append` has returned, so nothing leaves that is not in the
cassette; that order is the whole of "written before forwarded". It sends on exactly what it was
given: redaction is applied to what is noted, never to the wire. Whatever goes wrong with the noting
(a full disk, a bug of ours) becomes a counted gap, not a broken session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs
import msgspec

from mcpmock.cassette.model import Event, Gap, Oversize, embeddable, event_line
from mcpmock.cassette.redact import Redactor
from mcpmock.protocol.messages import Direction, Fragment, Frame

from .pipeline import Action, Hangup, Send, Stage
from .whole import Assembler, Whole

Append = Callable[[list[bytes]], None]
"""Takes event lines and returns when they are safe; raises OSError if they are not."""


@attrs.define
class Recorder(Stage):
    """Notes frames as event lines.

    `redactor` is None where redaction was switched off. `on_gap` is told the reason each time that
    something could not be noted, the first time included; it decides whether anybody hears of it.
    """

    append: Append
    redactor: Redactor | None = attrs.field(factory=Redactor)
    on_gap: Callable[[str], None] = lambda _reason: None
    strict: bool = False
    """End the session rather than let pass what could not be noted."""
    events: int = 0
    """How many events were given a number, noted or not."""
    lost: int = 0
    """How many of them could not be noted."""
    _began: float = 0.0
    _pending: Gap | None = None
    _assemblers: dict[Direction, Assembler] = attrs.field(factory=dict)

    def begin(self, now: float) -> Iterable[Action]:
        self._began = now
        return ()

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        try:
            self._note(seen, int((now - self._began) * 1_000_000))
        except Exception as error:  # noqa: BLE001 (law 6: a bug in here must not reach the wire)
            self._count_gap(seen, error)
            if self.strict:
                return (Hangup("what cannot be recorded does not pass"),)
        return (Send(seen),)

    def finish(self, now: float) -> None:
        """Writes down a gap that no later event gave the chance to write down."""
        if self._pending is not None:
            try:
                self.append(self._gap_line(int((now - self._began) * 1_000_000)))
            except OSError:
                pass  # it stays counted, in `lost`

    def _note(self, frames: Sequence[Frame], t: int) -> None:
        wary = self._suspicious(b"\n".join([frame.raw for frame in frames]))
        lines = self._gap_line(t)
        n = self.events
        for frame in frames:
            if type(frame.fact) is Fragment:
                line = self._piece_line(n + 1, t, frame)
                if line is None:
                    continue
            elif wary:
                line = self._redacted_line(n + 1, t, frame)
            else:
                line = event_line(n + 1, t, frame)
            n += 1
            lines.append(line)
        self.events = n
        if lines:
            self.append(lines)
            self._pending = None

    def _gap_line(self, t: int) -> list[bytes]:
        """What was lost before, to be noted ahead of what comes now."""
        if self._pending is None:
            return []
        self.events += 1
        gap = Event(n=self.events, t=t, gap=self._pending)
        return [msgspec.json.encode(gap) + b"\n"]

    def _suspicious(self, raw: bytes) -> bool:
        return self.redactor is not None and self.redactor.suspicious(raw)

    def _redacted_line(self, n: int, t: int, frame: Frame) -> bytes:
        """A frame that may hold secrets. What is not JSON is treated as text."""
        redactor = self.redactor
        if redactor is None:
            return event_line(n, t, frame)
        clean = redactor.json(frame.raw) if frame.fact is None else frame.raw
        if frame.fact is not None or not embeddable(frame.raw):
            clean = redactor.text(clean)
        if clean is frame.raw:
            return event_line(n, t, frame)
        shown = Frame(frame.direction, clean, frame.eol, frame.fact, frame.exchange)
        return event_line(n, t, shown, redacted=True)

    def _piece_line(self, n: int, t: int, piece: Frame) -> bytes | None:
        """A line for the whole frame once its last piece is here; the pieces before are forwarded
        unnoted.
        """
        assembler = self._assemblers.setdefault(piece.direction, Assembler())
        whole = assembler.add(piece)
        if whole is None:
            return None
        wary = self._suspicious(whole.frame.raw)
        line = (self._redacted_line if wary else event_line)(n, t, whole.frame)
        return line if whole.digest is None else _oversize_line(line, whole)

    def _count_gap(self, frames: Sequence[Frame], error: Exception) -> None:
        reason = (
            error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        )
        gap = self._pending or Gap(reason=reason or "unknown")
        gap.events += len(frames)
        gap.bytes += sum(frame.size for frame in frames)
        self._pending = gap
        self.lost += len(frames)
        self.on_gap(gap.reason)


def _oversize_line(line: bytes, whole: Whole) -> bytes:
    oversize = msgspec.json.encode(Oversize(whole.size, whole.digest or ""))
    return line[:-2] + b',"oversize":' + oversize + b"}\n"
