"""`progress_decreasing`: progress goes back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.protocol import altering
from mcpmock.protocol.messages import decode, encode, member
from mcpmock.protocol.stage import Send

from .fault import Act, Dice, Fault, On, Seen
from .values import Code


@attrs.frozen(kw_only=True)
class ProgressDecreasing(Fault):
    """The more progress a call has made, the less it reports: `most` minus what it was.

    >>> fault = mcpmock.faults.ProgressDecreasing(match={"tool": "slow"})
    """

    kind: ClassVar[str] = "progress_decreasing"
    acts_on: ClassVar[On] = On.NOTIFICATION
    about: ClassVar[str | None] = "notifications/progress"

    most: Code = 1000

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        raw, path = seen.frame.raw, ["params", "progress"]
        made = decode(member(raw, *path) or b"0")
        less = self.most - made if isinstance(made, int | float) else self.most
        yield Send(seen.with_raw(altering.with_member(raw, path, encode(less))))
