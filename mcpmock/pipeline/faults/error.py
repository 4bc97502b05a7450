"""`error`: a request gets an error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import attrs

from mcpmock.protocol import altering
from mcpmock.protocol.stage import Send

from .fault import Act, Dice, Fault, On, Seen
from .values import Code, Seconds, to_seconds


@attrs.frozen(kw_only=True)
class Error(Fault):
    """The request never arrives, and is answered with this error.

    >>> fault = mcpmock.faults.Error(code=-32002, message="gone", match={"uri": "file:*"})
    """

    kind: ClassVar[str] = "error"
    acts_on: ClassVar[On] = On.REQUEST

    code: Code = -32603
    message: str = "Internal error"
    data: Any = attrs.field(default=None, hash=False)
    after: Seconds = attrs.field(default=0.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        assert seen.request is not None
        raw = altering.error(seen.request.id, self.code, self.message, self.data)
        yield Send(seen.answer(raw), self.after)
