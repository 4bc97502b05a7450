"""Errors: requests that are refused, and tools that fail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, MatchedMessage, frozen
from mcpmock.faults.segments import On
from mcpmock.options.units import Code, Seconds, to_seconds
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.error_codes import INTERNAL_ERROR, INVALID_PARAMS


@frozen(kw_only=True)
class Error(Fault, acts_on=On.REQUEST, aliases={"text": "message"}):
    """The request never arrives and is answered with this JSON-RPC error, `after` a time.

    >>> fault = mcpmock.faults.Error(code=-32002, message="gone", match={"uri": "file:*"})
    """

    code: Code = INTERNAL_ERROR
    message: str = "Internal error"
    data: Any = attrs.field(default=None, hash=False)
    after: Seconds = attrs.field(default=0.0, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        assert matched.request is not None
        raw = edit.error(matched.request.id, self.code, self.message, self.data)
        yield Send(matched.answer(raw), self.after)


@frozen(kw_only=True)
class InitializeError(Error, about=("initialize",)):
    """`initialize` never arrives and is answered with this JSON-RPC error, `after` a time.

    >>> fault = mcpmock.faults.InitializeError(message="not today")
    """

    code: Code = INVALID_PARAMS
    message: str = "Unsupported protocol version"


@frozen(kw_only=True)
class ToolError(Fault, acts_on=On.REQUEST, about=("tools/call",), aliases={"message": "text"}):
    """The call never arrives and is answered with an `isError` result with this `text`.

    The result comes `after` a time.

    >>> fault = mcpmock.faults.ToolError(text="no luck", match={"tool": "get_*"})
    """

    text: str = "the tool failed"
    after: Seconds = attrs.field(default=0.0, converter=to_seconds)

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        assert matched.request is not None
        failed = {"content": [{"type": "text", "text": self.text}], "isError": True}
        result = edit.result(failed, matched.era)
        yield Send(matched.answer(edit.response(matched.request.id, result)), self.after)
