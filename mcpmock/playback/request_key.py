"""What makes two requests the same request: a key made of the method and the canonical parameters.

Volatile values are left out: ids, progress tokens, trace context, the client's name and version; so
are empty arguments. Everything else counts, except for what JSON does not distinguish: the order of
members and the spelling of a number (`1` and `1.0` are equal; `1` and `"1"`, `1` and `true` are
not). Over HTTP the head counts too (`header_profile`). Each relaxed match level leaves out more.
Used by `matcher`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct

from mcpmock.protocol.messages import (
    Batch,
    Content,
    Frame,
    HttpRequest,
    Notification,
    Request,
    canonical,
    decode,
    parse_items,
)
from mcpmock.protocol.methods import NAMES
from mcpmock.protocol.raw_json import UNREADABLE

from .header_profile import Fingerprint, at, fingerprint
from .variables import compare

if TYPE_CHECKING:
    from mcpmock.matching.paths import Place

MATCH_LEVELS = (
    "exact",
    "another client's identity or capabilities",
    "another protocol version in the header",
    "other HTTP header fields",
    "members of `_meta` that the protocol does not define",
)
"""The difference that each level ignores, the strictest first; a level is an index of this tuple.
"""
META_LEVEL = 4
"""The level that ignores them. Agents put ids of their own there, new ones for each call."""
BY_METHOD_ALONE = {"initialize", "server/discover"}
"""The handshakes."""
BATCH = "a batch"
"""What stands for the method of a batch."""
_WEIGHTS = {"$.protocolVersion": 10_000, "$.clientInfo.name": 100}
_VOLATILE = {"progressToken", "traceparent", "tracestate", "baggage"}
_OPTIONAL = frozenset(("_meta", "arguments", "context", "cursor"))
"""Parameters for which null and an empty object mean the same as their absence: of
`completion/complete` the arguments in the `context` too.
"""
# The official SDKs leave out the arguments of a call without any, other clients send `{}` or null.
_MAX_BRACKETS = 50
"""A value with more may be too deep for those who walk over it."""
_OF_PROTOCOL = "io.modelcontextprotocol/"
"""Specification, "_meta": the prefix of what the protocol itself defines there."""
_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
_IDENTITY = {
    _CLIENT_INFO,
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
}
"""Members that 2026-07-28 clients put into `_meta` of every request; some always send the log
level.
"""


# A Struct, because one is made for every message: a frozen attrs class sets each field by
# object.__setattr__.
class MatchSubject(msgspec.Struct, frozen=True):
    """The parts of a message that matching compares.

    `params` is the decoded value without its volatile parts, or the bytes if they cannot be
    decoded. `http` is the profile of the HTTP head, None without a head. A request without a
    message (GET, DELETE) has its HTTP method as `method`.
    """

    method: str
    params: Any
    http: Fingerprint | None = None
    handshake: Any = None
    """The parameters of a handshake: they need not be equal, but the nearest is preferred."""

    def at(self, level: int) -> Any:
        """Return the parameters that this level compares."""
        if not level:
            return self.params
        drop = is_own_meta if level >= META_LEVEL else _IDENTITY.__contains__
        if self.method == BATCH:
            return [[method, _without_meta(params, drop)] for method, params in self.params]
        return _without_meta(self.params, drop)

    @property
    def identity(self) -> dict[Place, Any]:
        """What it says of its client, which the first level alone compares."""
        return self._members(_IDENTITY.__contains__)

    @property
    def own_meta(self) -> dict[Place, Any]:
        """What it says in `_meta` in words of its client, which the last level does not compare."""
        return self._members(lambda name: is_own_meta(name) and name not in _IDENTITY)

    def _members(self, chosen: Callable[[str], bool]) -> dict[Place, Any]:
        """Return these members of `_meta`; of a batch those of each item."""
        items = [item for _, item in self.params] if self.method == BATCH else [self.params]
        metas = (item.get("_meta") if isinstance(item, dict) else None for item in items)
        return {
            (number, name): value
            for number, meta in enumerate(metas)
            if isinstance(meta, dict)
            for name, value in meta.items()
            if chosen(name)
        }

    def key(self, level: int, *, bare: bool = False) -> Key:
        """Return a key that is equal for messages that are the same at this level; `bare` ignores
        the heads. The form may change: do not store it.
        """
        heads = () if bare or self.http is None else tuple(sorted(at(self.http, level).items()))
        return self.method, canonical(self.at(level)), heads


Key = tuple[str, bytes, tuple[tuple[str, str], ...]]


class MessageKeys(Struct, frozen=True, eq=False):
    """Client messages, by any numbers, by what they ask, however it is spelled; without their
    heads.
    """

    # 5 us a message: a quarter of a second for 50,000, where a client asks something else than what
    # was recorded, or spells it differently.
    by_key: Mapping[Key, Sequence[int]]
    by_name: Mapping[tuple[str, str], Sequence[int]]
    """By the method and the tool, prompt or resource."""
    has_meta: bool
    """Whether a key of theirs is another one at another level."""

    @classmethod
    def of(cls, asked: Iterable[tuple[int, MatchSubject]]) -> MessageKeys:
        """Read messages in recorded order."""
        by_key: dict[Key, list[int]] = {}
        by_name: dict[tuple[str, str], list[int]] = {}
        has_meta = False
        for number, subject in asked:
            method, params = subject.method, subject.params
            by_key.setdefault(subject.key(0, bare=True), []).append(number)
            by_name.setdefault((method, named(method, params)), []).append(number)
            has_meta = has_meta or not isinstance(params, dict) or "_meta" in params
        return cls(by_key, by_name, has_meta)

    def renumbered(self, numbers: Sequence[int]) -> MessageKeys:
        """Return the same by the numbers at their numbers."""
        by_key = {key: [numbers[one] for one in same] for key, same in self.by_key.items()}
        by_name = {name: [numbers[one] for one in same] for name, same in self.by_name.items()}
        return MessageKeys(by_key, by_name, self.has_meta)


def named(method: str, params: Any) -> str:
    """Return the tool, prompt or resource that a request names; empty without."""
    name = params.get(NAMES.get(method, "")) if isinstance(params, dict) else None
    return name if isinstance(name, str) else ""


def match_subject(frame: Frame, head: HttpRequest | None = None) -> MatchSubject | None:
    """Return the subject of a client frame; None for responses, noise and facts, which are matched
    in other ways.
    """
    content = frame.content
    if isinstance(content, HttpRequest):
        return MatchSubject(content.method, {}, fingerprint(content, with_path=True))
    http = None if head is None else fingerprint(head, with_path=False)
    if isinstance(content, Batch):
        items = [_message_subject(item) for item in parse_items(frame.raw)]
        return MatchSubject(BATCH, [[item.method, item.params] for item in items if item], http)
    return _message_subject(content, http)


def _message_subject(content: Content, http: Fingerprint | None = None) -> MatchSubject | None:
    if not isinstance(content, (Request, Notification)):
        return None
    method, params = content.method, significant(content.params)
    if method == BATCH:
        method = f"`{BATCH}`"  # not one, but a method of its name
    if method in BY_METHOD_ALONE:
        return MatchSubject(method, {}, http, params)
    return MatchSubject(method, params, http)


def significant(params: bytes | None) -> Any:
    """Return the decoded parameters (or result) of a message without their volatile parts, or the
    bytes if they cannot be decoded.
    """
    if params is None:
        return {}
    try:
        value = _decoder.decode(params)
        plain = params.count(b"{") + params.count(b"[") < _MAX_BRACKETS
    except UNREADABLE:
        value, plain = decode(params), False
    if value is None and params != b"null":
        return params
    try:
        return _without_volatile(value if plain else normalize_numbers(value))
    except RecursionError:
        return params


def as_written(frame: Frame, place: Place) -> Any:
    """Return what a request has at a place of its params (of a batch, of the list of its methods
    and params); UNSET without. Null and an empty object, which count as absent, are there.
    """
    items = [item for item in parse_items(frame.raw) if isinstance(item, Request | Notification)]
    number, path = 0, place
    if isinstance(frame.content, Batch):
        number, path = int(place[0]) if place else 0, place[2:]
    if not path or number >= len(items):
        return UNSET
    value: Any = decode(items[number].params or b"null")
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return UNSET
    return value


def handshake_distance(one: MatchSubject, other: MatchSubject) -> int:
    """Return how different two handshakes are (0: equal). Another revision weighs more than another
    client, and another client more than everything else.
    """
    paths = {difference.path for difference in compare(one.handshake, other.handshake)}
    return sum(_WEIGHTS.get(path, 1) for path in paths)


def _without_volatile(params: Any) -> Any:
    """Return the parameters, which belong to the caller alone, without what does not count."""
    if not isinstance(params, dict):
        return {} if params is None else params
    remove_empty(params)
    if "_meta" not in params or not isinstance(params["_meta"], dict):
        return params
    meta = {name: value for name, value in params["_meta"].items() if name not in _VOLATILE}
    client = meta.get(_CLIENT_INFO)
    if isinstance(client, dict):
        meta[_CLIENT_INFO] = {k: v for k, v in client.items() if k not in ("name", "version")}
    return _with_meta(params, meta)


def remove_empty(params: dict[str, Any]) -> None:
    """Remove the optional members that are empty: they count as absent."""
    context = params.get("context")
    for members in (context, params) if isinstance(context, dict) else (params,):
        if not all(members.values()):  # mostly there is nothing empty
            for name in _OPTIONAL.intersection(members):
                if members[name] in ({}, None):
                    del members[name]


def may_be_absent(place: Sequence[object]) -> bool:
    """Return whether an empty object at a place of a message, or of one in a batch, counts as
    absent.
    """
    path = place[1:] if place and isinstance(place[0], int) else place
    return path[:-1] in (("params",), ("params", "context")) and path[-1] in _OPTIONAL


def is_own_meta(name: str) -> bool:
    """Return whether a member of `_meta` is the client's own, or names the client."""
    return name in _IDENTITY or not name.startswith(_OF_PROTOCOL)


def _without_meta(params: Any, drop: Callable[[str], bool]) -> Any:
    if not isinstance(params, dict) or not isinstance(params.get("_meta"), dict):
        return params
    return _with_meta(params, {n: value for n, value in params["_meta"].items() if not drop(n)})


def _with_meta(params: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in params.items() if name != "_meta"}
    return {**rest, "_meta": meta} if meta else rest


def normalize_numbers(value: Any) -> Any:
    """Make 1 of `1.0` and `1e0`; numbers that JSON cannot express stay different from null."""
    if isinstance(value, float):
        return _normalize_float(value)
    if isinstance(value, dict):
        return {name: normalize_numbers(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [normalize_numbers(inner) for inner in value]
    return value


def _normalize_float(value: str | float) -> int | float | str:
    number = float(value)
    if not math.isfinite(number):
        return f"\0{number}"
    return int(number) if number.is_integer() else number


_decoder = msgspec.json.Decoder(float_hook=_normalize_float)
