"""`close_before_response`: the connection closes before the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.chunking import closing
from mcpmock.faults.fault import Act, Dice, Fault, On, Seen, Toward


@attrs.frozen(kw_only=True)
class CloseBeforeResponse(Fault):
    """The server has heard the request, and the connection closes in place of the answer.

    >>> fault = mcpmock.faults.CloseBeforeResponse(match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "close_before_response"
    acts_on: ClassVar[On] = On.RESPONSE
    usually: ClassVar[Toward] = "client"
    transports: ClassVar[Sequence[str]] = ("streamable-http", "sse")

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield from closing(seen, "closed")
