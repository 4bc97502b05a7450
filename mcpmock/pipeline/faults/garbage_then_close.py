"""`garbage_then_close`: noise, and the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from .fault import Act, Dice, Fault, Seen, Toward
from .pieces import broken_off
from .values import Size


@attrs.frozen(kw_only=True)
class GarbageThenClose(Fault):
    """In place of the message come `size` bytes of noise, and the stream ends."""

    kind: ClassVar[str] = "garbage_then_close"
    usually: ClassVar[Toward] = "client"

    size: Size = 64

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        yield from broken_off(seen, dice.bytes("noise", self.size))
