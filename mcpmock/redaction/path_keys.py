"""Finds the key in the path of a URL: `https://host/s/KEY/mcp` is how servers are hosted without a
login.

A segment is a key if it has the shape of one: random letters and digits, which names, versions,
dates and numbers are not. Used by `headers`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from mcpmock.protocol.raw_json import Span

from .encodings import decode_base64

_MIN_ODD_PAIRS = 7
_MIN_ODD_SHARE = 0.5
"""Of the neighbouring characters in a key so many are no neighbours in words. Of random texts of 20
letters and digits one in a hundred has less, of 22 and more fewer; of the long names in an index of
packages one in 3,000 has as many.
"""
_MIN_DIFFERENT = 6
_MIN_RANDOM_BYTES = 16
"""Behind a prefix (`sk_live_`), so much has to be random."""
# Made of the 87 % most frequent pairs in the words of Python's standard library.
_PAIRS = frozenset(
    b"ab ac ad ag ai al am an ap ar as at au ay ba be bi bl bo br bu ca ce ch ci ck cl co cr ct cu "
    b"da de di do dr ds du ea ec ed ee ef eg ei el em en ep er es et ev ew ex fa fe ff fi fl fo fr "
    b"ga ge gh gi gr gs ha he hi ho ia ib ic id ie if ig il im in io ip ir is it iv iz ke ki la ld "
    b"le li ll lo ls lt lu ly ma me mi mo mp mu na nc nd ne nf ng ni nn no ns nt nu ob oc od og ol "
    b"om on oo op or os ot ou ov ow pa pe ph pi pl po pp pr ps pt qu ra rc rd re rg ri rm rn ro rr "
    b"rs rt ru ry sa sc se sh si sl so sp ss st su ta tc te th ti tl to tr ts tt tu ty ub uc ue ul "
    b"um un up ur us ut va ve vi wa we wi yp ze".split()
)
_URL = re.compile(
    rb"(?:[\w-]{1,64}+=)?(?:(?:https?|wss?)://[^/?#\s]*+)?(?P<path>/[^?#\s\"'<>]*+)(?:[?#]\S*+)?",
    re.IGNORECASE,
)
_SEGMENT = re.compile(rb"(?<=/)(?P<key>[A-Za-z0-9_~-]{20,512}+)(?:=|%3[Dd]){0,2}(?=/|\Z)")
_ID = re.compile(
    rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|01[0-9a-hjkmnp-tv-z]{24}", re.IGNORECASE
)
"""A UUID or a ULID."""
_HEX = re.compile(rb"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]+", re.IGNORECASE)
_WORD = re.compile(rb"[A-Za-z][a-z]{2,}")
_HASHED = {
    *(b"commit", b"commits", b"blob", b"blobs", b"tree", b"trees", b"raw", b"sha", b"sha1"),
    *(b"sha256", b"md5", b"rev", b"revision", b"changeset", b"object", b"objects", b"hash"),
    *(b"digest", b"archive", b"compare", b"checksum", b"etag", b"ref", b"refs", b"gist"),
}
"""Behind these a hash names a content, and opens nothing."""


def keys_in_path(url: bytes) -> Iterator[Span]:
    """Yield the segments that are keys; none in a text that is more than one URL or target."""
    whole = _URL.fullmatch(url)
    if whole is None:
        return
    for segment in _SEGMENT.finditer(url, *whole.span("path")):
        before = url[whole.start("path") : segment.start()].rstrip(b"/").rpartition(b"/")[2]
        if _is_key(segment["key"], before):
            yield Span(*segment.span("key"))


def _is_key(segment: bytes, before: bytes) -> bool:
    if len({*segment}) < _MIN_DIFFERENT:
        return False
    if _ID.fullmatch(segment):
        return not _WORD.fullmatch(before)  # `/sessions/UUID` is the name of a thing
    if _HEX.fullmatch(segment):
        return before.lower() not in _HASHED
    decoded = decode_base64(segment)
    if decoded is not None:  # the name of a file, or a key in base64 once more
        odd, usual = _count_pairs(decoded)
        return odd > usual
    return is_random(segment)


def is_random(text: bytes) -> bool:
    """Return whether 16 characters or more look random: no word that a person chose."""
    if text.islower() or text.isupper():  # random text has what joins words beside both cases
        text = max(re.split(rb"[-_~]", text), key=len)
    odd, usual = _count_pairs(text)
    share = odd / max(odd + usual, 1)
    return len(text) >= _MIN_RANDOM_BYTES and odd >= _MIN_ODD_PAIRS and share >= _MIN_ODD_SHARE


def _count_pairs(text: bytes) -> tuple[int, int]:
    """Count the neighbouring characters that are odd in words, and those that are usual."""
    odd = usual = 0
    for pair in map(bytes, pairwise(text)):
        if not pair.isalnum() or pair.isdigit() or (pair[0:1].islower() and pair[1:].isupper()):
            continue  # two words meet in a name, too
        if pair.lower() in _PAIRS:
            usual += 1
        else:
            odd += 1
    return odd, usual
