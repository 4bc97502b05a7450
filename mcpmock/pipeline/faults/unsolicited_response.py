"""`unsolicited_response`: an answer that nobody asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.protocol import altering
from mcpmock.protocol.messages import encode
from mcpmock.protocol.stage import Send

from .fault import Act, Dice, Fault, Seen, Toward


@attrs.frozen(kw_only=True)
class UnsolicitedResponse(Fault):
    """In front of the message comes an empty result with `id`.

    >>> fault = mcpmock.faults.UnsolicitedResponse(match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "unsolicited_response"
    usually: ClassVar[Toward] = "client"

    id: int | str = 999_999

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield Send(seen.preceded_by(altering.response(encode(self.id), {})))
