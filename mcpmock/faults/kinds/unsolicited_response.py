"""`unsolicited_response`: an answer that nobody asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import encode


@attrs.frozen(kw_only=True)
class UnsolicitedResponse(Fault):
    """In front of the message comes an empty result with `id`.

    >>> fault = mcpmock.faults.UnsolicitedResponse(match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "unsolicited_response"
    usually: ClassVar[Toward] = "client"

    id: int | str = 999_999

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield Send(seen.preceded_by(edit.response(encode(self.id), {})))
