"""`Fault`: what all kinds have in common, what each is given (`Seen`, `Dice`) and may answer.

A kind is a frozen class in a module of its own. Its fields are its knobs, `acts_on` says which
messages it is for, and `apply` gives what becomes of one: the verbs are those of every stage
(`Send`, `Hangup`), and what is not sent on ends there. Nothing is waited for and nothing is drawn
but from the dice that are given. `engine` calls it and keeps the order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from random import Random
from typing import Any, ClassVar, Literal, Self, get_type_hints

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.errors import McpMockError
from mcpmock.pipeline.stage import Action, Send
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Direction,
    ExchangeEnd,
    Frame,
    HttpResponse,
    Request,
)

from .delay_queue import Keep
from .distributions import Distribution, draw
from .match import Match, Subject, to_match
from .responses import as_stream, refusal, uncounted
from .segments import On
from .session_state import Effect
from .units import knob_of, shown, words_of

OWN = "mcpmock-"
"""What the ids of requests begin with that faults make up. The answers are for nobody."""
Toward = Literal["client", "server", "both"]
Head = Literal["body", "any"]
"""The head of a response with a body in JSON; or of an event stream, too, which is then held until
its first event."""
Load = Callable[[str], Cassette]
"""Loads a cassette that a plan names."""
EVERY_TRANSPORT = ("stdio", "sse", "streamable-http")
HTTP = ("streamable-http", "sse")


class PlanError(McpMockError):
    """A plan has mistakes; all of them are in `mistakes`, each with its path. `keyed` are those of
    one fault, which begin with the knob's name; `mistakes` then name the fault.

    >>> try:
    ...     mcpmock.faults.Delay(delay="2 moons", match={"nth": 0})
    ... except mcpmock.faults.PlanError as error:
    ...     for mistake in error.mistakes:
    ...         print(mistake)
    delay: delay: expected a duration as "250ms" or "2s", not '2 moons'
    delay: match.nth: expected a whole number from 1, not 0
    """

    exit_code = 3

    def __init__(self, mistakes: Sequence[str], title: str | None = None) -> None:
        self.keyed = list(mistakes)
        self.mistakes = [m if title is None else f"{title}: {m}" for m in mistakes]
        super().__init__("; ".join(self.mistakes))


Act = Action | Keep | Effect


@attrs.define
class Dice:
    """Where chance comes from, and what has been drawn this time, for the receipt."""

    random: Random
    drawn: dict[str, Any] = attrs.field(factory=dict)

    def seconds(
        self, middle: float, jitter: float, distribution: Distribution, samples: Sequence[float]
    ) -> float:
        seconds = draw(middle, jitter, distribution, samples, self.random)
        self.drawn["seconds"] = seconds
        return seconds

    def below(self, name: str, end: int, start: int = 0) -> int:
        """A whole number from `start`, below `end`."""
        self.drawn[name] = self.random.randrange(start, max(end, start + 1))
        return int(self.drawn[name])

    def bytes(self, name: str, size: int) -> bytes:
        """Noise. The receipt has its first bytes."""
        noise = self.random.randbytes(size)
        self.drawn[name] = noise[:16].hex()
        return noise


@attrs.frozen(kw_only=True)
class Seen:
    """A message that a fault is for, in the frames that carry it.

    `unit` is the message's frame, behind the `SseMeta` of its event or the head of its exchange
    where these came with it. `stream` is the exchange that carries messages to the client where the
    request's own does not (HTTP+SSE).
    """

    unit: Sequence[Frame]
    subject: Subject
    now: float
    on: On
    transport: str = "stdio"
    era: str | None = None
    stream: int | None = None
    memory: Any = attrs.field(factory=dict)
    """What the fault remembers of this session: a dict, or what its kind names."""

    @property
    def direction(self) -> Direction:
        return self.unit[0].direction

    @property
    def exchange(self) -> int | None:
        return self.unit[0].exchange

    @property
    def frame(self) -> Frame:
        """That of the message."""
        return self.unit[-1]

    @property
    def request(self) -> Request | None:
        """The request itself, or the one that the message belongs to."""
        message = self.subject.message
        call = self.subject.call
        return message if isinstance(message, Request) else None if call is None else call.request

    def passed(self) -> Send:
        """The message as it came."""
        return Send(self.unit)

    def with_raw(self, raw: bytes, eol: bytes | None = None) -> list[Frame]:
        """The unit with another message in place of its own."""
        old = self.frame
        message = Frame(old.direction, raw, old.eol if eol is None else eol, None, old.exchange)
        return [*self.heads(), message]

    def heads(self) -> list[Frame]:
        """What stands before the message, without a length that may not be right any more."""
        return [uncounted(frame) for frame in self.unit[:-1]]

    def message(self, direction: Direction, raw: bytes) -> Frame:
        """A message of our own, on the same way as this one if it has the same direction."""
        return Frame(direction, raw, b"\n", None, self._exchange(direction))

    def answer(self, raw: bytes) -> list[Frame]:
        """A whole answer to the request, as if its receiver had given it: over HTTP with the
        exchange around it.
        """
        back = self.direction.back
        if self.exchange is None or back is C2S:
            return [self.message(back, raw)]
        if self.stream is not None:
            return [*refusal(self.exchange, 202), self.message(back, raw)]
        head = HttpResponse(200, "OK", [("Content-Type", "application/json")])
        return [
            Frame(S2C, fact=head, exchange=self.exchange),
            Frame(S2C, raw, exchange=self.exchange),
            Frame(S2C, fact=ExchangeEnd(), exchange=self.exchange),
        ]

    def accepted(self) -> list[Frame]:
        """What a server says to a POST of what wants no answer; nothing where there is none."""
        if self.exchange is None or self.direction is S2C:
            return []
        return refusal(self.exchange, 202)

    def followed_by(self, *raws: bytes) -> list[Frame]:
        """The unit, and messages that go the same way behind it: a body in JSON has room for one,
        so it becomes an event stream.
        """
        way = self.direction
        return [*self._streamed(), *(Frame(way, raw, exchange=self.exchange) for raw in raws)]

    def preceded_by(self, *raws: bytes) -> list[Frame]:
        """The same with the messages in front."""
        unit, way = self._streamed(), self.direction
        heads = [frame for frame in unit[:-1] if isinstance(frame.fact, HttpResponse)]
        before = [Frame(way, raw, exchange=self.exchange) for raw in raws]
        return [*heads, *before, *unit[len(heads) :]]

    def _streamed(self) -> list[Frame]:
        return [as_stream(frame) for frame in self.unit]

    def _exchange(self, direction: Direction) -> int | None:
        if direction is S2C and self.stream is not None:
            return self.stream
        return self.exchange


# `==`, `hash` and `repr` are written here once: attrs would compile them for every kind, which is
# half of what it takes to create one of their classes (0.70 ms each with, 0.38 ms without), and a
# run with one fault creates all the kinds of a theme. So a kind is declared with
# `eq=False, repr=False`.
@attrs.frozen(kw_only=True, eq=False, repr=False)
class Fault:
    """One entry of a plan: what all kinds have in common. Raises PlanError where a knob is out of
    bounds.

    >>> fault = mcpmock.faults.Drop(name="lost", toward="client", must_fire=True)
    >>> isinstance(fault, mcpmock.faults.Fault), fault.title, fault.kind
    (True, 'lost', 'drop')
    """

    kind: ClassVar[str] = ""
    """The name in a plan: that of the class, in lower case with underscores."""
    acts_on: ClassVar[On] = On.MESSAGE
    usually: ClassVar[Toward] = "both"
    """The direction (`toward`) if the plan names none."""
    only: ClassVar[Toward | None] = None
    """The one direction in which the fault exists."""
    transports: ClassVar[Sequence[str]] = EVERY_TRANSPORT
    """The transports on which the fault exists."""
    about: ClassVar[Sequence[str]] = ()
    """The methods (globs) that the fault is limited to if `match` names none."""
    blocks: ClassVar[bool] = False
    """Whether everything that goes in the same direction waits behind it."""
    needs_head: ClassVar[Head | None] = None
    """The HTTP head with which the message has to come."""
    memory: ClassVar[type[Any]] = dict
    """What makes `Seen.memory`, once in each session."""

    def __init_subclass__(
        cls,
        *,
        acts_on: On | None = None,
        usually: Toward | None = None,
        only: Toward | None = None,
        transports: Sequence[str] | None = None,
        about: str | Sequence[str] | None = None,
        blocks: bool | None = None,
        needs_head: Head | None = None,
        memory: type[Any] | None = None,
    ) -> None:
        """A kind says what it is about in the head of its class. attrs creates a class with slots a
        second time, without these words: what is not given stays as it is.
        """
        given = {
            "acts_on": acts_on,
            "usually": usually,
            "only": only,
            "transports": transports,
            "about": (about,) if isinstance(about, str) else about,
            "blocks": blocks,
            "needs_head": needs_head,
            "memory": memory,
        }
        for name, value in given.items():
            if value is not None:
                setattr(cls, name, value)
        cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    name: str | None = None
    toward: Toward | None = None
    match: Match = attrs.field(factory=Match, converter=to_match)
    must_fire: bool = False

    def __attrs_post_init__(self) -> None:
        mistakes = [*_wrong(self, ""), *_wrong(self.match, "match."), *self.contradictions()]
        if self.only is not None and self.toward not in (self.only, "both", None):
            mistakes.append(f"toward: {self.kind} is only for what goes to the {self.only}")
        if mistakes:
            raise PlanError(mistakes, self.title)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in attrs.fields(type(self))]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        hashed = [field.name for field in attrs.fields(type(self)) if field.hash is not False]
        return hash((type(self), *(getattr(self, name) for name in hashed)))

    def __repr__(self) -> str:
        names = [field.name for field in attrs.fields(type(self))]
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({values})"

    @property
    def title(self) -> str:
        """The name in receipts and summaries."""
        return self.name or self.kind

    @property
    def may_continue(self) -> bool:
        """Whether the kind goes on with what it began, as long as its memory holds anything."""
        return type(self).continues is not Fault.continues

    @property
    def overhears(self) -> bytes | None:
        """Bytes in messages outside `match` with which the fault may `continue` even while its
        memory is empty.
        """
        return None

    def subject(self, subject: Subject) -> Subject:
        """What `match` is held against."""
        return subject

    def with_samples(self, load: Load) -> Self:  # noqa: ARG002
        """The fault with what it draws from the recordings that it names, if any."""
        return self

    def contradictions(self) -> Iterable[str]:
        """What is wrong with knobs that are each within their bounds."""
        return ()

    def goes(self, direction: Direction) -> bool:
        """Whether the fault is for what goes this way."""
        toward = self.only or self.toward or self.usually
        return toward == "both" or (toward == "client") is (direction is S2C)

    def fits(self, subject: Subject) -> bool:  # noqa: ARG002
        """Whether there is anything that the fault could do to such a message."""
        return True

    def continues(self, subject: Subject, on: On, memory: Any) -> bool:  # noqa: ARG002
        """Whether the fault began something with an earlier message that this one belongs to; then
        it is for this one too, whatever `match` says.
        """
        return False

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:
        """What becomes of a message. Times count from its arrival."""
        raise NotImplementedError


@cache
def _hints(cls: Hashable) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def _wrong(values: Any, path: str) -> Iterable[str]:
    """What is out of bounds of an attrs object."""
    cls: Any = type(values)
    hints = _hints(cls)
    for field in attrs.fields(cls):
        value, knob = getattr(values, field.name), knob_of(hints[field.name])
        if (words := words_of(hints[field.name])) and value is not None and value not in words:
            yield f"{path}{field.name}: expected one of {', '.join(words)}, not {shown(value)}"
        if knob is None or value is None:
            continue
        for one in value if isinstance(value, tuple) else (value,):
            if wrong := knob.check(one):
                yield f"{path}{field.name}: {wrong}"
