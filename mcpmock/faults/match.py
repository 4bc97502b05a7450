"""Which messages a fault is for: `Match`, the `match` table of a plan.

All conditions that are given have to hold. `fits` compares what a message is (its method, the tool
it is about) and the call it belongs to with the globs; `Turn` counts the messages that fit, and
draws, for `nth`, `every`, `between`... `triggers` stands above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from random import Random
from typing import Any, Literal

import attrs

from mcpmock.options.units import Chance, Count, Ordinal, Seconds, to_span
from mcpmock.protocol.correlation import CANCELLED, PROGRESS, PendingCall
from mcpmock.protocol.messages import (
    Frame,
    Message,
    Notification,
    Request,
    Response,
    decode,
    encode,
    member,
    same_id,
)
from mcpmock.protocol.methods import METHODS, NAMES

from .segments import On

Transport = Literal["stdio", "sse", "streamable-http"]
_NAMED_BY = {"tool": "tools/call", "prompt": "prompts/get", "uri": "resources/"}
"""By key of `match`, how the methods begin whose params name it."""


@attrs.frozen(kw_only=True)
class Match:
    """Which messages a fault is for: all conditions that are given have to hold.

    >>> match = mcpmock.faults.Match(method="tools/call", tool="get_*", nth=2, between=("1s", "5s"))
    """

    method: str | None = None
    """A glob. A response has the method of its request, an HTTP request without a message `GET` or
    `DELETE`."""
    tool: str | None = None
    """A glob for the tool's name, of a `tools/call` and all messages that belong to it."""
    prompt: str | None = None
    uri: str | None = None
    id: int | str | None = None
    """The id of the request or of the one that it belongs to, as its sender wrote it."""
    path: str | None = None
    """A JSONPath into the message, or into the request that it belongs to. It has to find
    something, or, with `equals`, exactly that."""
    equals: Any = attrs.field(default=None, hash=False)
    session: Ordinal | None = None
    """The session's number, as in a recording."""
    transport: Transport | None = None
    era: str | None = None
    """A glob for the protocol revision: `2025-*`."""
    phase: Literal["handshake", "running"] | None = None
    """`handshake` (up to `notifications/initialized`) or `running`."""
    nth: Ordinal | None = None
    """Only the nth message for which all of the above holds, from 1."""
    every: Ordinal | None = None
    """Only every nth message: 3 is the third, the sixth, ..."""
    after: Count = 0
    """Not the first messages, this many."""
    times: Ordinal | None = None
    """At most this many times."""
    between: tuple[Seconds, Seconds] | None = attrs.field(default=None, converter=to_span)
    """Only between these two times, from the start of the session."""
    probability: Chance = 1.0
    """The chance of each message, drawn from the random seed."""


def to_match(value: Match | Mapping[str, Any]) -> Match:
    """Return a Match from a table as in a plan. Raises TypeError for an unknown key."""
    if isinstance(value, Match):
        return value
    if not isinstance(value, Mapping):
        raise TypeError(f'no match {value!r}: say which messages, as {{"tool": "get_*"}}')
    known = [field.name for field in attrs.fields(Match)]
    for key in value:
        if key not in known:
            raise TypeError(f"no key {key!r} of a match: say one of {', '.join(known)}")
    return Match(**value)


@attrs.frozen(kw_only=True)
class MatchPlace:
    """Where a message was seen, besides what it says."""

    session: int = 1
    transport: str = "stdio"
    era: str | None = None
    phase: str = "handshake"


@attrs.frozen
class Subject:
    """A message, the call it belongs to, and what both are about."""

    frame: Frame
    message: Message | None
    """None where an HTTP request has no message, and at the end of the client's input."""
    method: str | None
    call: PendingCall | None = None
    carrier: PendingCall | None = None
    """The call on whose HTTP exchange it came, whether it belongs to that or not."""
    items: Sequence[Subject] = ()
    """Of a batch, its messages. It is meant if any of them is, and then as a whole."""

    @property
    def carried(self) -> Subject:
        """As if it belonged to what carries it."""
        if self.carrier is None:
            return self
        return attrs.evolve(self, method=self.carrier.request.method, call=self.carrier)


def match_mistakes(
    match: Match, acts_on: On, about: Sequence[str], transports: Sequence[str]
) -> Iterator[str]:
    """Yield the conditions that no message can meet which a fault acts on: it would never fire."""
    named = [key for key in _NAMED_BY if getattr(match, key) is not None]
    of_message = [
        *named,
        *(key for key in ("method", "id", "path") if getattr(match, key) is not None),
    ]
    methods = about if match.method is None else [match.method]
    if not acts_on & (On.MESSAGE | On.EXCHANGE | On.CLOSE) and of_message:
        yield f"match.{of_message[0]}: never matches: the fault acts on no message"
    elif match.method is not None and not _carriers(match.method) & acts_on:
        yield f"match.method: never matches: the fault acts on no {match.method}"
    elif len(named) > 1:
        yield f"match.{named[1]}: never matches: a message with a {named[0]} has no {named[1]}"
    elif named and methods and not any(_names_occur(named[0], glob) for glob in methods):
        yield f"match.{named[0]}: never matches: {' and '.join(methods)} has no {named[0]}"
    if match.transport is not None and match.transport not in transports:
        yield f"match.transport: never matches: the kind does not exist over {match.transport}"
    if match.nth is not None and match.every is not None and match.nth % match.every:
        yield f"match.every: never matches: nth = {match.nth} is no multiple of {match.every}"
    if match.between is not None and match.between[0] > match.between[1]:
        yield "match.between: never matches: it ends before it begins"
    if match.equals is not None and match.path is None:
        yield "match.equals: only with a path"
    if match.path is not None:
        from jsonpath import JSONPathError

        try:
            _compiled(match.path)
        except JSONPathError as error:
            yield f"match.path: no JSONPath: {str(error).splitlines()[0]}"


def method_mistakes(match: Match, *methods: str) -> Iterator[str]:
    """Yield a `method` that is not one of these, where a fault can act on nothing else."""
    if match.method is not None and not any(fnmatchcase(m, match.method) for m in methods):
        yield f"match.method: never matches: the fault acts on {' and '.join(methods)}"


def _carriers(method: str) -> On:
    """Return what messages of a method (a glob) can be."""
    known = [name for name in (*METHODS, "GET", "DELETE") if fnmatchcase(name, method)]
    if not known and not method.startswith("notifications/"):
        return On.MESSAGE | On.EXCHANGE | On.CLOSE  # a method of a client's own
    carriers = On.OTHER if known else On.NOTIFICATION | On.OTHER
    for name in known:
        if name in ("GET", "DELETE"):
            carriers |= On.EXCHANGE | On.CLOSE
        elif name.startswith("notifications/"):
            carriers |= On.NOTIFICATION
        else:
            carriers |= On.REQUEST | On.RESPONSE | On.CLOSE
    return carriers


def _names_occur(key: str, glob: str) -> bool:
    """Return whether a message of such a method can be about a tool, a prompt or a resource."""
    methods = [name for name in NAMES if name.startswith(_NAMED_BY[key])]
    return any(fnmatchcase(name, glob) for name in (*methods, PROGRESS, CANCELLED))


def fits(match: Match, subject: Subject, place: MatchPlace) -> bool:
    """Return whether the fault is for this message, ignoring `nth` and the like."""
    return any(_fits(match, one, place) for one in subject.items or (subject,))


def _fits(match: Match, subject: Subject, place: MatchPlace) -> bool:
    asked = subject.call.request if subject.call is not None else subject.message
    return (
        _globbed(match.method, subject.method)
        and _names_fit(match, asked)
        and (match.session is None or match.session == place.session)
        and (match.transport is None or match.transport == place.transport)
        and _globbed(match.era, place.era)
        and (match.phase is None or match.phase == place.phase)
        and (match.id is None or _id_is(match.id, asked))
        and (match.path is None or _found(match, subject))
    )


def concerns(match: Match, request: Request) -> bool:
    """Return whether what belongs to this request may fit."""
    own = match.method is None or match.method.startswith("notifications/")
    return (own or _globbed(match.method, request.method)) and _names_fit(match, request)


@attrs.define
class Turn:
    """Whose turn it is, of the messages that fit: one for each fault, for as long as it runs."""

    match: Match
    seen: int = 0
    """How many fitted."""
    taken: int = 0
    """How many of these turns came."""
    fired: int = 0
    """In how many of these the fault changed something."""

    def comes(self, elapsed_s: float, random: Random, drawn: dict[str, Any]) -> bool:
        """Return whether another message that fits, so many seconds after the session began, has
        its turn. Only then are dice thrown, so that a fault that is not meant changes nothing for
        one that is.
        """
        self.seen += 1
        match, number = self.match, self.seen
        timely = match.between is None or match.between[0] <= elapsed_s <= match.between[1]
        if (
            not timely
            or number <= match.after
            or (match.nth is not None and number - match.after != match.nth)
            or (match.every is not None and (number - match.after) % match.every)
            or (match.times is not None and self.taken >= match.times)
        ):
            return False
        if match.probability < 1.0:
            drawn["probability"] = random.random()
            if drawn["probability"] >= match.probability:
                return False
        self.taken += 1
        return True


def _globbed(glob: str | None, value: str | None) -> bool:
    return glob is None or (value is not None and fnmatchcase(value, glob))


def _names_fit(match: Match, asked: Message | None) -> bool:
    """Return whether what a request is about (its tool, prompt or resource) fits the globs."""
    for key, method in _NAMED_BY.items():
        glob = getattr(match, key)
        if glob is None:
            continue
        if not isinstance(asked, Request | Notification) or not asked.method.startswith(method):
            return False
        name = member(asked.params, "uri" if key == "uri" else "name")
        value = decode(name or b"null")
        if not isinstance(value, str) or not fnmatchcase(value, glob):
            return False
    return True


def _id_is(id_: int | str, asked: Message | None) -> bool:
    if not isinstance(asked, Request | Response) or asked.id is None:
        return False
    return same_id(asked.id, encode(id_))


def _found(match: Match, subject: Subject) -> bool:
    texts = [subject.frame.raw]
    if subject.call is not None:
        request = subject.call.request
        params = b"" if request.params is None else b',"params":%b' % request.params
        texts.append(b'{"id":%b,"method":%b%b}' % (request.id, encode(request.method), params))
    for text in texts:
        values = _compiled(match.path or "$").findall(decode(text))
        if values and (match.equals is None or any(_same(v, match.equals) for v in values)):
            return True
    return False


def _same(value: Any, wanted: Any) -> bool:
    """Return whether two values are the same: Python takes `true` for 1."""
    return value == wanted and isinstance(value, bool) is isinstance(wanted, bool)


@lru_cache(maxsize=64)
def _compiled(path: str) -> Any:
    from jsonpath import JSONPathEnvironment

    from mcpmock.matching.match_rule import path_in_message

    return JSONPathEnvironment().compile(path_in_message(path))
