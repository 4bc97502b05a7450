"""`invalid_utf8`: a message that is no text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class InvalidUtf8(Fault):
    """A byte that UTF-8 does not have stands in the last text of the message.

    >>> fault = mcpmock.faults.InvalidUtf8(match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "invalid_utf8"
    usually: ClassVar[Toward] = "client"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        raw = seen.frame.raw
        at = max(raw.rfind(b'"'), 0)
        yield Send(seen.with_raw(raw[:at] + b"\xff" + raw[at:]))
