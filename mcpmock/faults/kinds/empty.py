"""`empty`: an answer with nothing in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import Response


@attrs.frozen(kw_only=True)
class Empty(Fault):
    """The answer has an empty result, whatever it was to have.

    >>> fault = mcpmock.faults.Empty(match={"method": "tools/list"})
    """

    kind: ClassVar[str] = "empty"
    acts_on: ClassVar[On] = On.RESPONSE

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        answer = seen.subject.message
        assert isinstance(answer, Response)
        yield Send(seen.with_raw(edit.response(answer.id or b"null", {})))
