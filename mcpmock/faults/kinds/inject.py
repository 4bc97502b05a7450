"""`inject`: a message that nobody sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class Inject(Fault):
    """`text` comes as a message of its own, byte for byte, in front of each that matches or
    (`behind`) behind it.

    >>> said = '{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}'
    >>> fault = mcpmock.faults.Inject(text=said)
    """

    kind: ClassVar[str] = "inject"
    usually: ClassVar[Toward] = "client"

    text: str = ""
    behind: bool = False

    def contradictions(self) -> Iterable[str]:
        if not self.text:
            yield "text: missing; it is what comes"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        raw = self.text.encode()
        yield Send(seen.followed_by(raw) if self.behind else seen.preceded_by(raw))
