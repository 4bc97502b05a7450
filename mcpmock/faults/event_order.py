"""`EventOrder`: the `[schedule]` of a plan: recorded events in another order, and fewer of them.

`explore` writes it down where it found something; `drive` and `replay` play a cassette that way. An
event is named by its number `n` in its take. Pure; only `plan` reads files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

import attrs
import msgspec

from mcpmock.cassette.model import Cassette, Event
from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.options.units import Knob, Ordinal, shown

_MOVE = lazy_pattern(r"([1-9][0-9]*) before ([1-9][0-9]*)")


@attrs.frozen(kw_only=True)
class _MoveKnob(Knob):
    def read(self, value: object) -> Any:
        found = _MOVE.fullmatch(value) if isinstance(value, str) else None
        if found is None or found[1] == found[2]:
            raise ValueError(f"expected {self.what}, not {shown(value)}")
        return value


_MOVES = _MoveKnob(what="a move as '7 before 6'")
Move = Annotated[str, _MOVES]


@attrs.frozen(kw_only=True)
class EventOrder:
    """Which session is played, and what of it, in which order.

    >>> order = mcpmock.faults.EventOrder(order=("7 before 6",), keep=(1, 2, 3, 6, 7))
    >>> list(order.moves())
    [(7, 6)]
    """

    take: Ordinal = 1
    session: Ordinal = 1
    order: tuple[Move, ...] = ()
    """Each moves one event directly in front of another one: `7 before 6`."""
    disconnect: tuple[Ordinal, ...] = ()
    """Behind each of these events the client loses the connection that carries it, and resumes its
    event stream (Streamable HTTP). Only `drive` and `explore` do so.
    """
    keep: tuple[Ordinal, ...] | None = None
    """The events that are played; all, if it is not given."""
    strict: bool = False
    """Whether what a specification only advises against is a failure."""

    def moves(self) -> Iterator[tuple[int, int]]:
        """Yield the moves as numbers of events. Raises ValueError for an invalid move."""
        for text in self.order:
            moved, target = _MOVES.read(text).split(" before ")
            yield int(moved), int(target)

    def arranged(self, events: Sequence[Event]) -> list[Event]:
        """Return the events of the session in this order. Ends are always kept; a move of or to an
        event that is not there changes nothing.
        """
        kept = None if self.keep is None else set(self.keep)
        left = [e for e in events if kept is None or e.n in kept or e.end is not msgspec.UNSET]
        for moved, target in self.moves():
            places = {event.n: place for place, event in enumerate(left)}
            if moved in places and target in places:
                event = left.pop(places[moved])
                left.insert(next(i for i, e in enumerate(left) if e.n == target), event)
        return left

    def applied(self, cassette: Cassette) -> Cassette:
        """Return the cassette with that session alone, as it is to be played."""
        take = cassette.takes[min(self.take, len(cassette.takes)) - 1]
        events = self.arranged([event for event in take.events if event.s == self.session])
        only = msgspec.structs.replace(take, events=events, footer=None, sealed=None)
        return msgspec.structs.replace(cassette, takes=[only])


def written_order(order: EventOrder) -> Iterable[str]:
    """Yield the lines of a plan that say it."""
    yield "[schedule]"
    if order.take != 1:
        yield f"take = {order.take}"
    if order.session != 1:
        yield f"session = {order.session}"
    if order.order:
        yield f"order = {list(order.order)!r}".replace("'", '"')
    if order.disconnect:
        yield f"disconnect = {list(order.disconnect)!r}"
    if order.keep is not None:
        yield f"keep = {list(order.keep)!r}"
    if order.strict:
        yield "strict = true"
