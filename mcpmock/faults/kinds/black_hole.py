"""`black_hole`: from now on nothing comes, and nothing says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward


@attrs.frozen(kw_only=True)
class BlackHole(Fault):
    """The message and all that goes its way after it (over HTTP: on its exchange) is lost; what
    would have carried it stays open.

    >>> fault = mcpmock.faults.BlackHole(match={"method": "tools/call", "nth": 2})
    """

    kind: ClassVar[str] = "black_hole"
    usually: ClassVar[Toward] = "client"
    swallows: ClassVar[bool] = True

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        return ()
