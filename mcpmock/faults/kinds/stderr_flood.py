"""`stderr_flood`: the server logs without end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Size, to_bytes
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.messages import S2C, Frame, Stderr


@attrs.frozen(kw_only=True)
class StderrFlood(Fault):
    """In front of the message come `size` bytes on standard error.

    >>> fault = mcpmock.faults.StderrFlood(size="1MiB")
    """

    kind: ClassVar[str] = "stderr_flood"
    usually: ClassVar[Toward] = "client"
    transports: ClassVar[Sequence[str]] = ("stdio",)

    size: Size = attrs.field(default=1 << 20, converter=to_bytes)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        line = b"mcpmock: " + b"x" * 70 + b"\n"
        flood = (line * (self.size // len(line) + 1))[: self.size]
        yield Send([Frame(S2C, flood, b"", Stderr())])
        yield seen.passed()
