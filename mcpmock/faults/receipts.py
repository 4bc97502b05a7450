"""`FaultRun`: the faults of a plan while they run, for all sessions together; and the receipt of
each that fires.

Each fault has a count and a random generator of its own: what one fault draws changes nothing for
another. Faults may be added and removed at any time: sessions look at `armed` anew with everything
that passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import attrs

from mcpmock.protocol.messages import Notification, Request, decode, member
from mcpmock.protocol.methods import NAMES
from mcpmock.redaction.masks import masked_text

from .event_order import EventOrder
from .fault import Fault, MatchedMessage, PlanError
from .match import Match, MatchPlace, Subject, Turn, concerns, fits
from .never_fired import Asked, reason_of
from .plan import Plan
from .segments import On

_MAX_RECEIPTS = 1000
"""How many receipts are kept, the newest."""
_MAX_HEARD = 1000
"""How many methods and names are kept, the first."""
_MAX_NAME_SIZE = 256
"""How long a method or a name may be that is kept."""


@attrs.define(eq=False)
class Armed:
    """A fault that may fire: what `FaultControl.add` gives.

    >>> with mcpmock.serve("weather.jsonl") as server:
    ...     slow = server.faults.add("delay:delay=1s")
    ...     slow.fault.kind, slow.fired
    ('delay', 0)
    """

    fault: Fault
    random: Random
    number: int = 0
    """How many faults the run had before this one."""
    matches: Sequence[Match] = attrs.field(init=False)
    """The fault's `match`, once for each method that its kind is about."""
    turn: Turn = attrs.field(init=False)

    @property
    def fired(self) -> int:
        """How often the fault has fired."""
        return self.turn.fired

    def __attrs_post_init__(self) -> None:
        match, about = self.fault.match, self.fault.about
        if match.method is None and about:
            self.matches = [attrs.evolve(match, method=method) for method in about]
        else:
            self.matches = [match]
        self.turn = Turn(match)

    def fits(self, subject: Subject, place: MatchPlace) -> bool:
        """Return whether the fault is for such a message, ignoring `nth` and the like."""
        return any(fits(match, subject, place) for match in self.matches)

    def concerns(self, request: Request) -> bool:
        """Return whether the fault may be for what belongs to this request."""
        return any(concerns(match, request) for match in self.matches)

    def is_here(self, session: int, transport: str) -> bool:
        """Return whether the fault can fire in this session at all."""
        match = self.fault.match
        return (
            match.probability > 0
            and self.fault.acts_on is not On.LOGIN
            and transport in self.fault.transports
            and match.session in (None, session)
            and match.transport in (None, transport)
        )


@attrs.frozen
class Receipt:
    """That a fault fired: which, how many times so far, on which message, with what it drew."""

    fault: Fault
    fired: int
    matched: MatchedMessage
    drawn: dict[str, Any]

    @property
    def value(self) -> dict[str, Any]:
        """The receipt in a recording."""
        request, subject = self.matched.request, self.matched.subject
        told: dict[str, Any] = {"kind": self.fault.kind, "fired": self.fired}
        if self.fault.name is not None:
            told = {"name": self.fault.name, **told}
        told["on"] = _WORDS.get(self.matched.on, "message")
        if subject.method is not None:
            told["method"] = subject.method
        if request is not None:
            told["id"] = request.id.decode()
        return {**told, "drawn": self.drawn} if self.drawn else told


_WORDS = {
    On.REQUEST: "request",
    On.RESPONSE: "response",
    On.NOTIFICATION: "notification",
    On.EXCHANGE: "exchange",
    On.BEGIN: "begin",
    On.END: "end",
    On.CLOSE: "close",
    On.HANGUP: "close",
}
Note = Callable[[Receipt, float], None]
"""Called when a fault fires, with the time, before what the fault sends goes out."""


@attrs.define
class FaultRun:
    """A plan at work."""

    seed: int = 0
    armed: list[Armed] = attrs.field(factory=list)
    """It is replaced as a whole, because faults may be added in another thread than the one that
    runs the sessions.
    """
    spent: list[Armed] = attrs.field(factory=list)
    """The faults that were removed, for the summary."""
    mistakes: list[str] = attrs.field(factory=list)
    """Internal errors of faults. The message then passed unchanged."""
    receipts: list[dict[str, Any]] = attrs.field(factory=list)
    """The newest receipts as in a recording, each with its `session`."""
    schedule: EventOrder | None = None
    """The order in which the recording is to be played, if the plan has one."""
    spoken: set[str] = attrs.field(factory=set)
    """The transports of the sessions so far."""
    heard: dict[tuple[str, bytes | None], None] = attrs.field(factory=dict)
    """What both sides asked where a fault could fire, once for each method and name."""
    listeners: list[Callable[[int, Receipt], object]] = attrs.field(factory=list)
    """Called with the session and the receipt of each fault that fires."""
    _numbers: int = 0

    @classmethod
    def of(cls, plan: Plan) -> FaultRun:
        run = cls(plan.seed, schedule=plan.schedule)
        run.armed = [*map(run._armed, plan.faults)]
        return run

    def add(self, fault: Fault) -> Armed:
        """Add a fault from now on."""
        armed = self._armed(fault)
        self.armed = [*self.armed, armed]
        return armed

    def remove(self, armed: Armed) -> None:
        """Stop a fault. What it holds back already is sent at its time. A fault that is gone is
        ignored.
        """
        left = [one for one in self.armed if one is not armed]
        if len(left) < len(self.armed):
            self.spent.append(armed)
            self.armed = left

    def refuse_logins(self) -> None:
        """Raise PlanError for faults of the theme `auth`: here clients do not log in."""
        kinds = [armed.fault.kind for armed in self.armed if armed.fault.acts_on is On.LOGIN]
        if kinds:
            why = "there is no login here; faults of this kind need `replay --auth oauth`"
            raise PlanError([f"{kind}: {why}" for kind in kinds])

    def clear(self) -> None:
        for armed in self.armed:
            self.remove(armed)

    def note(self, receipt: Receipt, session: int) -> None:
        """Keep the receipt of a fault that fired."""
        self.receipts.append({**receipt.value, "session": session})
        del self.receipts[:-_MAX_RECEIPTS]
        for listener in self.listeners:
            listener(session, receipt)

    def hear(self, subject: Subject) -> None:
        """Keep the method and the name of what is asked, to say why a fault never fired."""
        for one in (subject, *subject.items):
            if len(self.heard) == _MAX_HEARD:
                break
            sent = one.message
            if not isinstance(sent, Request | Notification) or len(sent.method) > _MAX_NAME_SIZE:
                continue
            key = NAMES.get(sent.method)
            name = (member(sent.params, key) if key else None) or b""
            is_text = name.startswith(b'"') and len(name) <= _MAX_NAME_SIZE
            self.heard[sent.method, name if is_text else None] = None

    def _armed(self, fault: Fault) -> Armed:
        armed = Armed(fault, Random(f"{self.seed}/{self._numbers}"), self._numbers)
        self._numbers += 1
        return armed

    def summary(self, asked: Sequence[Asked] | None = None) -> list[str]:
        """Return a line for each fault: how often it fired, or why it never did, by what clients
        `asked`, if that is known.
        """
        return [self._line(armed, asked) for armed in self.all()]

    def never_fired(self, asked: Sequence[Asked] | None = None) -> list[str]:
        """Return the lines of the summary for the faults that never fired."""
        return [self._line(armed, asked) for armed in self.all() if not armed.turn.fired]

    def owing(self) -> list[Fault]:
        """Return the faults with `must_fire` that never fired."""
        return [a.fault for a in self.all() if a.fault.must_fire and not a.turn.fired]

    def tallies(self) -> list[dict[str, Any]]:
        """Return the summary as JSON values."""
        return [
            {
                "fault": armed.fault.title,
                "kind": armed.fault.kind,
                "fired": armed.turn.fired,
                "matched": armed.turn.seen,
                "must_fire": armed.fault.must_fire,
            }
            for armed in self.all()
        ]

    def all(self) -> Sequence[Armed]:
        """Return all faults, those that were removed first."""
        return [*self.spent, *self.armed]

    def _line(self, armed: Armed, asked: Sequence[Asked] | None) -> str:
        fault, turn = armed.fault, armed.turn
        title = fault.kind if fault.name is None else f"{fault.name} ({fault.kind})"
        if turn.fired:
            return f"fault {title}: fired {turn.fired} of {turn.seen} times that it matched"
        never = "never fired" + (", and it must" if fault.must_fire else "")
        heard = [
            (method, {} if (text := decode(name or b"null")) is None else {NAMES[method]: text})
            for method, name in self.heard
        ]
        if len(heard) == _MAX_HEARD:
            heard = []  # there may have been more
        reason = reason_of(fault, turn, self.spoken, asked, heard)
        return f"fault {title}: {never}: {masked_text(reason)}"
