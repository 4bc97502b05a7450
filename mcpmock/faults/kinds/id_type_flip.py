"""`id_type_flip`: an answer has the id as another type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import Response, encode


@attrs.frozen(kw_only=True)
class IdTypeFlip(Fault):
    """The answer to `1` says `"1"`, and the other way round; of an id that is no number in any
    spelling it says 0.

    >>> fault = mcpmock.faults.IdTypeFlip(match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "id_type_flip"
    acts_on: ClassVar[On] = On.RESPONSE

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        answer = seen.subject.message
        assert isinstance(answer, Response)
        id_ = answer.id or b"null"
        inside = id_.strip(b'"')
        flipped = encode(id_.decode()) if id_ == inside else inside if inside.isdigit() else b"0"
        yield Send(seen.with_raw(edit.with_id(seen.frame.raw, flipped)))
