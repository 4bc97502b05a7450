"""`cancel`: the client cancels, when and what it is told to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import attrs

from mcpmock.protocol.messages import Direction, Request, encode
from mcpmock.protocol.session import CANCELLED
from mcpmock.protocol.stage import Send

from . import altering
from .fault import Act, Dice, Fault, On, Seen, Toward
from .match import Subject
from .values import Count

_UNKNOWN = b'"mcpmock-unknown"'
Target = Literal["call", "twice", "unknown", "other_type", "no_id", "initialize"]


@attrs.frozen(kw_only=True)
class Cancel(Fault):
    """Behind the i-th message that comes back for a request, a cancel of it goes out; with i = 0
    right behind the request itself. `target` names something else than the call.

    >>> fault = mcpmock.faults.Cancel(i=1, target="twice", match={"tool": "slow"})
    """

    kind: ClassVar[str] = "cancel"
    acts_on: ClassVar[On] = On.REQUEST
    goes_on: ClassVar[bool] = True
    usually: ClassVar[Toward] = "server"
    adds: ClassVar[bool] = True

    i: Count = 0
    target: Target = "call"
    reason: str | None = None

    def fits(self, subject: Subject) -> bool:
        return isinstance(subject.message, Request) and subject.call is not None

    def continues(self, subject: Subject, on: On, memory: dict[Any, Any]) -> bool:
        call = subject.call
        known = call is not None and (call.direction, call.request.id) in memory
        return known and on in On.RESPONSE | On.NOTIFICATION

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        call = seen.subject.call
        assert call is not None
        key = (call.direction, call.request.id)
        yield seen.passed()
        if seen.direction is call.direction and seen.on is not On.REQUEST:
            return
        come = seen.memory[key] = 0 if seen.on is On.REQUEST else seen.memory[key] + 1
        if come == self.i:
            dice.drawn["i"] = come
            yield Send([seen.message(call.direction, raw) for raw in self._cancels(call.request)])
        if come >= self.i or seen.on is On.RESPONSE:
            del seen.memory[key]

    def goes(self, direction: Direction) -> bool:  # noqa: ARG002
        """Whoever asks may cancel."""
        return True

    def _cancels(self, request: Request) -> list[bytes]:
        inside = request.id.strip(b'"')
        other = encode(request.id.decode()) if inside == request.id else inside
        named = {
            "unknown": _UNKNOWN,
            "other_type": other if inside.isdigit() else b"0",
            "initialize": b"0",
        }
        params: dict[str, Any] = {} if self.reason is None else {"reason": self.reason}
        raw = altering.notification(CANCELLED, params)
        if self.target != "no_id":
            id_ = named.get(self.target, request.id)
            raw = altering.with_member(raw, ["params", "requestId"], id_)
        return [raw] * (2 if self.target == "twice" else 1)
