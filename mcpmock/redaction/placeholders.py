"""What stands in the place of a secret, and how it becomes a value again.

A placeholder is `mcpmock:secret:<kind>:<n>`; on replay it is a variable. In percent encoding and in
base64 it is encoded as the secret was, so that a program that decodes a recorded text still can. In
JSON inside a text, one of its own letters is escaped for what the writer escaped without need
(`spelled`): to a reader of JSON it is the same placeholder.
`redactor` puts placeholders in, `fill` puts live values in their place, `encoded_parts` and
`decode_placeholders` are for comparing texts (`playback.variables`, `semantic_diff`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

import msgspec

from mcpmock.cassette.model import Cassette
from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.contents import SECRET_MARK
from mcpmock.protocol.messages import decode, encode

from .encodings import base64_runs, decode_base64, encode_percent
from .json_escapes import PLAIN, StringSpelling

PLACEHOLDER = SECRET_MARK.encode()
HOLE = lazy_pattern(
    PLACEHOLDER + rb"(?:\\+u00[67][0-9a-f]|[a-z-])+(?::|\\+u003[aA])(?:\\+u003\d|\d)\d*"
)
"""A placeholder: on replay a variable, which the first live value binds. `unspelled` gives its
name, where it may stand in JSON inside a text.
"""
NUMBER_SUFFIX = "-number"
"""The end of the kind of a number. Its placeholder is a JSON string, its quotes belong to it."""
NUMBER_HOLE = lazy_pattern(rb'(\\*+)"(' + PLACEHOLDER + rb'[a-z-]+-number:\d+)\1"')
"""The placeholder of a number, at any depth of JSON in strings."""
HASH_DIGITS = 12
"""How long the number of a placeholder is that is a hash."""
NUMBER_MARK = b"-number:"
"""What is in the placeholder of each number, and seldom elsewhere."""
_PERCENT_HOLE = lazy_pattern(
    rb"%22mcpmock%3Asecret%3A[a-z-]+-number%3A\d+%22|mcpmock%3Asecret%3A[a-z-]+%3A\d+"
)
_SIGNS = lazy_pattern(
    PLACEHOLDER
    + rb"(?P<kind>(?:\\+u00[67].|[a-z-])+)(?P<colon>:|\\+u003.)(?P<digit>\\+u003.|\d)(?P<rest>\d*)"
)
"""The signs of which an escape says how the value is spelled: a letter of the kind for slashes, the
colon for what is not ASCII, the first digit for what HTML reads.
"""
_PLAIN_LETTER = lazy_pattern(rb"((?:\\+u00..)*+)([a-z])")
_ESCAPED_SIGN = lazy_pattern(rb"(\\+)u00([0-9a-fA-F]{2})")
_PERCENT_MARK = b"mcpmock%3Asecret%3A"
_BASE64_MARKS = (b"bWNwbW9jazpzZWNyZXQ6", b"1jcG1vY2s6c2VjcmV0O", b"tY3Btb2NrOnNlY3JldD")
"""`mcpmock:secret:` in base64, behind a multiple of three bytes, one more, two more."""


class EncodedPart(msgspec.Struct, frozen=True):
    """A part of a text that holds a placeholder in percent encoding or base64."""

    start: int
    end: int
    text: str
    """The part, decoded."""
    decode: Callable[[str], str | None]
    """Decodes a live text in the same place; gives None if it is not encoded so."""


def holds_placeholder(text: bytes | str) -> bool:
    """Return whether there is a placeholder in a text, encoded or not."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return PLACEHOLDER in raw or _holds_encoded(raw)


def spelled(placeholder: bytes, spelling: StringSpelling) -> bytes:
    """Return a placeholder in a JSON string that says how its value is spelled there; any other
    replacement as it is.
    """
    found = _SIGNS.fullmatch(placeholder) if spelling != PLAIN else None
    if found is None:
        return placeholder
    kind, colon, digit, rest = found.groups()
    plain = _PLAIN_LETTER.match(kind)
    if spelling.slashes and plain is not None:  # a letter for each level of JSON
        kind = plain[1] + _escaped(plain[2]) + kind[plain.end() :]
    if spelling.digits and colon == b":":
        colon = b"\\u003a" if spelling.digits == "x" else b"\\u003A"
    if spelling.html and len(digit) == 1:
        digit = _escaped(digit)
    return PLACEHOLDER + kind + colon + digit + rest


def spell_with_placeholders(text: str, spelling: StringSpelling) -> bytes:
    """Return the inside of a JSON string in which the placeholders of a text say how the values are
    spelled.
    """
    raw = spelling.spell(text).encode("utf-8", "surrogatepass")
    return HOLE.sub(lambda hole: spelled(hole[0], spelling), raw)


def _escaped(sign: bytes) -> bytes:
    return b"\\u%04x" % ord(sign)


def unspelled(placeholder: bytes) -> bytes:
    """Return a placeholder without the escapes that say how its value is spelled."""
    return _ESCAPED_SIGN.sub(lambda sign: bytes([int(sign[2], 16)]), placeholder)


def placeholders_in(raw: bytes) -> list[bytes]:
    """Return the placeholders in these bytes, encoded or not, in their order but for the encoded
    ones.
    """
    found = [unspelled(hole) for hole in HOLE.findall(raw)]
    if _holds_encoded(raw):
        found += [unquote(hole.decode()).strip('"').encode() for hole in _PERCENT_HOLE.findall(raw)]
        found += [
            hole for run in base64_runs(raw, _holds_base64) for hole in HOLE.findall(run.text)
        ]
    return found


def normal_number(number: bytes) -> bytes:
    """Return a number in the one form that equal numbers have: `1e2` and `100.0` are 100."""
    value = decode(number)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return number if value is None else encode(value)


def pattern_of(text: str) -> re.Pattern[str]:
    """Return an expression for the paths that a path with placeholders stands for."""
    parts = HOLE.split(text.encode("utf-8", "surrogateescape"))
    texts = (re.escape(part.decode("utf-8", "surrogateescape")) for part in parts)
    return re.compile("[^/]+".join(texts))


def number_of(hole: bytes) -> int:
    """Return the number of a placeholder."""
    return int(unspelled(hole).rpartition(b":")[2][:9])


def highest_number(cassette: Cassette) -> int:
    """Return the highest number of the placeholders in a cassette, 0 if there are none."""
    lines = (msgspec.json.encode(event) for take in cassette.takes for event in take.events)
    return max((number_of(hole) for line in lines for hole in HOLE.findall(line)), default=0)


def encoded_parts(text: str) -> list[EncodedPart]:
    """Return the parts of a recorded text that hold encoded placeholders, in their order."""
    raw = text.encode("utf-8", "surrogatepass")
    # speed: 1.5 us a text of 1 KB, the search for base64 55 (python -m timeit)
    if not _holds_encoded(raw):
        return []
    found = [
        EncodedPart(*match.span(), unquote(match[0].decode()), unquote)
        for match in _PERCENT_HOLE.finditer(raw)
    ]
    found += [
        EncodedPart(*run.span, run.text.decode(), _decode_live_base64)
        for run in base64_runs(raw, _holds_base64)
        if PLACEHOLDER in run.text
    ]
    if not raw.isascii():  # places in bytes are not places in the text
        found = [
            msgspec.structs.replace(part, start=_place(raw, part.start), end=_place(raw, part.end))
            for part in found
        ]
    return sorted(found, key=lambda part: part.start)


def decode_placeholders(text: str) -> str:
    """Return a text with its encoded placeholders decoded, and what is encoded with them."""
    for part in reversed(encoded_parts(text)):
        text = text[: part.start] + part.text + text[part.end :]
    if "\\u00" in text:
        raw = text.encode("utf-8", "surrogatepass")
        text = HOLE.sub(lambda hole: unspelled(hole[0]), raw).decode("utf-8", "surrogatepass")
    return text


def fill(raw: bytes, bindings: Mapping[str, str], *, quoted: bool = True) -> bytes:
    """Return the live values of the placeholders in a message, or (not `quoted`) in other text; an
    unbound one is sent as it stands, that of a number as 0.
    """

    def value(placeholder: re.Match[bytes]) -> bytes:
        live = bindings.get(unspelled(placeholder[0]).decode())
        if live is None:
            return b"0" if NUMBER_MARK in placeholder[0] else placeholder[0]
        return _escape(live, raw, placeholder) if quoted else _as_bytes(live)

    def number(placeholder: re.Match[bytes]) -> bytes:
        return bindings.get(placeholder[2].decode(), "0").encode()

    def percent_value(placeholder: re.Match[bytes]) -> bytes:
        hole = unquote(placeholder[0].decode())
        if hole.startswith('"'):
            return bindings.get(hole.strip('"'), "0").encode()
        live = bindings.get(hole, "0" if f"{NUMBER_SUFFIX}:" in hole else None)
        return placeholder[0] if live is None else encode_percent(_as_bytes(live))

    if _holds_encoded(raw):
        for run in reversed(list(base64_runs(raw, _holds_base64))):
            if PLACEHOLDER in run.text:
                new = fill(run.text, bindings, quoted=run.text.lstrip().startswith((b"{", b"[")))
                raw = raw[: run.span.start] + run.encode(new) + raw[run.span.end :]
        raw = _PERCENT_HOLE.sub(percent_value, raw)
    if NUMBER_MARK in raw:
        raw = NUMBER_HOLE.sub(number, raw)
    return HOLE.sub(value, raw)


def _escape(live: str, raw: bytes, placeholder: re.Match[bytes]) -> bytes:
    """Spell a value as its JSON string does, in JSON inside a string once more."""
    # The quote in front of the string tells how deep it lies: each level escapes it, and its
    # backslashes, once more ("  \"  \\\"), so there are 0, 1, 3, 7 backslashes.
    end = placeholder.start()
    quote, escaped = raw.rfind(b'"', 0, end), raw.rfind(b"\\u0022", 0, end)
    at = max(quote, escaped)
    backslashes = at - len(raw[: max(at, 0)].rstrip(b"\\"))
    depth = (backslashes + 1).bit_length() + (escaped > quote) if at >= 0 else 1
    return spell_value(placeholder[0], live, depth).encode()


def spell_value(placeholder: bytes, live: str, depth: int = 0) -> str:
    """Return a value as its placeholder says that it is spelled, inside of `depth` strings of JSON
    at least.
    """
    spellings = _spellings(placeholder)
    for level in reversed(range(max(depth, 0, *(level + 1 for level in spellings)))):
        live = spellings.get(level, PLAIN).spell(live)
    return live


def read_value(placeholder: bytes, text: str) -> str | None:
    """Return the value that is spelled in a text where a placeholder stands that says how; None if
    it is none.
    """
    value: Any = text
    for _ in range(max(_spellings(placeholder), default=-1) + 1):
        value = decode(f'"{value}"'.encode("utf-8", "surrogatepass"))
        if not isinstance(value, str):
            return None
    return str(value)


def _spellings(placeholder: bytes) -> dict[int, StringSpelling]:
    """Return how the value is spelled, by the level of the JSON string: 0 in the message."""
    spellings: dict[int, StringSpelling] = {}
    for escape in _ESCAPED_SIGN.finditer(placeholder) if b"\\" in placeholder else ():
        # An escape has one backslash, and each level doubles them: 1, 2, 4, 8.
        level, sign = len(escape[1]).bit_length() - 1, int(escape[2], 16)
        change: dict[str, Any] = {"slashes": True}
        if sign == ord(":"):
            change = {"digits": "X" if escape[2].endswith(b"A") else "x"}
        elif sign < ord(":"):
            change = {"html": True}
        spellings[level] = msgspec.structs.replace(spellings.get(level, PLAIN), **change)
    return spellings


def _place(raw: bytes, at: int) -> int:
    return len(raw[:at].decode("utf-8", "surrogatepass"))


def _as_bytes(live: str) -> bytes:
    return live.encode("utf-8", "surrogateescape")


def _holds_encoded(raw: bytes) -> bool:
    return _PERCENT_MARK in raw or _holds_base64(raw)


def _holds_base64(raw: bytes) -> bool:
    first, second, third = _BASE64_MARKS
    return first in raw or second in raw or third in raw


def _decode_live_base64(text: str) -> str | None:
    decoded = decode_base64(text.encode("utf-8", "surrogatepass"))
    return None if decoded is None else decoded.decode()
