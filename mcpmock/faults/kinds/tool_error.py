"""`tool_error`: a tool says that it failed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen
from mcpmock.faults.units import Seconds, to_seconds
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit


@attrs.frozen(kw_only=True)
class ToolError(Fault):
    """The call never arrives, and is answered with a result that has `isError` and this text.

    >>> fault = mcpmock.faults.ToolError(text="no luck", match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "tool_error"
    acts_on: ClassVar[On] = On.REQUEST
    about: ClassVar[str | None] = "tools/call"

    text: str = "the tool failed"
    after: Seconds = attrs.field(default=0.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        assert seen.request is not None
        failed = {"content": [{"type": "text", "text": self.text}], "isError": True}
        result = edit.result(failed, seen.era)
        yield Send(seen.answer(edit.response(seen.request.id, result)), self.after)
