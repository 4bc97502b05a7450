"""Finds values in the raw bytes of a JSON text, and replaces them.

This is not a JSON parser: it never decodes, validates or recurses, so nesting of 100,000, integers
of 5,000 digits, NaN and lone surrogates are ordinary input. `messages` gives the bytes a meaning;
msgspec's C scanner finds the members of ordinary objects quickly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from mcpmock.lazy_pattern import lazy_pattern

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError)
"""The errors that a decoder raises for bytes of a peer. msgspec lets UnicodeDecodeError through."""


class Span(NamedTuple):
    """`raw[start:end]` is one JSON value, without the white space around it."""

    start: int
    end: int


_SPACE = rb"[ \t\r\n]*+"
# RFC 8259 8.1 lets parsers ignore a byte order mark; `fetch`, .NET and Java do. Clients trim
# lines before they parse them, and what `trim` takes away differs: in Java all control characters,
# in JavaScript the mark, in most languages the spaces of Unicode.
PADDING = "".join(map(chr, (*range(0x21), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200C)))) + (
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What may stand before and behind a JSON text."""
_PADDING = lazy_pattern(b"(?:[\\x00-\\x20]|%b)*+" % "|".join(PADDING[0x21:]).encode())
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NAME = lazy_pattern(
    _SPACE + rb",?" + _SPACE + b"(" + _STRING + b")" + _SPACE + b":" + _SPACE, re.S
)
_VALUE = lazy_pattern(_SPACE + b":" + _SPACE + b"(" + _STRING + rb'|[^ \t\r\n,:{}\[\]"]++)', re.S)
_ID = rb'"jsonrpc":"2\.0","id":("[^"\\]*"|-?\d+)'
_ID_FIRST, _ID_LAST = lazy_pattern(rb"\{" + _ID + b"[,}]"), lazy_pattern(b"," + _ID + rb"\}\Z")
_ID_TAIL = 100
HAS_ESCAPED_LETTER = lazy_pattern(rb"\\u00[4-7]")
"""With it a name may be spelled in another way."""
_ITEM = lazy_pattern(_SPACE + rb",?" + _SPACE)
_SCALAR = lazy_pattern(_STRING + rb'|[^ \t\r\n,:{}\[\]"]++', re.S)
# A torn string matches to the end of the text: a new try at each quote in it would cost n^2.
_STRINGS_AND_BRACKETS = lazy_pattern(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}\[\]]', re.S)
_NAMES_AND_TEXTS = lazy_pattern(
    rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)(?:"(?P<sign>[ \t\r\n]*+:)?|\\?\Z)', re.S
)
_object_of_raw = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array_of_raw = msgspec.json.Decoder(list[msgspec.Raw])


def begin_of_text(raw: bytes) -> int:
    """Return where the JSON text in `raw` begins: behind byte order marks and white space."""
    return _match_end(_PADDING, raw, 0)


def begins_with(raw: bytes, bracket: bytes) -> bool:
    """Return whether the JSON text in `raw` begins with this bracket."""
    return raw.startswith(bracket) or raw.startswith(bracket, begin_of_text(raw))


def members(raw: bytes) -> dict[str, Span] | None:
    """Return the members of the object in `raw`, None if it holds no whole object. Of a name used
    twice the last counts, as in the TypeScript and Python SDKs.
    """
    found = _members_by_msgspec(raw)
    if found is None:
        pairs = _members_by_scan(raw)
        return None if pairs is None else dict(pairs)
    return found


def all_members(raw: bytes) -> list[tuple[str, Span]]:
    """Return the members of the object in `raw` as they are written, of a name used twice both;
    none if it holds no whole object.
    """
    found = _members_by_msgspec(raw)
    return (_members_by_scan(raw) or []) if found is None else [*found.items()]


def elements(raw: bytes) -> list[Span] | None:
    """Return the elements of the array in `raw`, None if it holds no whole array."""
    at = _enter_container(raw, b"[")
    if at is None:
        return None
    found: list[Span] = []
    while True:
        at = _match_end(_ITEM, raw, at)
        if raw[at : at + 1] == b"]":
            return found if _ends(raw, at + 1) else None
        end = _skip_value(raw, at)
        if end is None:
            return None
        found.append(Span(at, end))
        at = end


def items(raw: bytes) -> list[bytes] | None:
    """Return the elements of the array in `raw`, where their spans do not matter; None if it holds
    no whole array.
    """
    try:
        return [bytes(value) for value in _array_of_raw.decode(raw)]
    except UNREADABLE:
        spans = elements(raw)
        return None if spans is None else [raw[slice(*span)] for span in spans]


def value_at(raw: bytes, path: Sequence[str]) -> bytes | None:
    """Return the value at a path of names, as `locate` finds it; a tenth of its cost."""
    if _lacks(raw, path):
        return None
    inner = raw
    try:
        for name in path:
            found = _value_decoder(name).decode(inner).value
            if found is msgspec.UNSET:
                return None
            inner = bytes(found)
    except UNREADABLE:
        span = locate(raw, path)
        return None if span is None else raw[slice(*span)]
    return inner


def locate(raw: bytes, path: Sequence[str]) -> Span | None:
    """Return the span of the value at a path of names, as `("params", "_meta",
    "progressToken")`.
    """
    if _lacks(raw, path):
        return None
    start, end = 0, len(raw)
    for name in path:
        inside = members(raw[start:end])
        if inside is None or name not in inside:
            return None
        span = inside[name]
        start, end = start + span.start, start + span.end
    return Span(start, end)


def locate_known(raw: bytes, path: Sequence[str]) -> Span | None:
    """Locate a value that is known to be there; a fifth of its cost where the name stands only once
    in the text.
    """
    name = b'"%b"' % path[-1].encode()
    at = raw.find(name)
    if at >= 0 and raw.find(name, at + 1) < 0 and not HAS_ESCAPED_LETTER.search(raw):
        # A string cannot hold it: inside of one the quotes are escaped.
        value = _VALUE.match(raw, at + len(name))
        if value is not None:
            return Span(*value.span(1))
    return locate(raw, path)


def locate_id(raw: bytes) -> Span | None:
    """Return the span of a message's id, quickly where the message begins or ends with it, as those
    of the SDKs do. Of two the last counts.
    """
    found = _ID_FIRST.match(raw)
    if found is not None and raw.find(b'"id"', found.end()) >= 0:  # mostly that of something inside
        again = raw.find(b'"id":%b' % found[1], found.end()) >= 0
        found = None if again or value_at(raw, ("id",)) != found[1] else found
        return locate(raw, ("id",)) if found is None else Span(*found.span(1))
    found = found or _ID_LAST.search(raw, max(0, len(raw) - _ID_TAIL))
    return locate_known(raw, ("id",)) if found is None else Span(*found.span(1))


def splice(raw: bytes, replacements: Iterable[tuple[Span, bytes]]) -> bytes:
    """`raw` with the bytes of each span replaced; the spans must not overlap."""
    parts, end = [], 0
    for span, new in sorted(replacements):
        parts += [raw[end : span.start], new]
        end = span.end
    return b"".join((*parts, raw[end:])) if parts else raw


def names(raw: bytes) -> Iterator[Span]:
    """Yield where the name of each member in `raw` stands, without its quotes, in the order
    written.
    """
    for token in _NAMES_AND_TEXTS.finditer(raw):
        if token["sign"]:
            yield Span(*token.span(1))


def walk(raw: bytes) -> Iterator[tuple[list[str | int], Span]]:
    """Yield each scalar in `raw` with its path (names and positions), in the order written, those
    of duplicate names too. Ends where the text stops being JSON: the caller treats the rest as
    text.
    """
    # One list, valid until the next step: copies of deep paths would cost n^2.
    path: list[str | int] = []
    opened: list[bytes] = []
    at = begin_of_text(raw)
    while at < len(raw):
        byte = raw[at : at + 1]
        if byte in (b"{", b"["):
            opened.append(byte)
            path.append(-1)
            at += 1
        elif byte in (b"}", b"]"):
            if not opened:
                return
            opened.pop()
            path.pop()
            at += 1
        elif (scalar := _SCALAR.match(raw, at)) is not None:
            yield path, Span(at, scalar.end())
            at = scalar.end()
        else:
            return
        next_at = _enter_value(raw, at, path, opened)
        if next_at is None:
            return
        at = next_at


def _enter_value(raw: bytes, at: int, path: list[str | int], opened: list[bytes]) -> int | None:
    """Return the start of the next value, whose name or place becomes the last of the path."""
    at = _match_end(_ITEM, raw, at)
    if not opened or raw[at : at + 1] in (b"}", b"]"):
        return at
    if opened[-1] == b"[":
        position = path[-1]
        path[-1] = position + 1 if isinstance(position, int) else 0
        return at
    name = _NAME.match(raw, at)
    if name is None:
        return None
    path[-1] = _decode_name(name[1])
    return name.end()


def _lacks(raw: bytes, path: Sequence[str]) -> bool:
    """Tell without a scan that nothing is there: most messages have no token or subscription."""
    return bool(path) and path[-1].encode() not in raw and b"\\u" not in raw


@lru_cache(maxsize=256)
def _value_decoder(name: str) -> msgspec.json.Decoder[Any]:
    """Read one member of an object as `value` and skip the others in C: 0.8 us for a call of 200
    bytes, where `members` takes 16.
    """
    fields = [("value", msgspec.Raw | msgspec.UnsetType, msgspec.UNSET)]
    return msgspec.json.Decoder(msgspec.defstruct("_Value", fields, rename={"value": name}))


def _members_by_msgspec(raw: bytes) -> dict[str, Span] | None:
    """Return the members of an object in which each name is used once; None for another text."""
    # msgspec gives the values in order but without their spans: each follows from the one before.
    try:
        values = _object_of_raw.decode(raw)
    except UNREADABLE:
        return None
    at = raw.index(b"{") + 1
    spans = {}
    for name, value in values.items():
        at = _match_end(_NAME, raw, at)
        spans[name] = Span(at, at + len(memoryview(value)))
        if raw[slice(*spans[name])] != bytes(value):
            return None  # a name used twice breaks the order
        at = spans[name].end
    return spans if raw[at:].strip() == b"}" else None


def _members_by_scan(raw: bytes) -> list[tuple[str, Span]] | None:
    at = _enter_container(raw, b"{")
    if at is None:
        return None
    found: list[tuple[str, Span]] = []
    while True:
        name = _NAME.match(raw, at)
        if name is None:
            at = _match_end(_ITEM, raw, at)
            closed = raw[at : at + 1] == b"}" and _ends(raw, at + 1)
            return found if closed else None
        end = _skip_value(raw, name.end())
        if end is None:
            return None
        found.append((_decode_name(name[1]), Span(name.end(), end)))
        at = end


def _skip_value(raw: bytes, at: int) -> int | None:
    """Return the end of a value. Brackets are counted, so its depth has no bound."""
    if raw[at : at + 1] not in (b"{", b"["):
        scalar = _SCALAR.match(raw, at)
        return scalar.end() if scalar else None
    depth = 0
    for token in _STRINGS_AND_BRACKETS.finditer(raw, at):
        first = token[0][:1]
        if first in (b"{", b"["):
            depth += 1
        elif first != b'"':
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _enter_container(raw: bytes, bracket: bytes) -> int | None:
    at = begin_of_text(raw)
    return at + 1 if raw[at : at + 1] == bracket else None


def _ends(raw: bytes, at: int) -> bool:
    """Return whether nothing but padding follows."""
    return _match_end(_PADDING, raw, at) == len(raw)


def _match_end(pattern: re.Pattern[bytes], raw: bytes, at: int) -> int:
    match = pattern.match(raw, at)
    if match is None:
        raise ValueError(f"no member at byte {at}")
    return match.end()


def _decode_name(string: bytes) -> str:
    """Return a JSON string as text; as it is spelled if it cannot be decoded (lone surrogates)."""
    try:
        return msgspec.json.decode(string, type=str)
    except UNREADABLE:
        return string[1:-1].decode("utf-8", "surrogateescape")
