"""Texts inside texts: strings of JSON, percent encoding, base64.

A server repeats a value in whatever spelling its libraries choose. `Decoded` is a decoded text that
knows where each of its bytes came from, so that what is replaced in it can be replaced in the
original and every other byte stays. Base64 has no such places: there a whole run is encoded anew.
Used by `text_redactor`, and by `placeholders` for the way back.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from bisect import bisect_right
from collections.abc import Callable, Iterator
from urllib.parse import quote, unquote_to_bytes

import msgspec

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.raw_json import UNREADABLE, Span, begin_of_text, begins_with

MAX_DECODED_BYTES = 1 << 20
"""Longer strings are not decoded: what they hold is found in their own spelling only."""
BASE64_TEXT = rb"[I-Za-f][C-HS-Xi-nyz0-3][ABEFIJMNQRUVYZcdghklopstwx014589][0-9A-Za-z+/_-]"
"""Three bytes of ASCII in base64: other data seldom has four such groups in a row."""
_ESCAPE = lazy_pattern(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.S
)
_SHORT_ESCAPES = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_PERCENT = lazy_pattern(rb"%[0-9a-fA-F]{2}")
_COLOR = lazy_pattern(rb"\x1b\[[0-9;:]*m")
_RUN = lazy_pattern(
    rb"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{60,76}(?:\r?\n[A-Za-z0-9+/]{60,76})*"
    rb"\r?\n[A-Za-z0-9+/]{1,76}+={0,2}|(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{8,}+={0,2}"
)
_raw_json = msgspec.json.Decoder(msgspec.Raw)
_TEXT_GROUPS = lazy_pattern(BASE64_TEXT * 4)
_NO_TEXT = lazy_pattern(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Decoded(msgspec.Struct, frozen=True):
    """A decoded text, in pieces: where each begins, and where it came from."""

    text: bytes
    _starts: list[int]
    _origins: list[int]

    def origin(self, span: Span) -> Span:
        """Return where the bytes of a span came from."""
        return Span(self._at(span.start), self._at(span.end))

    def _at(self, place: int) -> int:
        piece = bisect_right(self._starts, place) - 1
        return self._origins[piece] + place - self._starts[piece]


def _decode_pieces(
    raw: bytes, span: Span, pattern: re.Pattern[bytes], decode: Callable[[bytes], bytes]
) -> Decoded:
    parts, starts, origins = [], [0], [span.start]
    size, at = 0, span.start
    for match in pattern.finditer(raw, *span):
        before, new = raw[at : match.start()], decode(match[0])
        parts += [before, new]
        starts += [size + len(before), size := size + len(before) + len(new)]
        at = match.end()
        origins += [match.start(), at]
    parts.append(raw[at : span.end])
    return Decoded(b"".join(parts), starts, origins)


def decode_string(raw: bytes, span: Span) -> Decoded:
    """Return the inside of a JSON string. Lone surrogates, which UTF-8 lacks, stay as three
    bytes.
    """
    return _decode_pieces(raw, span, _ESCAPE, _unescape)


def decode_percent(raw: bytes) -> Decoded | None:
    """Return a text with percent encoding; None if it has none."""
    if not _PERCENT.search(raw):
        return None
    return _decode_pieces(raw, Span(0, len(raw)), _PERCENT, unquote_to_bytes)


def without_colors(raw: bytes) -> Decoded | None:
    """Return a text without the colors of a terminal; None if it has none."""
    if b"\x1b[" not in raw:
        return None
    return _decode_pieces(raw, Span(0, len(raw)), _COLOR, lambda _: b"")


def encode_percent(text: bytes) -> bytes:
    """Encode for a URL as strictly as there is, so that it stands in any part of a URL."""
    return quote(text, safe="").encode()


class Base64Run(msgspec.Struct, frozen=True):
    """Text in base64, and where it stands."""

    span: Span
    text: bytes
    raw: bytes

    def encode(self, text: bytes) -> bytes:
        """Return another text in the same alphabet, on one line: there a placeholder is found
        again.
        """
        raw = self.raw
        padded = raw.endswith(b"=") or len(raw.replace(b"\r", b"").replace(b"\n", b"")) % 4 == 0
        urlsafe = b"-" in raw or b"_" in raw
        new = b64encode(text, b"-_" if urlsafe else None)
        return new if padded else new.rstrip(b"=")


def base64_runs(text: bytes, needles: Callable[[bytes], bool]) -> Iterator[Base64Run]:
    """Yield the runs of base64 that hold text. `needles` says whether one may hold a known value:
    others must look like text, which saves decoding every id and every word.
    """
    for match in _RUN.finditer(text):
        raw = match[0]
        groups = _TEXT_GROUPS.search(raw)
        if groups is None and not needles(raw):
            continue
        # Before base64 there may be letters of its alphabet that do not belong to it: a path.
        for start in dict.fromkeys((0, *([] if groups is None else [groups.start()]))):
            decoded = decode_base64(raw[start:])
            if decoded is not None:
                yield Base64Run(Span(match.start() + start, match.end()), decoded, raw[start:])
                break


def is_json(text: bytes) -> bool:
    """Return whether a text is one JSON object or array."""
    if not begins_with(text, b"{") and not begins_with(text, b"["):
        return False
    try:
        _raw_json.decode(text[begin_of_text(text) :])
    except UNREADABLE:
        return False
    return True


def is_text(data: bytes) -> bool:
    """Return whether bytes are text without control characters."""
    if _NO_TEXT.search(data):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def decode_base64(raw: bytes) -> bytes | None:
    """Return the text in a run, None if it holds none."""
    letters = raw.rstrip(b"=").translate(_STANDARD, b"\r\n")
    try:
        decoded = b64decode(letters + b"=" * (-len(letters) % 4), validate=True)
    except binascii.Error:
        return None
    return decoded if is_text(decoded) else None


_STANDARD = bytes.maketrans(b"-_", b"+/")


def _unescape(escape: bytes) -> bytes:
    if escape[1:2] != b"u" or len(escape) == 2:  # a text that is no JSON may have any backslash
        return _SHORT_ESCAPES.get(escape[1:], escape[1:])
    codes = escape.split(b"\\u")[1:]
    text = b"".join(int(code, 16).to_bytes(2, "big") for code in codes)
    return text.decode("utf-16-be", "surrogatepass").encode("utf-8", "surrogatepass")
