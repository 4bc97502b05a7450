"""`with_variables`: a cassette in which the texts that `--echo` selects are variables.

Each text becomes a placeholder, as if redaction had replaced it (`redaction.placeholders`), from
the request that it stands in to the end of the take: the first live value binds it, later uses
agree, and what the server sends carries it. A placeholder that no client has bound is sent as the
recorded text. Used by `session_selection`.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import attrs
import msgspec
from msgspec import UNSET

from mcpmock.cassette.model import Cassette, Event, Take
from mcpmock.matching.kinds import Kind
from mcpmock.matching.match_rule import MatchRules, select
from mcpmock.matching.paths import Place
from mcpmock.protocol.contents import SECRET_MARK, is_content
from mcpmock.protocol.messages import Request, decode, parse_items
from mcpmock.protocol.mirrored_headers import is_mirror
from mcpmock.protocol.raw_json import Span, splice, walk
from mcpmock.redaction.encodings import encode_percent
from mcpmock.redaction.json_escapes import SPELLINGS, spelling_of
from mcpmock.redaction.placeholders import (
    HASH_DIGITS,
    NUMBER_MARK,
    highest_number,
    holds_placeholder,
    normal_number,
    spell_with_placeholders,
    spelled,
)

from .loosened import FIXED_NAMES
from .request_key import named

_LEAST_IN_TEXT = 8
"""How long a text is that is found inside of others too."""
_WORD = re.compile(r"\w+")


@attrs.define
class Variables:
    """The texts of a cassette that are variables, by their placeholders."""

    recorded: dict[str, str] = attrs.field(factory=dict)
    kinds: dict[str, Kind] = attrs.field(factory=dict)
    """What a live value must be, where the rule says so."""
    hash_of: Callable[[bytes], int] | None = None
    """Gives the number of a secret, in a cassette whose placeholders are hashes."""

    def allow(self, bindings: Iterable[tuple[str, str]]) -> bool:
        """Return whether each of these values is the recorded one, or of its kind."""
        return all(self._allows(hole, value) for hole, value in bindings)

    def _allows(self, hole: str, value: str) -> bool:
        if hole in self.kinds:
            return self.kinds[hole].both(self.recorded[hole], value)
        number = hole.rpartition(":")[2]
        if self.hash_of is None or hole in self.recorded or len(number) != HASH_DIGITS:
            return True
        secret = value.encode("utf-8", "surrogatepass")
        if NUMBER_MARK in hole.encode():
            secret = normal_number(secret)
        return int(number) == self.hash_of(secret)

    def __bool__(self) -> bool:
        return bool(self.recorded) or self.hash_of is not None


def with_variables(cassette: Cassette, rules: MatchRules) -> tuple[Cassette, Variables]:
    """Return a cassette with variables in the place of the texts that `rules.echo` selects."""
    found, first = Variables(), highest_number(cassette) + 1
    takes = [_TakeTexts(rules, found, first).replace(take) for take in cassette.takes]
    return msgspec.structs.replace(cassette, takes=takes), found


class _Shape(NamedTuple):
    """What texts that may stand inside of others have in common: few differ in it."""

    size: int
    at: int
    """Where their first word stands in them."""
    in_json: bool
    """Whether they are so spelled in a string of JSON only."""


@attrs.define
class _TakeTexts:
    """The selected texts of one take, as far as it was read."""

    rules: MatchRules
    variables: Variables
    first: int
    """The number of the first placeholder in the cassette."""
    _holes: dict[str, str] = attrs.field(factory=dict)
    _inside: dict[tuple[str, bool], str] = attrs.field(factory=dict)
    """The placeholders of the texts that are found inside of others, as spelled; in JSON or not."""
    _shapes: dict[str, list[_Shape]] = attrs.field(factory=dict)
    """The shapes of these texts by their first word, the longest first."""

    def replace(self, take: Take) -> Take:
        """Return the take with placeholders in the place of the texts."""
        events: list[Event] = []
        heads: dict[int, int] = {}
        for event in take.events:
            if event.d == "c2s" and event.x is not None and event.http is not UNSET:
                heads[event.x] = len(events)
            events.append(self._event(event))
            place = None if event.x is None or event.d != "c2s" else heads.get(event.x)
            if place is not None and event.m is not UNSET and self._holes:
                events[place] = self._head(events[place])
        return msgspec.structs.replace(take, events=events)

    def _event(self, event: Event) -> Event:
        if event.m is UNSET:
            return event
        payload = bytes(event.m)
        if event.d == "c2s":
            self._learn(payload)
        new = self._json(payload, is_content) if self._holes else payload
        return event if new == payload else msgspec.structs.replace(event, m=msgspec.Raw(new))

    def _head(self, event: Event) -> Event:
        """Return a head in which the fields that repeat texts of the body do so still."""
        head = event.http if isinstance(event.http, dict) else {}
        fields = head.get("headers", [])
        new = [
            [name, self._holes.get(value, value)] if is_mirror(name.lower()) else [name, value]
            for name, value in fields
        ]
        if new == [[*field] for field in fields]:
            return event
        return msgspec.structs.replace(event, http={**head, "headers": new})

    def _learn(self, payload: bytes) -> None:
        for item in parse_items(payload):
            if not isinstance(item, Request) or item.params is None:
                continue
            params = decode(item.params)
            call = item.method, named(item.method, params)
            document = {"params": params}
            mine = [rule for rule in self.rules.echo if rule.is_for(item.method, call)]
            for place, selected in select(mine, document).items():
                for inner, text in _texts(document, place):
                    if inner != ("params", "name") or item.method not in FIXED_NAMES:
                        self._add(text, selected[0].kind)

    def _add(self, text: str, kind: Kind | None) -> None:
        if not text or text in self._holes or holds_placeholder(text):
            return
        if kind is not None and not kind.both(text, text):
            return
        number = self.first + len(self.variables.recorded)
        hole = f"{SECRET_MARK}echo:{number}"
        self._holes[text] = self.variables.recorded[hole] = hole
        self.variables.recorded[hole] = text
        if kind is not None:
            self.variables.kinds[hole] = kind
        if len(text) < _LEAST_IN_TEXT:
            return
        for written, written_hole, in_json in _spellings(text, hole):
            if (word := _WORD.search(written)) is not None:
                self._inside.setdefault((written, in_json), written_hole)
                shape = _Shape(len(written), word.start(), in_json)
                shapes = self._shapes.setdefault(word[0], [])
                if shape not in shapes:
                    insort(shapes, shape, key=lambda one: -one.size)

    def _text(self, text: str) -> str:
        hole = self._holes.get(text)
        if hole is not None or holds_placeholder(text):
            return text if hole is None else hole
        if text.lstrip()[:1] in ("{", "["):
            raw = text.encode("utf-8", "surrogatepass")
            if isinstance(decode(raw), dict | list):
                return self._json(raw, lambda _path: True).decode("utf-8", "surrogatepass")
        parts, end, quote = [], 0, text.find('"')
        for word in _WORD.finditer(text) if self._shapes else ():
            for shape in self._shapes.get(word[0], ()):
                at = word.start() - shape.at
                if at < end or (shape.in_json and not -1 < quote < at):
                    continue
                hole = self._inside.get((text[at : at + shape.size], shape.in_json))
                if hole is not None and _is_whole(text, at, shape.size):
                    parts += [text[end:at], hole]
                    end = at + shape.size
                    break
        return "".join((*parts, text[end:]))

    def _json(self, raw: bytes, counts: Callable[[Sequence[str | int]], bool]) -> bytes:
        """Replace the texts in JSON, in their spelling, at the paths that count."""
        replaced: list[tuple[Span, bytes]] = []
        for path, span in walk(raw):
            if raw[span.start : span.start + 1] != b'"' or not counts(path):
                continue
            text = decode(raw[slice(*span)])
            if isinstance(text, str) and (new := self._text(text)) != text:
                spelling = spelling_of(raw[span.start + 1 : span.end - 1])
                replaced.append((span, b'"%b"' % spell_with_placeholders(new, spelling)))
        return splice(raw, replaced)


def _spellings(text: str, hole: str) -> Iterator[tuple[str, str, bool]]:
    """Yield a text and its placeholder, as they are and encoded: as strings of JSON spell them,
    where that differs, and in percent encoding. A live value is then spelled in the same way.
    """
    yield text, hole, False
    in_json = {spelling.spell(text): spelling for spelling in reversed(SPELLINGS)}
    for written, spelling in in_json.items():
        if written != text:
            yield written, spelled(hole.encode(), spelling).decode(), True
    percent = encode_percent(text.encode("utf-8", "surrogatepass")).decode()
    if percent != text:
        yield percent, encode_percent(hole.encode()).decode(), False


def _is_whole(text: str, at: int, length: int) -> bool:
    """Return whether it is no part of a longer word or path; a sign at its end ends one."""
    end = at + length
    is_begun = at > 0 and _WORD.match(text, at - 1) is not None
    goes_on = _WORD.match(text, end - 1) is not None and _WORD.match(text, end) is not None
    return not is_begun and not goes_on


def _texts(document: object, place: Place) -> Iterator[tuple[Place, str]]:
    """Yield the texts at a place, or inside of what is there."""
    value: object = document
    for step in place:
        value = value[step]  # type: ignore[index]  # the place was found in the document
    waiting = [(place, value)]
    while waiting:
        at, one = waiting.pop()
        if isinstance(one, str):
            yield at, one
        elif isinstance(one, dict):
            waiting += (((*at, name), inner) for name, inner in one.items())
        elif isinstance(one, list):
            waiting += (((*at, n), inner) for n, inner in enumerate(one))
