"""`garbage_then_close`: noise, and the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.chunking import broken_off
from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Size, to_bytes


@attrs.frozen(kw_only=True)
class GarbageThenClose(Fault):
    """In place of the message come `size` bytes of noise, and the stream ends.

    >>> fault = mcpmock.faults.GarbageThenClose(size="1KiB", match={"nth": 4})
    """

    kind: ClassVar[str] = "garbage_then_close"
    usually: ClassVar[Toward] = "client"

    size: Size = attrs.field(default=64, converter=to_bytes)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        yield from broken_off(seen, dice.bytes("noise", self.size))
