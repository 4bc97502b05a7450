"""`id_type_flip`: an answer has the id as another type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.protocol import altering
from mcpmock.protocol.messages import Response, encode
from mcpmock.protocol.stage import Send

from .fault import Act, Dice, Fault, On, Seen


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
        yield Send(seen.with_raw(altering.with_id(seen.frame.raw, flipped)))
