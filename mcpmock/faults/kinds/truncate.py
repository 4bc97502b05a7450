"""`truncate`: a message breaks off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import Size, to_bytes
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class Truncate(Fault):
    """Only the first `keep` bytes of the message come, or as many as are drawn; then the end of
    the line, as if that were all.

    >>> fault = mcpmock.faults.Truncate(keep="10B", match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "truncate"
    usually: ClassVar[Toward] = "client"

    keep: Size | None = attrs.field(default=None, converter=attrs.converters.optional(to_bytes))

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        raw = seen.frame.raw
        keep = dice.below("keep", len(raw), 1) if self.keep is None else self.keep
        yield Send(seen.with_raw(raw[:keep]))
