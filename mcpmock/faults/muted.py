"""`MutedExchanges`: the HTTP exchanges that are withheld from one side, because a fault took what
began them or what was to end them.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from mcpmock.protocol.messages import S2C, Direction, ExchangeEnd, Frame, HttpRequest, HttpResponse

from .segments import Unit


@attrs.define
class MutedExchanges:
    """`consumed` are exchanges whose request did not reach the server, `muted` those on which the
    client gets nothing more. A client that leaves ends both.
    """

    consumed: set[int] = attrs.field(factory=set)
    muted: set[int] = attrs.field(factory=set)

    def __bool__(self) -> bool:
        return bool(self.consumed or self.muted)

    def covers(self, direction: Direction, number: int, *, ended: bool) -> bool:
        """True if the frame must be withheld because its exchange is muted, which it may end."""
        covered = number in (self.muted if direction is S2C else self.consumed)
        if ended:
            self.muted.discard(number)
            self.consumed.discard(number)
        return covered

    def note_sent(self, unit: Unit, sent: Iterable[Frame]) -> None:
        """Learns from what was sent in place of a unit, either way."""
        first, sent = unit.frames[0], list(sent)
        number = first.exchange
        if number is None or type(unit.frames[-1].fact) is ExchangeEnd:
            return  # behind an end nothing comes anyway
        kinds = {type(frame.fact) for frame in sent if frame.exchange == number}
        back = {type(f.fact) for f in sent if f.exchange == number and f.direction is S2C}
        consumed = isinstance(first.fact, HttpRequest) and HttpRequest not in kinds
        ended = ExchangeEnd in back
        headless = isinstance(first.fact, HttpResponse) and HttpResponse not in kinds
        if consumed and not ended:  # an exchange that was answered is over
            self.consumed.add(number)
        if headless or (ended and not consumed):
            self.muted.add(number)
