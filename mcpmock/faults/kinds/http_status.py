"""`http_status`: the server refuses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen, Toward
from mcpmock.faults.responses import refusal
from mcpmock.faults.units import Count, Status
from mcpmock.pipeline.stage import Send


@attrs.frozen(kw_only=True)
class HttpStatus(Fault):
    """The request never arrives, and is answered with this `status`; where that is said, with a
    `Retry-After`, and with a `body` of plain text.

    >>> fault = mcpmock.faults.HttpStatus(status=429, retry_after=2, match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "http_status"
    acts_on: ClassVar[On] = On.ASKED | On.RESPONSE
    only: ClassVar[Toward | None] = "server"
    transports: ClassVar[Sequence[str]] = ("streamable-http", "sse")

    status: Status = 503
    retry_after: Count | None = None
    body: str | None = None

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        fields = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        yield Send(refusal(seen.exchange, self.status, fields, self.body))
