"""`deep`: a message is nested deeply."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen, Toward
from mcpmock.faults.units import Ordinal
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit


@attrs.frozen(kw_only=True)
class Deep(Fault):
    """The message has one more member, an array in an array `depth` times, in its result or
    params.

    >>> fault = mcpmock.faults.Deep(depth=1000, match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "deep"
    usually: ClassVar[Toward] = "client"
    acts_on: ClassVar[On] = On.REQUEST | On.NOTIFICATION | On.RESPONSE

    depth: Ordinal = 10_000

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        nested = b"[" * self.depth + b"]" * self.depth
        yield Send(seen.with_raw(edit.enlarged(seen.frame.raw, nested)))
