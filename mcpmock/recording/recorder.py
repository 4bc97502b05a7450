"""`Recorder`: a stage that notes what passes, before it passes; and the `Ledger` it notes it in.

Its `feed` returns the frames only after the ledger has written them, so nothing leaves that is not
in the cassette; that order is the whole of "written before forwarded". It sends on exactly what it
was given: redaction is applied to what is noted, never to the wire. Any failure of
the recording (a full disk, an internal error) becomes a counted gap, not a broken session.

A ledger is one take. Over stdio one recorder writes it; over HTTP every conversation has a recorder
of its own, and all of them write one ledger, whose numbers give the order in which things happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from mcpmock.cassette.model import (
    Event,
    Gap,
    Oversize,
    are_embeddable,
    embeddable,
    event_line,
    message_line,
    message_lines,
)
from mcpmock.pipeline.stage import PASS, Action, Hangup, Stage
from mcpmock.protocol.messages import C2S, ExchangeEnd, Fragment, Frame, HttpBody, StreamEnd
from mcpmock.protocol.reassembly import Reassembly, WholeFrame
from mcpmock.redaction.redactor import Redactor

_MAX_REASONS = 3
_IN_PARTS = frozenset((Fragment, HttpBody))
Append = Callable[[list[bytes]], None]
"""Takes event lines and returns when they are safe; raises OSError if they are not."""


class Ledger(Struct, eq=False):
    """One take being written: what its recorders have in common.

    `redactor` is None where redaction was switched off. `on_gap` gets the reason each time that
    something could not be noted, the first time included; it decides whether to report it.
    """

    append: Append
    redactor: Redactor | None = field(default_factory=Redactor)
    on_gap: Callable[[str], None] = lambda _reason: None
    strict: bool = False
    """End the session rather than let pass what could not be noted."""
    events: int = 0
    """How many events were given a number, noted or not."""
    lost: int = 0
    """How many of them could not be noted."""
    noted_gaps: int = 0
    """How many events of the take say that something was lost."""
    gaps: dict[int, Gap] = field(default_factory=dict)
    """What was lost of each session and is yet to be noted, ahead of whatever comes next."""
    reassembly: Reassembly = field(default_factory=Reassembly)
    """The long messages under way, by session, direction and exchange."""
    ending: bool = False
    """The client has ended its input, or a stop signal has come: the recorder may be killed soon.
    """
    revised_events: int = 0
    """Up to which event a value may stand that became known to be secret behind it."""
    _began: float | None = None

    @property
    def counts(self) -> dict[str, int]:
        """The fields of the footer that the file does not know itself."""
        redacted = self.redactor.table.count if self.redactor else 0
        return {"redacted": redacted, "gaps": self.lost}

    def time(self, now: float) -> int:
        """`now` in microseconds since the take began: with the first recorder, or with what a stage
        ahead of it says as it begins.
        """
        if self._began is None:
            self._began = now
        return round((now - self._began) * 1_000_000)

    def gap_lines(self, t: int) -> list[bytes]:
        """Return lines for what was lost before, numbered from the next number on."""
        return [
            msgspec.json.encode(Event(n=n, t=t, s=session, gap=gap)) + b"\n"
            for n, (session, gap) in enumerate(self.gaps.items(), self.events + 1)
        ]

    def write(self, lines: list[bytes]) -> None:
        """Write all at once: the gaps, and after them what is new. Numbers given are never given
        again.
        """
        if not lines:
            return
        self.events += len(lines)
        self.append(lines)
        if self.gaps:
            self.noted_gaps += len(self.gaps)
            self.gaps.clear()
        redactor = self.redactor
        if redactor is not None and redactor.table.learned:
            redactor.table.learned, self.revised_events = False, self.events

    def lose(self, session: int, events: int, size: int, reason: str) -> None:
        """Count what could not be noted."""
        gap = self.gaps.setdefault(session, Gap())
        gap.reason = with_reason(gap.reason, reason)
        gap.events += events
        gap.bytes += size
        self.lost += events
        try:
            self.on_gap(reason)
        except Exception:  # noqa: BLE001 (the observer may fail, the wire may not)
            pass

    def finish(self, now: float) -> None:
        """Write down what no later event gave the chance to write down."""
        for session, size in self.reassembly.sizes():
            self.lose(session, 1, size, "the session ended in the middle of a long line")
        try:
            self.write(self.gap_lines(self.time(now)))
        except OSError:
            pass  # it stays counted, in `lost`


class Recorder(Struct, Stage, eq=False):
    """Notes the frames of one conversation as events of a take."""

    ledger: Ledger
    session: int = 1

    def begin(self, now: float) -> Iterable[Action]:
        self.ledger.time(now)
        return ()

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        ledger, sizes = self.ledger, None
        last = seen[-1]
        if type(last.fact) is StreamEnd and last.direction is C2S:
            ledger.ending = True
        try:
            t = ledger.time(now)
            lines = ledger.gap_lines(t) if ledger.gaps else []
            first = ledger.events + len(lines) + 1
            if last.fact is None and last.exchange is None and len(seen) == 1:
                lines.append(self._line(first, t, last))
            elif self._whole(seen):
                lines += self._lines(first, t, seen)
            else:
                wholes = self._gathered(seen)
                sizes = [whole.size + len(whole.frame.eol) for whole in wholes]
                lines += self._each(first, t, wholes)
                del wholes  # these may be large, and writing makes a copy
            ledger.write(lines)
            if sizes is None or not self._lose_undecoded(seen):
                return PASS
        except Exception as error:  # noqa: BLE001 (law 6: a bug in here must not reach the wire)
            self._lose([frame.size for frame in seen] if sizes is None else sizes, error)
        return (Hangup("what cannot be recorded does not pass"),) if ledger.strict else PASS

    def receipt(self, value: Any, frame: Frame, now: float) -> None:
        """Note that a fault fires on this frame, ahead of its effect."""

        def event() -> Event:
            fault, redactor = msgspec.json.encode(value), self.ledger.redactor
            kept = msgspec.Raw(fault if redactor is None else redactor.json(fault))
            return Event(n=0, x=frame.exchange, d=frame.direction.value, fault=kept)

        self._note(event, now)

    def authorized(self, value: dict[str, Any], now: float) -> None:
        """Note how requests to the server are authorized from here on."""
        self._note(lambda: Event(n=0, auth=value), now)

    def _note(self, make: Callable[[], Event], now: float) -> None:
        """Note an event that is not a frame."""
        ledger = self.ledger
        try:
            event = make()
            event.t, event.s = ledger.time(now), self.session
            lines = ledger.gap_lines(event.t)
            event.n = ledger.events + len(lines) + 1
            ledger.write([*lines, msgspec.json.encode(event) + b"\n"])
        except Exception as error:  # noqa: BLE001 (law 6, as above)
            self._lose([0], error)

    def _whole(self, frames: Sequence[Frame]) -> bool:
        """Return whether each of these is an event of its own, as nearly all of an exchange are."""
        kinds = [type(frame.fact) for frame in frames]
        return not self.ledger.reassembly and _IN_PARTS.isdisjoint(kinds)

    def _lines(self, first: int, t: int, frames: Sequence[Frame]) -> list[bytes]:
        """Look at messages of stdio, which has one session, in one go: mostly that is all."""
        redactor = self.ledger.redactor
        if self.session == 1 and frames[-1].exchange is None:
            raws = [one.raw for one in frames if one.fact is None and one.eol == b"\n"]
            block = b"\n".join(raws)
            plain = len(raws) == len(frames) and are_embeddable(raws, block)
            if plain and (redactor is None or not redactor.suspicious(block)):
                return message_lines(first, t, frames[0].direction, raws)
        return [self._line(n, t, frame) for n, frame in enumerate(frames, first)]

    def _each(self, first: int, t: int, wholes: Sequence[WholeFrame]) -> list[bytes]:
        lines = []
        for n, whole in enumerate(wholes, first):
            line = self._line(n, t, whole.frame)
            lines.append(line if whole.digest is None else _oversize_line(line, whole))
        return lines

    def _gathered(self, frames: Sequence[Frame]) -> list[WholeFrame]:
        """Return what is to be noted of these. Of a message in pieces it is one event, once its
        last piece is here; they pass unnoted before. What cuts it off is noted behind what had come
        of it.
        """
        reassembly, found = self.ledger.reassembly, list[WholeFrame]()
        for frame in frames:
            if type(frame.fact) is Fragment:
                whole = reassembly.add(frame, self.session)
                found += [] if whole is None else [whole]
                continue
            if reassembly and frame.exchange is not None:
                found += self._cut_off(frame)
            if type(frame.fact) is not HttpBody or (frame.raw and _is_kept(frame.fact)):
                found.append(WholeFrame(frame, len(frame.raw)))
        return found

    def _lose_undecoded(self, frames: Sequence[Frame]) -> bool:
        """Count the bodies that could not be decoded; whether there are any."""
        lost = False
        for frame in frames:
            if type(frame.fact) is HttpBody and frame.fact.undecoded:
                why = f"a body cannot be decoded from {frame.fact.undecoded}"
                self.ledger.lose(self.session, 1, frame.size, why)
                lost = True
        return lost

    def _cut_off(self, frame: Frame) -> list[WholeFrame]:
        """Return what came of a message before this frame, which is no piece, came in its place."""
        over = type(frame.fact) is ExchangeEnd
        ways = (frame.direction, frame.direction.back) if over else (frame.direction,)
        cut = (self.ledger.reassembly.cut(way, frame.exchange, self.session) for way in ways)
        return [whole for whole in cut if whole is not None]

    def _line(self, n: int, t: int, frame: Frame) -> bytes:
        """Return the line of a frame, without its secrets."""
        raw, session, redactor = frame.raw, self.session, self.ledger.redactor
        is_json = frame.fact is None and embeddable(raw)
        if is_json and (redactor is None or not redactor.suspicious(raw)):
            if session == 1 and frame.exchange is None and frame.eol == b"\n":
                return message_line(n, t, frame.direction, raw)
            return event_line(n, t, frame, session=session)
        kept = frame if redactor is None else redactor.frame(frame)
        return event_line(n, t, kept, session=session, redacted=kept is not frame)

    def _lose(self, sizes: Sequence[int], error: Exception) -> None:
        said = error.strerror if isinstance(error, OSError) else None
        if sizes:
            reason = said or f"{type(error).__name__}: {error}"
            self.ledger.lose(self.session, len(sizes), sum(sizes), reason)


def with_reason(reasons: str, reason: str) -> str:
    """Return some reasons why something is missing, and this one, if it is none of them and they
    are few.
    """
    known = reasons.split("; ") if reasons else []
    return reasons if reason in known or len(known) >= _MAX_REASONS else "; ".join([*known, reason])


def _is_kept(body: HttpBody) -> bool:
    return not body.unkept and not body.undecoded


def _oversize_line(line: bytes, whole: WholeFrame) -> bytes:
    oversize = msgspec.json.encode(Oversize(whole.size, whole.digest or ""))
    return line[:-2] + b',"oversize":' + oversize + b"}\n"
