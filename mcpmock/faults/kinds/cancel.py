"""Cancel: cancellations that the client, or the server, did not send. Where a cancellation has to
meet the response at an exact place, `races.fault` has the kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, MatchedMessage, frozen
from mcpmock.faults.match import Subject
from mcpmock.faults.segments import On
from mcpmock.options.units import Count
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.messages import Direction, Request, encode

_INITIALIZE = "initialize"
_UNKNOWN = b'"mcpmock-unknown"'
_CallKey = tuple[Direction, bytes]
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
class _WatchedCall:
    """What has come back for a call, and what the other side has asked meanwhile."""

    messages: int = 0
    questions: int = 0


@attrs.define
class _CancelMemory:
    """What `cancel` remembers of a session."""

    watched: dict[_CallKey, _WatchedCall] = attrs.field(factory=dict)
    initialize_id: bytes | None = None
    cancelled: tuple[_CallKey, float] | None = None
    """In a replay, the call that was cancelled last, and when."""

    def asked_by(self, direction: Direction) -> Sequence[_CallKey]:
        """Return the watched calls whose receiver asks what goes this way."""
        return [key for key in self.watched if key[0] is direction.back]


@frozen(kw_only=True)
class Cancel(Fault, acts_on=On.REQUEST, usually="server", memory=_CancelMemory):
    """The requester cancels the request, behind the `i`-th message that comes back for it.

    With `i` = 0 the cancellation follows the request itself. With `behind = "question"` the i-th
    request that the other side sends meanwhile is counted instead.

    `target` names what is cancelled: the `call`; the call `twice`; an `unknown` id; the id of the
    `finished` call, behind its response; the id with its `other_type` (`"1"` for `1`); the id of
    the other side's request (`other_direction`); no id at all (`no_id`); or `initialize`. The
    notification has a `reason` if one is given.

    >>> fault = mcpmock.faults.Cancel(i=1, target="twice", match={"tool": "slow"})
    """

    i: Count = 0
    behind: Literal["message", "question"] = "message"
    target: Target = "call"
    reason: str | None = None

    @property
    def _learns_initialize(self) -> bool:
        """Whether it needs the id of the handshake, which it does not match."""
        return self.target == _INITIALIZE and self.match.method != _INITIALIZE

    def fits(self, subject: Subject) -> bool:
        return subject.call is not None

    def continues(self, subject: Subject, on: On, memory: _CancelMemory) -> bool:
        if on is On.REQUEST:
            opens = subject.method == _INITIALIZE and self._learns_initialize
            return opens or bool(memory.asked_by(subject.frame.direction))
        call = subject.call
        if call is None or on not in On.RESPONSE | On.NOTIFICATION:
            return False
        key = call.direction, call.request.id
        return key in memory.watched or memory.cancelled is not None

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        memory: _CancelMemory = matched.memory
        message, call = matched.subject.message, matched.subject.call
        if call is not None and memory.cancelled == (
            (call.direction, call.request.id),
            matched.now,
        ):
            # A replay without pauses says all of a call at once, before it can read the
            # cancellation: what stands behind that is not said.
            return
        yield matched.passed()
        if isinstance(message, Request):
            if message.method == _INITIALIZE and self._learns_initialize:
                memory.initialize_id = message.id
                return
            asking = memory.asked_by(matched.direction)
            for key in asking:
                memory.watched[key].questions += 1
                yield from self._cancel(key, matched, dice, question=message.id)
            if asking:
                return
        assert call is not None
        key = (call.direction, call.request.id)
        if matched.on is On.REQUEST:
            memory.watched[key] = _WatchedCall()
        elif matched.direction is call.direction or key not in memory.watched:
            return
        else:
            memory.watched[key].messages += 1
        yield from self._cancel(key, matched, dice)
        if matched.on is On.RESPONSE:
            memory.watched.pop(key, None)

    def _cancel(
        self, key: _CallKey, matched: MatchedMessage, dice: Dice, question: bytes | None = None
    ) -> Iterable[Act]:
        """Yield the cancellation, if its time has come."""
        memory: _CancelMemory = matched.memory
        watched = memory.watched[key]
        if not self._is_time(watched, matched.on, asked=question is not None):
            return
        direction, id_ = key
        dice.drawn["i"] = watched.questions if self._counts_questions else watched.messages
        opening = memory.initialize_id or (b"0" if self._learns_initialize else id_)
        cancels = self._cancellations(id_, question, opening)
        yield Send([matched.message(direction, raw) for raw in cancels])
        memory.watched.pop(key)
        if matched.replayed and self.target in ("call", "twice"):
            memory.cancelled = key, matched.now

    @property
    def _counts_questions(self) -> bool:
        return self.behind == "question" or self.target == "other_direction"

    def _is_time(self, watched: _WatchedCall, on: On, *, asked: bool) -> bool:
        if self.target == "finished":
            return on is On.RESPONSE
        if self.target == "other_direction":
            return asked and watched.questions >= self.i
        if self._counts_questions and self.i:
            return asked and watched.questions == self.i
        return watched.messages == self.i

    def goes(self, direction: Direction) -> bool:
        """Return whether this side may cancel it: either may cancel what it has asked."""
        return True

    def _cancellations(self, id_: bytes, question: bytes | None, opening: bytes) -> list[bytes]:
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
