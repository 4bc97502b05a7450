"""`EventOrder`: the `[schedule]` of a plan: recorded events in another order, and fewer of them.

`explore` writes it down where it found something; `drive` and `replay` play a cassette that way. An
event is named by its number `n` in its take. Pure; only `plan` reads files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from mcpmock.cassette.model import Cassette, Event

_MOVE = re.compile(r"([1-9][0-9]*) before ([1-9][0-9]*)")
_KEYS = ("take", "session", "order", "disconnect", "keep", "strict")


@attrs.frozen(kw_only=True)
class EventOrder:
    """Which session is played, and what of it, in which order.

    >>> order = mcpmock.faults.EventOrder(order=("7 before 6",), keep=(1, 2, 3, 6, 7))
    >>> list(order.moves())
    [(7, 6)]
    """

    take: int = 1
    session: int = 1
    order: tuple[str, ...] = ()
    """Each moves one event directly in front of another one: `7 before 6`."""
    disconnect: tuple[int, ...] = ()
    """Behind each of these events the client loses the connection that carries it, and resumes its
    event stream (Streamable HTTP). Only `drive` and `explore` do so.
    """
    keep: tuple[int, ...] | None = None
    """The events that are played; all, if it is not given."""
    strict: bool = False
    """Whether what a specification only advises against is a failure."""

    def moves(self) -> Iterator[tuple[int, int]]:
        """Yield the moves as numbers of events. Raises ValueError for what is none."""
        for text in self.order:
            found = _MOVE.fullmatch(text)
            if found is None or found[1] == found[2]:
                raise ValueError(f"order: expected '7 before 6', not {text!r}")
            yield int(found[1]), int(found[2])

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


def order_of(written: Any) -> tuple[EventOrder | None, list[str]]:
    """Return the `[schedule]` of a plan, if it has one, and all mistakes in it."""
    if written is None:
        return None, []
    if not isinstance(written, Mapping):
        return None, ["schedule: expected a table"]
    mistakes = [f"schedule.{key}: unknown key" for key in sorted(set(written) - set(_KEYS))]
    values: dict[str, Any] = {}
    for key in ("take", "session"):
        if _is_number(number := written.get(key, 1)):
            values[key] = number
        else:
            mistakes.append(f"schedule.{key}: expected a whole number from 1")
    strict = written.get("strict", False)
    if not isinstance(strict, bool):
        mistakes.append("schedule.strict: expected true or false")
    keep = written.get("keep")
    if keep is not None and not _is_list(keep, int):
        mistakes.append("schedule.keep: expected numbers of events")
    disconnect = written.get("disconnect", [])
    if not _is_list(disconnect, int):
        mistakes.append("schedule.disconnect: expected numbers of events")
    order = written.get("order", [])
    if not _is_list(order, str):
        mistakes.append("schedule.order: expected texts such as '7 before 6'")
    if mistakes:
        return None, mistakes
    kept = None if keep is None else tuple(keep)
    found = EventOrder(
        **values, order=tuple(order), disconnect=tuple(disconnect), keep=kept, strict=strict
    )
    try:
        list(found.moves())
    except ValueError as error:
        return None, [f"schedule.{error}"]
    return found, []


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_list(value: Any, of: type) -> bool:
    return isinstance(value, list) and all(isinstance(one, of) for one in value)


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
