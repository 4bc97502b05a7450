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

from mcpmock.cassette.model import Event, Gap, Oversize, embeddable, event_line, event_lines
from mcpmock.cassette.redact import Redactor
from mcpmock.protocol.messages import Direction, Fragment, Frame
from mcpmock.protocol.stage import PASS, Action, Hangup, Stage

from .whole import Assembler, Whole

_JSON = (b"{", b"[")
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
    _passed: int = 0
    """Bytes that passed, in pieces, of the long line that is being noted."""
    _assemblers: dict[Direction, Assembler] = attrs.field(factory=dict)

    def begin(self, now: float) -> Iterable[Action]:
        self._began = now
        return ()

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        try:
            self._note(seen, self._t(now))
        except Exception as error:  # noqa: BLE001 (law 6: a bug in here must not reach the wire)
            self._count_gap(seen, error)
            if self.strict:
                return (Hangup("what cannot be recorded does not pass"),)
        return PASS

    def finish(self, now: float) -> None:
        """Writes down what no later event gave the chance to write down."""
        cut_off = sum(assembler.size for assembler in self._assemblers.values())
        if cut_off:
            self._lose(1, cut_off, "the session ended in the middle of a long line")
        if self._pending is not None:
            try:
                self.append(self._gap_line(self._t(now)))
            except OSError:
                pass  # it stays counted, in `lost`

    def _t(self, now: float) -> int:
        return round((now - self._began) * 1_000_000)

    def _note(self, frames: Sequence[Frame], t: int) -> None:
        """One batch, one append. The look for secrets is quickest over all of it, and mostly ends
        there.
        """
        lines = self._gap_line(t) if self._pending is not None else []
        if type(frames[0].fact) is Fragment or type(frames[-1].fact) is Fragment:
            lines += self._lines_with_pieces(self.events + len(lines) + 1, t, frames)
        elif self._suspicious(frames):
            numbered = enumerate(frames, self.events + len(lines) + 1)
            lines += [self._redacted_line(n, t, frame) for n, frame in numbered]
        else:
            lines += event_lines(self.events + len(lines) + 1, t, frames)
        self.events += len(lines)
        if lines:
            self.append(lines)
            self._pending, self._passed = None, 0

    def _lines_with_pieces(self, first: int, t: int, frames: Sequence[Frame]) -> list[bytes]:
        """Of a line that comes in pieces one event, once its last piece is here; they pass unnoted
        before.
        """
        lines: list[bytes] = []
        for frame in frames:
            n = first + len(lines)
            if type(frame.fact) is not Fragment:
                lines.append(self._redacted_line(n, t, frame))
                continue
            whole = self._assemblers.setdefault(frame.direction, Assembler()).add(frame)
            if whole is not None:
                self._passed = whole.size - len(frame.raw)
                line = self._redacted_line(n, t, whole.frame)
                lines.append(line if whole.digest is None else _oversize_line(line, whole))
        return lines

    def _gap_line(self, t: int) -> list[bytes]:
        """What was lost before, to be noted ahead of what comes now."""
        gap = Event(n=self.events + 1, t=t, gap=self._pending or Gap())
        return [msgspec.json.encode(gap) + b"\n"]

    def _suspicious(self, frames: Sequence[Frame]) -> bool:
        """Whether any of them needs a closer look; what is no JSON always does."""
        if self.redactor is None:
            return False
        if frames[0].fact is not None:
            return True
        raws = [frame.raw for frame in frames]
        if len(raws) == 1:
            return not raws[0].startswith(_JSON) or self.redactor.suspicious(raws[0])
        no_json = any([not raw.startswith(_JSON) for raw in raws])  # noqa: C419 (a list is quicker)
        return no_json or self.redactor.suspicious(b"\n".join(raws))

    def _redacted_line(self, n: int, t: int, frame: Frame) -> bytes:
        """A frame that may hold secrets. What is not JSON is treated as text."""
        redactor = self.redactor
        if redactor is None or not frame.raw:
            return event_line(n, t, frame)
        clean = frame.raw
        if frame.fact is None and redactor.suspicious(frame.raw):
            clean = redactor.json(frame.raw)
        if frame.fact is not None or not embeddable(frame.raw):
            clean = redactor.text(clean)
        if clean is frame.raw:
            return event_line(n, t, frame)
        shown = Frame(frame.direction, clean, frame.eol, frame.fact, frame.exchange)
        return event_line(n, t, shown, redacted=True)

    def _count_gap(self, frames: Sequence[Frame], error: Exception) -> None:
        reason = (
            error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        )
        whole = [f for f in frames if not isinstance(f.fact, Fragment) or f.fact.last]
        size = sum(frame.size for frame in whole) + self._passed
        self._passed = 0
        self._lose(len(whole), size, reason or "unknown")

    def _lose(self, events: int, size: int, reason: str) -> None:
        gap = self._pending or Gap(reason=reason)
        gap.events += events
        gap.bytes += size
        self._pending = gap
        self.lost += events
        try:
            self.on_gap(gap.reason)
        except Exception:  # noqa: BLE001 (law 6: nor may whoever hears of it)
            pass


def _oversize_line(line: bytes, whole: Whole) -> bytes:
    oversize = msgspec.json.encode(Oversize(whole.size, whole.digest or ""))
    return line[:-2] + b',"oversize":' + oversize + b"}\n"
