"""`reorder`: a message is overtaken by those behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Keep, Seen, Toward
from mcpmock.faults.units import Ordinal, Seconds, to_seconds


@attrs.frozen(kw_only=True)
class Reorder(Fault):
    """The message comes behind the next `behind` that go its way, and after `at_most` in any
    case.

    >>> fault = mcpmock.faults.Reorder(behind=1, match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "reorder"
    usually: ClassVar[Toward] = "client"
    transports: ClassVar[Sequence[str]] = ("stdio", "sse")

    behind: Ordinal = 1
    at_most: Seconds = attrs.field(default=1.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield Keep(seen.unit, self.behind, self.at_most)
