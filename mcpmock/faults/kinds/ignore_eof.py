"""`ignore_eof`: the server does not end when its client has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen


@attrs.frozen(kw_only=True)
class IgnoreEof(Fault):
    """The end of the client's input never arrives: whoever wants the server to end has to say so by
    a signal.

    >>> fault = mcpmock.faults.IgnoreEof()
    """

    kind: ClassVar[str] = "ignore_eof"
    acts_on: ClassVar[On] = On.END
    transports: ClassVar[Sequence[str]] = ("stdio",)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        return ()
