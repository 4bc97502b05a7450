"""`IdTable`: values by the ids of messages, which a peer may spell in another way."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

import attrs

from .messages import plain_id

_T = TypeVar("_T")


@attrs.define(eq=False, repr=False)
class IdTable(Generic[_T]):
    """In the order in which the ids came. `1`, `"1"` and `1.0` are different ids, and yet the
    TypeScript SDK answers `1` to `1.0`.

        >>> table = IdTable()
        >>> table.set(b"1.0", "call")
        >>> table.find(b"1"), table.find(b'"1"')
        ('call', None)

    Each step costs the same, however many ids there are and however they are spelled.
    """

    exact: OrderedDict[bytes, _T] = attrs.field(factory=OrderedDict)
    """By ids as spelled. Not to be changed."""
    _other_spellings: dict[bytes, OrderedDict[bytes, None]] = attrs.field(factory=dict)
    """By plain spelling, the ids that are spelled in another way: nearly always there is none."""

    def __len__(self) -> int:
        return len(self.exact)

    def set(self, id_: bytes, value: _T) -> None:
        """Set the value of an id; one that is known keeps its place."""
        # Digits are plain: nearly all ids are looked at here without a call.
        if not id_.isdigit() and (plain := plain_id(id_)) != id_:
            self._other_spellings.setdefault(plain, OrderedDict())[id_] = None
        self.exact[id_] = value

    def pop(self, id_: bytes) -> _T | None:
        """Return the value of exactly this id, which is removed."""
        value = self.exact.pop(id_, None)
        if self._other_spellings and (others := self._other_spellings.get(plain_id(id_))):
            others.pop(id_, None)
            if not others:
                del self._other_spellings[plain_id(id_)]
        return value

    def pop_oldest(self) -> _T | None:
        """Return the value of the oldest id, which is removed."""
        return self.pop(next(iter(self.exact)))

    def find(self, id_: bytes) -> _T | None:
        """Return the value of this id, else of one with the same value."""
        found = self.exact.get(id_)
        if found is not None:
            return found
        plain = plain_id(id_)
        others = self._other_spellings.get(plain)
        return self.exact.get(plain if others is None else next(iter(others)))
