"""`error`: a request gets an error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen
from mcpmock.faults.units import Code, Seconds, to_seconds
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit


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
        raw = edit.error(seen.request.id, self.code, self.message, self.data)
        yield Send(seen.answer(raw), self.after)
