"""`invalid_json`: a message that is no JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class InvalidJson(Fault):
    """The message has a comma too many in front of its last bracket, where every parser stumbles;
    the rest of it is as it was.

    >>> fault = mcpmock.faults.InvalidJson(match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "invalid_json"
    usually: ClassVar[Toward] = "client"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        raw = seen.frame.raw.rstrip()
        yield Send(seen.with_raw(raw[:-1] + b",," + raw[-1:]))
