"""`respond_twice`: a request is answered twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen
from mcpmock.faults.units import Seconds, to_seconds
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import Response


@attrs.frozen(kw_only=True)
class RespondTwice(Fault):
    """The answer comes, and `after` it a second one: the `same`, or an `error`.

    >>> fault = mcpmock.faults.RespondTwice(second="error", match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "respond_twice"
    acts_on: ClassVar[On] = On.RESPONSE

    second: Literal["same", "error"] = "same"
    after: Seconds = attrs.field(default=0.0, converter=to_seconds)

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        answer, second = seen.subject.message, seen.frame.raw
        if self.second == "error" and isinstance(answer, Response):
            second = edit.error(answer.id or b"null", -32603, "Internal error")
        if not self.after:
            yield Send(seen.followed_by(second))
            return
        yield Send(seen.followed_by())
        yield Send([seen.message(seen.direction, second)], self.after)
