"""`SessionState`: what the faults of one session have done that concerns what comes next: what is
held back, what is lost, which exchanges are muted, what is not read. Used by `engine`; a fault that
changes more than the message it is given does so by an `Effect`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

import attrs

from mcpmock.pipeline.stage import Action, Send
from mcpmock.protocol import messages as m

from .delay_queue import DelayQueue
from .match import Subject
from .segments import Unit

_ENDS = m.StreamEnd | m.ProcessExit | m.ExchangeEnd


@attrs.define
class MutedExchanges:
    """`consumed` are exchanges whose request did not reach the server, `muted` those on which the
    client gets nothing more. A client that leaves ends both.
    """

    consumed: set[int] = attrs.field(factory=set)
    muted: set[int | None] = attrs.field(factory=set)

    def __bool__(self) -> bool:
        return bool(self.consumed or self.muted)

    def covers(self, direction: m.Direction, number: int, *, ended: bool) -> bool:
        """Return True if the frame must be withheld because its exchange is muted, which it may
        end.
        """
        covered = number in (self.muted if direction is m.S2C else self.consumed)
        if ended:
            self.muted.discard(number)
            self.consumed.discard(number)
        return covered

    def note_sent(self, unit: Unit, sent: Iterable[m.Frame]) -> None:
        """Learn from what was sent in place of a unit, either way."""
        first, sent = unit.frames[0], list(sent)
        number = first.exchange
        if number is None or type(unit.frames[-1].fact) is m.ExchangeEnd:
            return  # behind an end nothing comes anyway
        kinds = {type(frame.fact) for frame in sent if frame.exchange == number}
        back = {type(f.fact) for f in sent if f.exchange == number and f.direction is m.S2C}
        consumed = isinstance(first.fact, m.HttpRequest) and m.HttpRequest not in kinds
        ended = m.ExchangeEnd in back
        headless = isinstance(first.fact, m.HttpResponse) and m.HttpResponse not in kinds
        if consumed and not ended:  # an exchange that was answered is over
            self.consumed.add(number)
        if headless or (ended and not consumed):
            self.muted.add(number)


@attrs.define
class SessionState:
    """`stream` is the exchange that carries all messages to the client (HTTP+SSE)."""

    queue: DelayQueue = attrs.field(factory=DelayQueue)
    exchanges: MutedExchanges = attrs.field(factory=MutedExchanges)
    stream: int | None = None
    open_until: float | None = None
    """Let the session not end before."""
    _lost_ways: set[Hashable] = attrs.field(factory=set)

    def __bool__(self) -> bool:
        """Return whether anything that was done may concern what comes next."""
        return bool(self.queue or self.exchanges or self._lost_ways)

    def stay_open(self, until: float) -> None:
        """Let the session not end before."""
        self.open_until = until

    def lose_rest(self, unit: Sequence[m.Frame]) -> None:
        """Lose all that goes the way of this unit (over HTTP on its exchange) from now on."""
        self._lost_ways.add(way_of(unit))

    def is_lost(self, unit: Sequence[m.Frame], *, ended: bool) -> bool:
        """Return whether this unit goes a way on which everything is lost; with the end of its
        exchange the way is forgotten.
        """
        way = way_of(unit)
        lost = way in self._lost_ways
        if ended:  # the client's end may follow the server's; nothing follows that
            self._lost_ways -= {way, (m.S2C, unit[0].exchange)}
        return lost

    def mute(self, exchange: int | None) -> None:
        """Send nothing more to the client on this exchange, which stays open. The one stream that
        carries everything, or stdio, cannot be muted.
        """
        if exchange is not None and exchange != self.stream:
            self.exchanges.muted.add(exchange)

    def unmute(self, exchange: int | None) -> None:
        """Send what follows on this exchange: the head of its response was held, not lost."""
        self.exchanges.muted.discard(exchange)

    def send(
        self, action: Send, subject: Subject, now: float, *, blocks: bool, extra: bool
    ) -> Iterable[Action]:
        """Yield frames, in their place among what is held back: behind what they belong to, unless
        they are `extra` to a message. If they `block`, everything of their direction waits behind
        them.
        """
        frames = action.frames
        if not frames:
            return
        due = now + action.after
        if extra and not blocks:
            yield from self.queue.send_freely(frames, due, now, end=("end", *way_of(frames)))
            return
        lines = [*lines_of(frames, subject, self.stream)]
        if due > now:
            lines.append(way_of(frames))
        yield from self.queue.send(frames, due, now, lines, barrier=blocks)

    def pass_on(self, frames: Sequence[m.Frame], subject: Subject, now: float) -> Iterable[Action]:
        """Return frames that no fault is for, behind what they must not overtake."""
        return self.queue.send(frames, now, now, lines_of(frames, subject, self.stream))


@attrs.frozen
class Effect:
    """A change of the session beyond the message of a fault, in its place among the fault's
    actions: `change` is given the session's state and the time.
    """

    change: Callable[[SessionState, float], Iterable[Action] | None]


def lines_of(frames: Sequence[m.Frame], subject: Subject, stream: int | None) -> Iterator[Hashable]:
    """Yield what this must not overtake: what belongs to the same call, or to the same exchange;
    and an end nothing at all that goes its way.
    """
    frame = frames[-1]
    is_beside = stream is not None and frame.direction is m.S2C and frame.exchange != stream
    if subject.call is not None and not is_beside:  # beside the event stream is no answer
        yield (frame.direction, subject.call.direction, subject.call.request.id)
    if frame.exchange != stream or isinstance(frame.fact, _ENDS):
        yield way_of(frames)
    if isinstance(frame.fact, _ENDS):
        yield ("end", *way_of(frames))


def way_of(frames: Sequence[m.Frame]) -> tuple[Hashable, ...]:
    return (frames[-1].direction, frames[-1].exchange)
