"""`half_close`: the server says no more, and still listens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.protocol.messages import S2C, Direction, Frame, StreamEnd
from mcpmock.protocol.stage import Send

from .fault import Act, Dice, Fault, Seen, Toward


@attrs.frozen(kw_only=True)
class HalfClose(Fault):
    """Behind the message the server's output ends; its input does not.

    >>> fault = mcpmock.faults.HalfClose(match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "half_close"
    usually: ClassVar[Toward] = "client"
    swallows: ClassVar[bool] = True
    transports: ClassVar[Sequence[str]] = ("stdio",)

    def goes(self, direction: Direction) -> bool:
        return direction is S2C and super().goes(direction)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield Send([*seen.unit, Frame(S2C, b"", b"", StreamEnd())])
