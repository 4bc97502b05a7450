"""`DelayQueue`: what faults hold back, and who has to wait behind it.

What is held comes at its time, to the last bit: it is kept here and asked for by that time, not
added up again. A stream is all of a direction on stdio, an event stream, or one HTTP exchange. Then
the order is this, exactly:

* what belongs to a call waits behind what is held of that call in the same direction;
* on one stream, what is held leaves in the order in which it came, whatever each had to wait, and
  an end (of the stream, of the exchange) leaves behind all that is held on it;
* behind a `barrier` everything waits that goes its direction, on every stream;
* all else passes at once: what is held does not delay what has nothing to do with it.

What is sent `freely` (what comes besides a message, and what is meant to be out of order) does not
wait at all; only the end of its stream waits for it.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Sequence
from itertools import count

import attrs

from mcpmock.pipeline.stage import Action, Send, Wake
from mcpmock.protocol.messages import Direction, Fragment, Frame, HttpBody

from .segments import On


def _copied(frames: Sequence[Frame]) -> list[Frame]:
    return list(frames)


@attrs.frozen
class Keep:
    """Keep these frames until `behind` more messages of their direction have passed (of those that
    are `like` this), and no longer than `at_most` seconds.
    """

    frames: list[Frame] = attrs.field(converter=_copied)
    behind: int
    at_most: float
    like: On = On.MESSAGE

    def take(self) -> list[Frame]:
        """Return the frames, once: the caller sends them, even when their time has come."""
        frames = self.frames.copy()
        self.frames.clear()
        return frames


@attrs.define(eq=False)
class Kept:
    """What is kept, and how many more messages have to pass."""

    keep: Keep
    direction: Direction
    left: int

    def counts(self, direction: Direction, on: On) -> bool:
        return on in self.keep.like and self.direction is direction


@attrs.define
class DelayQueue:
    """Held frames, and the lines that they stand in."""

    _due: list[tuple[float, int, Sequence[Frame] | Kept]] = attrs.field(factory=list)
    _order: count[int] = attrs.field(factory=count)
    _lines: dict[Hashable, float] = attrs.field(factory=dict)
    _kept: list[Kept] = attrs.field(factory=list)

    def __bool__(self) -> bool:
        return bool(self._due)

    @property
    def until(self) -> float | None:
        """When the last of it is due; None also where all that was kept has been taken out."""
        left = (due for due, _, held in self._due if _frames_of(held))
        return max(left, default=None)

    def send(
        self,
        frames: Sequence[Frame],
        due: float,
        now: float,
        lines: Iterable[Hashable],
        *,
        barrier: bool = False,
    ) -> Iterable[Action]:
        """Send frames when they are due, behind all that stands in the same lines or is a barrier
        on their way. If they have to wait, others wait behind them in these lines; all, if they are
        a `barrier` themselves.
        """
        lines, wall = tuple(lines), ("barrier", frames[0].direction)
        for line in (*lines, wall):
            due = max(due, self._lines.get(line, due))
        if due <= now and not self._is_releasing(now, (*lines, wall)):
            yield Send(frames)
            return
        for line in (*lines, wall) if barrier else lines:
            self._lines[line] = due
        if barrier and isinstance(frames[-1].fact, Fragment | HttpBody):
            self._lines["pieces", frames[0].direction] = due
        yield from self._hold(frames, due)

    def _is_releasing(self, now: float, lines: Iterable[Hashable]) -> bool:
        """Return whether something in these lines may be due already and not have left yet."""
        first = self._due[0][0] if self._due else now + 1
        return first <= now and any(self._lines.get(line, -1.0) >= first for line in lines)

    def send_freely(
        self, frames: Sequence[Frame], due: float, now: float, end: Hashable
    ) -> Iterable[Action]:
        """Send frames that wait for no others but the pieces of a message. Only what stands in the
        line `end` waits for them: the end of their stream.
        """
        due = max(due, self._lines.get(("pieces", frames[0].direction), due))
        if due <= now:
            yield Send(frames)
        else:
            self._lines[end] = max(due, self._lines.get(end, due))
            yield from self._hold(frames, due)

    def block(self, direction: Direction, due: float) -> Iterable[Action]:
        """Let nothing pass this way until `due`."""
        wall = ("barrier", direction)
        self._lines[wall] = max(due, self._lines.get(wall, due))
        yield from self._hold([], due)

    def _hold(self, held: Sequence[Frame] | Kept, due: float) -> Iterable[Action]:
        heapq.heappush(self._due, (due, next(self._order), held))
        yield Wake(due)

    def keep(self, keep: Keep, now: float) -> Iterable[Action]:
        """Keep frames until enough others have passed them, or their time has come."""
        kept, due = Kept(keep, keep.frames[0].direction, keep.behind), now + keep.at_most
        self._kept.append(kept)
        yield from self._hold(kept, due)

    def passed(self, direction: Direction, on: On) -> Iterable[Action]:
        """Count another message that went this way; yield what was kept for it."""
        for kept in [kept for kept in self._kept if kept.counts(direction, on)]:
            kept.left -= 1
            if kept.left <= 0:
                self._kept.remove(kept)
                self._due = [entry for entry in self._due if entry[2] is not kept]
                heapq.heapify(self._due)
                if frames := kept.keep.take():
                    yield Send(frames)

    def release(self, now: float) -> Iterable[Action]:
        """Return what is due, as far as it goes one way. The rest comes in the same instant: a
        player answers at once, and its answer must find what came before it still held.
        """
        way: Direction | None = None
        while self._due and self._due[0][0] <= now:
            frames = _frames_of(self._due[0][2])
            if frames and way not in (None, frames[0].direction):
                yield Wake(now)
                return
            _, _, held = heapq.heappop(self._due)
            if isinstance(held, Kept):
                self._kept.remove(held)
                frames = held.keep.take()
            if frames:
                way = frames[0].direction
                yield Send(frames)
        if not self._due:
            self._lines.clear()


def _frames_of(held: Sequence[Frame] | Kept) -> Sequence[Frame]:
    return held.keep.frames if isinstance(held, Kept) else held
