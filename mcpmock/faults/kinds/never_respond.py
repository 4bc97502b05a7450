"""`never_respond`: a request is never answered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen


@attrs.frozen(kw_only=True)
class NeverRespond(Fault):
    """The answer is lost, and what would have carried it stays open.

    >>> fault = mcpmock.faults.NeverRespond(match={"tool": "slow"})
    """

    kind: ClassVar[str] = "never_respond"
    acts_on: ClassVar[On] = On.RESPONSE
    mutes: ClassVar[bool] = True

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        return ()
