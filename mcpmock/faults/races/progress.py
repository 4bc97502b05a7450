"""`RaceProgress`: one call on its way to its cell: what its client has been given, what waits for
the cancellation, and what became of each event, for a client that resumes the stream.

It knows nothing of reactions: those are in `fault`, which stands above. `grid` has the cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from mcpmock.faults.delay_queue import Keep
from mcpmock.faults.segments import On
from mcpmock.protocol.correlation import PendingCall
from mcpmock.protocol.messages import Direction, ExchangeEnd, Frame, SseMeta

from .grid import Cell

_NEVER = 1 << 30
"""More messages than ever pass: what is kept is taken out, or comes when its time is over."""


@attrs.define(eq=False)
class RaceProgress:
    """One call. `own` is the exchange that its messages come on; None where one stream carries
    everything (stdio, HTTP+SSE).
    """

    call: PendingCall
    own: int | None = None
    given: int = 0
    """How many of its messages the client got before it cancelled: i, in the end."""
    emitted: int = 0
    """How many the client got in all, or is to get: j, in the end."""
    total: int = 0
    """How many there were so far: k, once the answer is among them."""
    cancelled: bool = False
    overtaken: bool = False
    """Whether the cancel was there before the call."""
    complete: bool = False
    """Whether the answer is among them."""
    answered: bool = False
    """Whether the client has it."""
    over: bool = False
    _hurried: bool = False
    """Whether anything came because it had waited long enough: then nothing waits any more."""
    _parked: list[tuple[On, Keep]] = attrs.field(factory=list)
    _fates: dict[str, list[Frame] | Keep | None] = attrs.field(factory=dict)
    """By event: what the client got in its place after the cancel, where it is parked, or None for
    one that went as it came.
    """
    _exchanges: set[int] = attrs.field(factory=set)
    _gone: set[int] = attrs.field(factory=set)
    """The exchanges on which nobody listens any more."""

    def __attrs_post_init__(self) -> None:
        self._exchanges |= set() if self.own is None else {self.own}

    @property
    def key(self) -> tuple[Direction, bytes]:
        return self.call.direction, self.call.request.id

    @property
    def resumable(self) -> bool:
        """Whether its client may ask for its events again."""
        return bool(self._fates)

    def carries(self, exchange: int | None) -> bool:
        """Whether this exchange is its own, or one that resumed that."""
        return exchange in self._exchanges

    def comes_on(self, exchange: int | None) -> None:
        """A message of it came there."""
        if exchange is not None and self.own is not None:
            self._exchanges.add(exchange)

    def leave(self, exchange: int) -> None:
        """The client listens there no more."""
        self._gone.add(exchange)

    def count(self, on: On) -> None:
        """The server said this."""
        if on is not On.CLOSE and not self.complete:
            self.total += 1
            self.complete = on is On.RESPONSE

    def keep(self, on: On, unit: Sequence[Frame], seconds: float) -> Keep:
        """The message waits for the cancel, for so long at most."""
        keep = Keep(unit, _NEVER, seconds)
        self._parked.append((on, keep))
        self._note(unit, keep)
        return keep

    def give(self, on: On, unit: Sequence[Frame]) -> None:
        """The client gets this before it cancels."""
        self.given += on is not On.CLOSE
        self.answered |= on is On.RESPONSE
        self._note(unit, None)

    def waits(self) -> bool:
        """Whether anything is parked. What came out by itself was given."""
        left = [(on, keep) for on, keep in self._parked if keep.frames]
        for on, _ in self._parked[: len(self._parked) - len(left)]:
            self.given += on is not On.CLOSE
            self.answered |= on is On.RESPONSE
            self._hurried = True
        self._parked = left
        return bool(left)

    @property
    def hurried(self) -> bool:
        """Whether it has waited too long already."""
        return self._hurried

    def take(self) -> list[tuple[On, list[Frame]]]:
        """All that is parked, in order; nothing is then."""
        parked, self._parked = self._parked, []
        return [(on, keep.take()) for on, keep in parked]

    def reached(self) -> dict[str, object]:
        """The cell that was reached, for the receipt; without k as long as the answer is to come,
        on which j may depend, too.
        """
        k = self.total + (not self.complete)
        cell = Cell(self.given, self.emitted, k)
        size = {"k": k} if self.complete else {}
        early = {"overtaken": True} if self.overtaken else {}
        return {"i": cell.i, "j": cell.j, **size, "cell": cell.name, **early}

    def settle(self, unit: Sequence[Frame], sent: Iterable[Frame]) -> list[Frame]:
        """Behind the cancel this is sent in place of a unit: what of it goes to somebody."""
        fate = [*sent]
        self._note(unit, fate)
        return self.heard(fate)

    def heard(self, frames: Iterable[Frame]) -> list[Frame]:
        """Those that go to somebody; behind the end of an exchange nobody is there."""
        sent = []
        for frame in frames:
            if frame.exchange in self._gone:
                continue
            sent.append(frame)
            if isinstance(frame.fact, ExchangeEnd) and frame.exchange is not None:
                self._gone.add(frame.exchange)
        return sent

    def again(self, unit: Sequence[Frame]) -> list[Frame] | None:
        """What is sent for an event that was seen before, on the exchange that it comes on now;
        None for one that is new.
        """
        id_, exchange = _event_of(unit), unit[-1].exchange
        if id_ is None or id_ not in self._fates:
            return None
        match self._fates[id_]:
            case None:
                return [*unit]
            case Keep() as keep if keep.frames:
                keep.frames[:] = unit  # where the client is now
                return []
            case Keep():
                return [*unit]
            case list() as fate:
                return self.heard(_moved(frame, exchange) for frame in fate)

    def _note(self, unit: Sequence[Frame], fate: list[Frame] | Keep | None) -> None:
        id_ = _event_of(unit)
        if id_ is not None:
            self._fates[id_] = fate


def _event_of(unit: Sequence[Frame]) -> str | None:
    """The id of the event that a message is in."""
    ids = [frame.fact.id for frame in unit if isinstance(frame.fact, SseMeta)]
    return next((id_ for id_ in ids if id_), None)


def _moved(frame: Frame, exchange: int | None) -> Frame:
    return Frame(frame.direction, frame.raw, frame.eol, frame.fact, exchange, frame.wire)
