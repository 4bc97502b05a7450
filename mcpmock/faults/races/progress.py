"""`RaceProgress`: one call on its way to its cell: what its client has received, what waits for the
cancellation, and what was sent for each event, for a client that resumes the stream.

The reactions are in `fault`, which stands above. `grid` has the cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from mcpmock.faults.delay_queue import Keep
from mcpmock.faults.segments import On
from mcpmock.protocol import edit
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import PendingCall

from .grid import Cell

_NEVER = 1 << 30
"""More messages than ever pass: a parked message is taken out, or sent when its time is over."""


@attrs.define(eq=False)
class RaceProgress:
    """One call. `own` is the exchange that its messages come on; None where one stream carries
    everything (stdio, HTTP+SSE).
    """

    call: PendingCall
    own: int | None = None
    given: int = 0
    """Its messages that the client received before it cancelled: i, in the end."""
    emitted: int = 0
    """Its messages that the client receives in all: j, in the end."""
    total: int = 0
    """Its messages so far: k, once the response is among them."""
    highest: float = 0
    """The highest progress that the server has reported."""
    late: int = 0
    """Progress that the client receives behind its cancellation as a reaction to it."""
    cancelled: bool = False
    overtaken: bool = False
    """Whether the cancellation arrived before the call."""
    complete: bool = False
    """Whether the response is among the messages so far."""
    answered: bool = False
    """Whether the client has the response."""
    over: bool = False
    hurried: bool = False
    """Whether a message was sent because it had waited long enough: then nothing waits any more."""
    _parked: list[tuple[On, Keep]] = attrs.field(factory=list)
    _fates: dict[str, list[m.Frame] | Keep | None] = attrs.field(factory=dict)
    """By the id of an event: the frames that replaced it after the cancellation, its place if it is
    parked, or None if it was sent unchanged.
    """
    _exchanges: set[int] = attrs.field(factory=set)
    _gone: set[int] = attrs.field(factory=set)
    """The exchanges that the client has left, or that have ended."""

    def __attrs_post_init__(self) -> None:
        self._exchanges |= set() if self.own is None else {self.own}

    @property
    def key(self) -> tuple[m.Direction, bytes]:
        return self.call.direction, self.call.request.id

    @property
    def resumable(self) -> bool:
        """Whether the client may ask for its events again (`Last-Event-ID`)."""
        return bool(self._fates)

    def carries(self, exchange: int | None) -> bool:
        """Return whether this is the exchange of the call, or one that resumed it."""
        return exchange in self._exchanges

    def comes_on(self, exchange: int | None) -> None:
        """Note that a message of the call came on this exchange."""
        if exchange is not None and self.own is not None:
            self._exchanges.add(exchange)

    def leave(self, exchange: int) -> None:
        """Note that the client left this exchange."""
        self._gone.add(exchange)

    def count(self, on: On, message: m.Message | None) -> None:
        """Count a message of the server."""
        if on is not On.CLOSE and not self.complete:
            self.total += 1
            self.complete = on is On.RESPONSE
        amount = m.decode(m.member(getattr(message, "params", None), "progress") or b"0")
        self.highest = max(self.highest, amount if isinstance(amount, int | float) else 0)

    def more_progress(self) -> bytes | None:
        """Return one report more than the server made; None if the call has no progress token."""
        amount = max(self.highest, self.total) + 1
        return None if self.call.token is None else edit.progress(self.call.token, amount)

    def keep(self, on: On, unit: Sequence[m.Frame], seconds: float) -> Keep:
        """Park a message until the cancellation, no longer than `seconds`."""
        keep = Keep(unit, _NEVER, seconds)
        self._parked.append((on, keep))
        self._note(unit, keep)
        return keep

    def give(self, on: On, unit: Sequence[m.Frame]) -> None:
        """Count a message that the client receives before it cancels."""
        self._count_given(on)
        self._note(unit, None)

    def waits(self) -> bool:
        """Return whether anything is parked. What was parked for too long was sent, and counts."""
        while self._parked and not self._parked[0][1].frames:
            on, _ = self._parked.pop(0)
            self._count_given(on)
            self.hurried = True
        return bool(self._parked)

    def _count_given(self, on: On) -> None:
        self.given += on is not On.CLOSE
        self.answered |= on is On.RESPONSE

    def take(self) -> list[tuple[On, list[m.Frame]]]:
        """Take out everything that is parked, in order."""
        parked, self._parked = self._parked, []
        return [(on, keep.take()) for on, keep in parked]

    def reached(self) -> dict[str, object]:
        """Return the cell that was reached, for the receipt; without k until the response has come,
        on which j may depend as well.
        """
        k = self.total + (not self.complete)
        cell = Cell(self.given, self.emitted, k)
        size = {"k": k} if self.complete else {}
        early = {"overtaken": True} if self.overtaken else {}
        return {"i": cell.i, "j": cell.j, **size, "cell": cell.name, **early}

    def settle(self, unit: Sequence[m.Frame], sent: Iterable[m.Frame]) -> list[m.Frame]:
        """Note the frames that replace a unit behind the cancellation; those that can be sent."""
        fate = [*sent]
        self._note(unit, fate)
        return self._deliverable(fate)

    def _deliverable(self, frames: Iterable[m.Frame]) -> list[m.Frame]:
        """Return the frames on exchanges that are open; an `ExchangeEnd` among them closes its
        own.
        """
        sent = []
        for frame in frames:
            if frame.exchange in self._gone:
                continue
            sent.append(frame)
            if isinstance(frame.fact, m.ExchangeEnd) and frame.exchange is not None:
                self._gone.add(frame.exchange)
        return sent

    def again(self, unit: Sequence[m.Frame]) -> list[m.Frame] | None:
        """Return the frames to send for an event that came before, on the exchange that it comes on
        now; None for a new one.
        """
        id_, exchange = _event_of(unit), unit[-1].exchange
        if id_ is None or id_ not in self._fates:
            return None
        fate = self._fates[id_]
        if isinstance(fate, list):
            return self._deliverable(_moved(frame, exchange) for frame in fate)
        if fate is None or not fate.frames:
            return [*unit]
        fate.frames[:] = unit  # it stays parked, on the exchange that the client reads now
        return []

    def _note(self, unit: Sequence[m.Frame], fate: list[m.Frame] | Keep | None) -> None:
        id_ = _event_of(unit)
        if id_ is not None:
            self._fates[id_] = fate


def _event_of(unit: Sequence[m.Frame]) -> str | None:
    """Return the id of the event that carries a message."""
    ids = [frame.fact.id for frame in unit if isinstance(frame.fact, m.SseMeta)]
    return next((id_ for id_ in ids if id_), None)


def _moved(frame: m.Frame, exchange: int | None) -> m.Frame:
    return m.Frame(frame.direction, frame.raw, frame.eol, frame.fact, exchange, frame.wire)
