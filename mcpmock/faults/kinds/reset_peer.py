"""`reset_peer`: the connection is reset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.chunking import broken_off
from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Seconds, to_seconds


@attrs.frozen(kw_only=True)
class ResetPeer(Fault):
    """In place of the message comes a reset, `after` so long; on stdio the session ends.

    >>> fault = mcpmock.faults.ResetPeer(after="100ms", match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "reset_peer"
    usually: ClassVar[Toward] = "client"

    after: Seconds = attrs.field(default=0.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield from broken_off(seen, b"", how="reset", after=self.after)
