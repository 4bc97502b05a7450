"""`empty_response`: a response without a body."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen, Toward
from mcpmock.faults.responses import refusal
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class EmptyResponse(Fault):
    """The request never arrives, and is answered with 200, the usual type and no byte.

    >>> fault = mcpmock.faults.EmptyResponse(match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "empty_response"
    acts_on: ClassVar[On] = On.REQUEST
    only: ClassVar[Toward | None] = "server"
    transports: ClassVar[Sequence[str]] = ("streamable-http", "sse")

    content_type: str = "application/json"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield Send(refusal(seen.exchange, 200, {"Content-Type": self.content_type}))
