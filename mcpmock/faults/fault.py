"""`Fault`: the base class of all kinds; `MatchedMessage` and `Dice`: the arguments of `apply`.

A kind is a frozen class in the module of its theme. Its fields are its knobs, `acts_on` says which
messages it is for, and `apply` returns actions: those of every stage (`Send`, `Hangup`), and `Keep`
and `Effect`. A message that is not sent is lost. A fault never waits, and draws random numbers from
its dice only. `engine` calls it and keeps the order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache, partial
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypedDict, Unpack, get_type_hints

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.errors import McpMockError
from mcpmock.options.units import list_mistakes
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
from .match import Match, Subject, match_mistakes, to_match
from .responses import as_stream, plain_response, uncounted
from .segments import On
from .session_state import Effect

OWN = "mcpmock-"
"""Prefix of the ids of requests that faults send. Their responses are discarded."""
Toward = Literal["client", "server", "both"]
Load = Callable[[str], Cassette]
"""Loads a cassette that a plan names."""
EVERY_TRANSPORT = ("stdio", "sse", "streamable-http")
HTTP = ("streamable-http", "sse")


class FaultLevel(IntEnum):
    """What of a message a fault acts on. The faults of a plan act in this order: what is in pieces,
    broken off, or the bytes of a body, is no message that another one could change.
    """

    MESSAGE = 0
    BODY = 1
    """It changes the HTTP response that carries the message. The head of an event stream is held
    for it until the first event.
    """
    END = 2
    """It ends the stream, mostly in the place of the message."""
    PIECES = 3
    """It sends the bytes of the message in pieces."""


class PlanError(McpMockError):
    """A plan has mistakes; all of them are in `mistakes`, each with its path. `keyed` are those of
    one fault, which begin with the knob's name; `mistakes` then name the fault.

    >>> try:
    ...     mcpmock.faults.Delay(delay="2 moons", match={"nth": 0})
    ... except mcpmock.faults.PlanError as error:
    ...     for mistake in error.mistakes:
    ...         print(mistake)
    delay: delay: expected a duration as "250ms" or "2s", or a number of seconds, not '2 moons'
    delay: match.nth: expected a whole number from 1, not 0
    """

    exit_code = 3

    def __init__(self, mistakes: Sequence[str], title: str | None = None) -> None:
        self.keyed = list(mistakes)
        self.mistakes = [m if title is None else f"{title}: {m}" for m in mistakes]
        super().__init__("; ".join(self.mistakes))

    @property
    def lines(self) -> list[str]:
        return self.mistakes


Act = Action | Keep | Effect


@attrs.define
class Dice:
    """The random generator of a fault, and what was drawn from it this time, for the receipt."""

    random: Random
    drawn: dict[str, Any] = attrs.field(factory=dict)

    def seconds(
        self, middle: float, jitter: float, distribution: Distribution, samples: Sequence[float]
    ) -> float:
        seconds = draw(middle, jitter, distribution, samples, self.random)
        self.drawn["seconds"] = seconds
        return seconds

    def below(self, name: str, end: int, start: int = 0) -> int:
        """Return a whole number from `start`, below `end`."""
        self.drawn[name] = self.random.randrange(start, max(end, start + 1))
        return int(self.drawn[name])

    def bytes(self, name: str, size: int) -> bytes:
        """Draw random bytes; the receipt shows the first 16."""
        noise = self.random.randbytes(size)
        self.drawn[name] = noise[:16].hex()
        return noise


@attrs.frozen(kw_only=True)
class MatchedMessage:
    """A message that a fault fires on, in the frames that carry it.

    `unit` is the message's frame, behind the `SseMeta` of its event or the head of its exchange
    where these came with it. `stream` is the exchange that carries messages to the client where the
    request's own does not (HTTP+SSE).
    """

    unit: Sequence[Frame]
    subject: Subject
    now: float
    on: On
    transport: str = "stdio"
    replayed: bool = False
    """Whether a recording answers, and no server."""
    era: str | None = None
    stream: int | None = None
    memory: Any = attrs.field(factory=dict)
    """What the fault remembers of this session: a dict, or the `memory` of its kind."""

    @property
    def direction(self) -> Direction:
        return self.unit[0].direction

    @property
    def exchange(self) -> int | None:
        return self.unit[0].exchange

    @property
    def frame(self) -> Frame:
        """The frame of the message."""
        return self.unit[-1]

    @property
    def request(self) -> Request | None:
        """The request itself, or the one that the message belongs to."""
        message = self.subject.message
        call = self.subject.call
        return message if isinstance(message, Request) else None if call is None else call.request

    def passed(self) -> Send:
        """Return the message as it came."""
        return Send(self.unit)

    def with_raw(self, raw: bytes) -> list[Frame]:
        """Return the unit with another message in place of its own."""
        old = self.frame
        message = Frame(old.direction, raw, old.eol, None, old.exchange)
        return [*self.heads(), message]

    def heads(self) -> list[Frame]:
        """Return the frames in front of the message, without a `Content-Length` that may be wrong
        now.
        """
        return [uncounted(frame) for frame in self.unit[:-1]]

    def message(self, direction: Direction, raw: bytes) -> Frame:
        """Return a message that the fault adds; in the same direction it is on the same
        exchange.
        """
        return Frame(direction, raw, b"\n", None, self._exchange(direction))

    def answer(self, raw: bytes) -> list[Frame]:
        """Return a whole answer to the request, as if its receiver had given it: over HTTP with the
        exchange around it.
        """
        back = self.direction.back
        if self.exchange is None or back is C2S:
            return [self.message(back, raw)]
        if self.stream is not None:
            return [*plain_response(self.exchange, 202), self.message(back, raw)]
        head = HttpResponse(200, "OK", [("Content-Type", "application/json")])
        return [
            Frame(S2C, fact=head, exchange=self.exchange),
            Frame(S2C, raw, exchange=self.exchange),
            Frame(S2C, fact=ExchangeEnd(), exchange=self.exchange),
        ]

    def accepted(self) -> list[Frame]:
        """Return the 202 for a POST without a request; nothing where there is no exchange."""
        if self.exchange is None or self.direction is S2C:
            return []
        return plain_response(self.exchange, 202)

    def followed_by(self, *raws: bytes) -> list[Frame]:
        """Return the unit, and messages that go the same way behind it: a body in JSON has room for
        one, so it becomes an event stream.
        """
        way = self.direction
        return [*self._streamed(), *(Frame(way, raw, exchange=self.exchange) for raw in raws)]

    def trailed_by(self, raws: Sequence[bytes], after: float) -> Iterable[Send]:
        """Yield the unit, and messages that go the same way, each `after` the one before."""
        if not after:
            yield Send(self.followed_by(*raws))
            return
        yield Send(self.followed_by())
        for number, raw in enumerate(raws, 1):
            yield Send([self.message(self.direction, raw)], after * number)

    def preceded_by(self, *raws: bytes) -> list[Frame]:
        """Return the same with the messages in front."""
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


if TYPE_CHECKING:
    from attrs import frozen as frozen
else:
    # attrs compiles each method of each class: 0.7 ms, and a theme has up to twelve kinds, of which
    # a plan names one. Only how a kind is made differs between them; the rest is in `Fault`.
    frozen = partial(attrs.frozen, slots=False, init=False, eq=False, repr=False)


class _Traits(TypedDict, total=False):
    """The class variables of a kind, as the class statement names them."""

    acts_on: On
    usually: Toward
    only: Toward
    transports: Sequence[str]
    about: Sequence[str]
    blocks: bool
    level: FaultLevel
    memory: type[Any]
    aliases: Mapping[str, str]


@frozen(kw_only=True)
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
    level: ClassVar[FaultLevel] = FaultLevel.MESSAGE
    memory: ClassVar[type[Any]] = dict
    """What makes `MatchedMessage.memory`, once in each session."""

    aliases: ClassVar[Mapping[str, str]] = {}
    """Other names of knobs, such as older ones, each with the name of the knob."""

    def __init_subclass__(cls, **traits: Unpack[_Traits]) -> None:
        """Take the arguments of the class statement of a kind."""
        for name, value in traits.items():
            setattr(cls, name, value)
        cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    if not TYPE_CHECKING:

        def __init__(self, **knobs: Any) -> None:
            for alias in knobs.keys() & self.aliases.keys():
                name = self.aliases[alias]
                if name in knobs:
                    raise PlanError([f"{alias}: the same as {name}; say one of them"], self.kind)
                knobs[name] = knobs.pop(alias)
            self.__attrs_init__(**knobs)

        def __getattr__(self, name: str) -> Any:
            if name not in type(self).aliases:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return getattr(self, type(self).aliases[name])

    name: str | None = None
    toward: Toward | None = None
    match: Match = attrs.field(factory=Match, converter=to_match)
    must_fire: bool = False

    def __attrs_post_init__(self) -> None:
        cls: Any = type(self)
        mistakes = [
            *list_mistakes(self, _hints(cls)),
            *(f"match.{mistake}" for mistake in list_mistakes(self.match, _hints(Match))),
        ]
        if not mistakes:
            possible = match_mistakes(self.match, self.acts_on, self.about, self.transports)
            mistakes = [*possible, *self.contradictions()]
        if self.only is not None and self.toward not in (self.only, "both", None):
            mistakes.append(f"toward: {self.kind} is only for what goes to the {self.only}")
        if mistakes:
            raise PlanError(mistakes, self.title)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        knobs = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({knobs})"

    @property
    def title(self) -> str:
        """The name in receipts and summaries."""
        return self.name or self.kind

    @property
    def may_continue(self) -> bool:
        """Whether the kind can act on later messages while its memory is not empty."""
        return type(self).continues is not Fault.continues

    def subject(self, subject: Subject) -> Subject:
        """Return the subject that `match` is compared with."""
        return subject

    def with_samples(self, load: Load) -> Self:  # noqa: ARG002
        """Return the fault with the samples of the recording that it names, if any."""
        return self

    def contradictions(self) -> Iterable[str]:
        """Return mistakes in combinations of knobs that are valid one by one."""
        return ()

    def goes(self, direction: Direction) -> bool:
        """Return whether the fault acts in this direction."""
        toward = self.only or self.toward or self.usually
        return toward == "both" or (toward == "client") is (direction is S2C)

    def fits(self, subject: Subject) -> bool:  # noqa: ARG002
        """Return whether the fault could change such a message at all."""
        return True

    def continues(self, subject: Subject, on: On, memory: Any) -> bool:  # noqa: ARG002
        """Return whether the fault goes on with this message, because of an earlier one; `match` is
        then ignored.
        """
        return False

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        """Return the actions in place of a message. Times count from its arrival."""
        raise NotImplementedError


@cache
def _hints(cls: Hashable) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)
