"""`cancel`: the client cancels, when and what it is told to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen, Toward
from mcpmock.faults.match import Subject
from mcpmock.faults.units import Count
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.messages import Direction, Request, encode

_INITIALIZE = "initialize"
_UNKNOWN = b'"mcpmock-unknown"'
Target = Literal[
    "call",
    "twice",
    "unknown",
    "finished",
    "other_type",
    "other_direction",
    "no_id",
    "initialize",
]


@attrs.define
class _Watch:
    """One call: what has come back for it, and what the other side has asked meanwhile."""

    messages: int = 0
    questions: int = 0


@attrs.frozen(kw_only=True)
class Cancel(Fault):
    """Behind the i-th message that comes back for a request, or behind the i-th question that the
    other side asks meanwhile, a cancel of it goes out; with i = 0 right behind the request itself.

    `target` names something else than the call. Two need something to have happened: `finished` is
    the call's id when it has its answer, `other_direction` the id of a question, which is not ours.

    >>> fault = mcpmock.faults.Cancel(i=1, target="twice", match={"tool": "slow"})
    """

    kind: ClassVar[str] = "cancel"
    acts_on: ClassVar[On] = On.REQUEST
    goes_on: ClassVar[bool] = True
    usually: ClassVar[Toward] = "server"

    i: Count = 0
    behind: Literal["message", "question"] = "message"
    target: Target = "call"
    reason: str | None = None

    @property
    def overhears(self) -> bytes | None:
        """The handshake, for its id."""
        elsewhere = self.target == _INITIALIZE and self.match.method != _INITIALIZE
        return encode(_INITIALIZE) if elsewhere else None

    def fits(self, subject: Subject) -> bool:
        return isinstance(subject.message, Request) and subject.call is not None

    def continues(self, subject: Subject, on: On, memory: dict[Any, Any]) -> bool:
        if on is On.REQUEST:
            way = subject.frame.direction
            opens = subject.method == _INITIALIZE and self.overhears is not None
            return opens or any(key[0] is way.back for key in _watched(memory))
        call = subject.call
        known = call is not None and (call.direction, call.request.id) in memory
        return known and on in On.RESPONSE | On.NOTIFICATION

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        yield seen.passed()
        memory, message, call = seen.memory, seen.subject.message, seen.subject.call
        if isinstance(message, Request):
            if message.method == _INITIALIZE and self.overhears is not None:
                memory[_INITIALIZE] = message.id
                return
            asking = [key for key in _watched(memory) if key[0] is seen.direction.back]
            for key in asking:
                memory[key].questions += 1
                yield from self._act(key, seen, dice, question=message.id)
            if asking:
                return
        assert call is not None
        key = (call.direction, call.request.id)
        if seen.on is On.REQUEST:
            memory[key] = _Watch()
        elif seen.direction is call.direction:
            return
        else:
            memory[key].messages += 1
        yield from self._act(key, seen, dice)
        if seen.on is On.RESPONSE:
            memory.pop(key, None)

    def _act(
        self, key: tuple[Direction, bytes], seen: Seen, dice: Dice, question: bytes | None = None
    ) -> Iterable[Act]:
        """The cancel, if this is what it has waited for."""
        watch: _Watch = seen.memory[key]
        if not self._is_time(watch, seen.on, asked=question is not None):
            return
        direction, id_ = key
        dice.drawn["i"] = watch.questions if self._behind_questions else watch.messages
        opening = seen.memory.get(_INITIALIZE, id_ if self.overhears is None else b"0")
        cancels = self._cancels(id_, question, opening)
        yield Send([seen.message(direction, raw) for raw in cancels])
        seen.memory.pop(key)

    @property
    def _behind_questions(self) -> bool:
        return self.behind == "question" or self.target == "other_direction"

    def _is_time(self, watch: _Watch, on: On, *, asked: bool) -> bool:
        if self.target == "finished":
            return on is On.RESPONSE
        if self.target == "other_direction":
            return asked and watch.questions >= self.i
        if self._behind_questions and self.i:
            return asked and watch.questions == self.i
        return not asked and watch.messages == self.i

    def goes(self, direction: Direction) -> bool:  # noqa: ARG002
        """Whoever asks may cancel."""
        return True

    def _cancels(self, id_: bytes, question: bytes | None, opening: bytes) -> list[bytes]:
        inside = id_.strip(b'"')
        other = encode(id_.decode()) if inside == id_ else inside
        named = {
            "unknown": _UNKNOWN,
            "other_type": other if inside.isdigit() else b"0",
            "other_direction": question,
            "initialize": opening,
        }
        params: dict[str, Any] = {} if self.reason is None else {"reason": self.reason}
        raw = edit.notification(CANCELLED, params)
        if self.target != "no_id":
            raw = edit.with_member(raw, ["params", "requestId"], named.get(self.target) or id_)
        return [raw] * (2 if self.target == "twice" else 1)


def _watched(memory: dict[Any, Any]) -> Sequence[tuple[Direction, bytes]]:
    """The calls that are watched, by direction and id."""
    return [key for key in memory if key != _INITIALIZE]
