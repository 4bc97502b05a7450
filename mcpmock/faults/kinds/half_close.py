"""`half_close`: the server says no more, and still listens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.messages import S2C, Frame, StreamEnd


@attrs.frozen(kw_only=True)
class HalfClose(Fault):
    """Behind the message the server's output ends; its input does not.

    >>> fault = mcpmock.faults.HalfClose(match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "half_close"
    only: ClassVar[Toward | None] = "client"
    swallows: ClassVar[bool] = True
    transports: ClassVar[Sequence[str]] = ("stdio",)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield Send([*seen.unit, Frame(S2C, b"", b"", StreamEnd())])
