"""`corrupt`: bits of a message flip."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Ordinal
from mcpmock.pipeline.stage import Send

bytes_of = bytes  # a knob has that name


@attrs.frozen(kw_only=True)
class Corrupt(Fault):
    """One bit flips in each of `bytes` bytes of the message. Its line stays a line.

    >>> fault = mcpmock.faults.Corrupt(bytes=2, match={"tool": "get_*", "probability": 0.1})
    """

    kind: ClassVar[str] = "corrupt"
    usually: ClassVar[Toward] = "client"

    bytes: Ordinal = 1

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        data = bytearray(seen.frame.raw)
        for number in range(min(self.bytes, len(data))):
            at = dice.below(f"at{number}", len(data))
            bit = next(b for b in (1, 2, 4, 8) if data[at] ^ b not in b"\r\n")
            data[at] ^= bit
        yield Send(seen.with_raw(bytes_of(data)))
