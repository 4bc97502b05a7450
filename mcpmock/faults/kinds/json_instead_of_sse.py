"""`json_instead_of_sse`: a body in JSON where an event stream was to come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Lost, On, Seen, Toward
from mcpmock.faults.match import Subject
from mcpmock.faults.responses import with_type
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import S2C, Frame, HttpResponse


@attrs.frozen(kw_only=True)
class JsonInsteadOfSse(Fault):
    """The answer comes alone, as JSON; progress and whatever else its stream had is lost.

    >>> fault = mcpmock.faults.JsonInsteadOfSse(match={"method": "tools/call"})
    """

    kind: ClassVar[str] = "json_instead_of_sse"
    only: ClassVar[Toward | None] = "client"
    needs_head: ClassVar[bool] = True
    by_exchange: ClassVar[bool] = True
    holds_streams: ClassVar[bool] = True
    goes_on: ClassVar[bool] = True
    transports: ClassVar[Sequence[str]] = ("streamable-http",)

    def continues(self, subject: Subject, on: On, memory: dict[Any, Any]) -> bool:
        return subject.frame.exchange in memory and on in On.MESSAGE | On.CLOSE

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        head, number = seen.unit[0], seen.exchange
        if isinstance(head.fact, HttpResponse):
            if head.fact.media_type != EVENT_STREAM:
                yield seen.passed()
                return
            seen.memory[number] = with_type(head, "application/json")
        if seen.on is On.CLOSE:
            del seen.memory[number]
            yield seen.passed()
        elif seen.on is On.RESPONSE:
            answer = Frame(S2C, seen.frame.raw, exchange=number)
            yield Send([seen.memory.pop(number), answer])
        else:
            yield Lost()
