"""`duplicate`: a message comes more than once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Ordinal, Seconds, to_seconds
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class Duplicate(Fault):
    """The message comes `copies` times more, all at once or each `after` the one before.

    >>> fault = mcpmock.faults.Duplicate(copies=2, after="10ms", match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "duplicate"
    usually: ClassVar[Toward] = "client"

    copies: Ordinal = 1
    after: Seconds = attrs.field(default=0.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        raw = seen.frame.raw
        if not self.after:
            yield Send(seen.followed_by(*[raw] * self.copies))
            return
        yield Send(seen.followed_by())
        for number in range(self.copies):
            yield Send([seen.message(seen.direction, raw)], self.after * (number + 1))
