"""`json_instead_of_sse`: a body in JSON where an event stream was to come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.protocol.messages import S2C, Frame, HttpResponse
from mcpmock.protocol.stage import Send

from .fault import Act, Dice, Fault, Lost, On, Seen, Toward
from .match import Subject
from .pieces import with_type


@attrs.frozen(kw_only=True)
class JsonInsteadOfSse(Fault):
    """The answer comes alone, as JSON; progress and whatever else its stream had is lost."""

    kind: ClassVar[str] = "json_instead_of_sse"
    usually: ClassVar[Toward] = "client"
    holds_streams: ClassVar[bool] = True
    transports: ClassVar[Sequence[str]] = ("streamable-http",)

    def fits(self, subject: Subject) -> bool:
        return subject.call is not None

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        heads = seen.memory.setdefault("heads", {})
        first = seen.unit[0]
        if isinstance(first.fact, HttpResponse):
            heads[seen.exchange] = with_type(first, "application/json")
        if seen.on is On.RESPONSE and (head := heads.pop(seen.exchange, None)) is not None:
            yield Send([head, Frame(S2C, seen.frame.raw, exchange=seen.exchange)])
        else:
            yield Lost()
