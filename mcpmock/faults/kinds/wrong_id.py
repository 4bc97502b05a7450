"""`wrong_id`: an answer has an id that nobody asked with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import Response, decode, encode


@attrs.frozen(kw_only=True)
class WrongId(Fault):
    """The answer comes with `id`, or with the next number.

    >>> fault = mcpmock.faults.WrongId(match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "wrong_id"
    acts_on: ClassVar[On] = On.RESPONSE

    id: int | str | None = None

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        answer = seen.subject.message
        assert isinstance(answer, Response)
        right = decode(answer.id or b"null")
        wrong = right + 1 if isinstance(right, int) else f"{right}-wrong"
        id_ = encode(wrong if self.id is None else self.id)
        yield Send(seen.with_raw(edit.with_id(seen.frame.raw, id_)))
