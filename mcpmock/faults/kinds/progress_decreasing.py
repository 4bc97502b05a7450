"""`progress_decreasing`: progress goes back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen
from mcpmock.faults.units import Code
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import decode, encode, member


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
        yield Send(seen.with_raw(edit.with_member(raw, path, encode(less))))
