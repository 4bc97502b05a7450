"""`KnownValues`: the values that were judged secret once, to be found wherever they appear again.

A value is found as a part of any text, in its own spelling and in base64; other spellings are
decoded before they are looked through. What has no name and no format is only found this way: a
server repeats the password of a call in its answer, its log and its errors.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator

import attrs

from mcpmock.protocol.raw_json import Span

from .placeholders import PLACEHOLDER
from .secret_formats import Found
from .secret_names import SESSION_ID, kind_of_name

MIN_KNOWN_BYTES = 8
"""Shorter values stand in too many places by chance."""
MAX_SEARCHED_VALUES = 100
"""How many values are searched for one by one. Further ones, and session ids, of which a proxy sees
thousands, are found as words of their own: one look-up for each word of a text.
"""
_WORD = re.compile(rb"[\w-]{8,}")
_PLAIN = re.compile(rb"[A-Za-z0-9_.~-]{5,}")
"""What no spelling of JSON or of URLs has to escape."""
# A word, a reference to a variable, a hint for the reader, a path or a URL gives no access, and
# stands in other places too: `"token": "undefined"`, `TOKEN=${TOKEN}`, `CREDENTIALS=/run/key.json`.
_ORDINARY = re.compile(
    rb"[A-Z]?[a-z]{0,11}|[A-Z_]+|[a-z]{1,11}[ _-][a-z]{1,11}|\W*|"
    rb"\$.*|%\w+%|<.*>|\{\{.*\}\}|\[.*\]|(?:[Yy]our|YOUR|my|MY|the)[ _-].*|"
    rb"(?:~|\.{1,2}|/[A-Za-z]+|[A-Za-z]:)[/\\].*|[a-z]+://[^@]*|\d{4}-\d\d-\d\d.*",
    re.S,
)
_MIN_DIFFERENT_BYTES = 4


@attrs.define
class KnownValues:
    """The known values with their kinds."""

    kinds: dict[bytes, str] = attrs.field(factory=dict)
    """By value, what is found as a part of any text."""
    _words: dict[bytes, str] = attrs.field(factory=dict)
    _needles: dict[bytes, None] = attrs.field(factory=dict)
    """A part of each value that every spelling of JSON and of URLs leaves as it is."""
    _encoded: dict[bytes, None] = attrs.field(factory=dict)
    """What is left of each value in base64, whatever stands before and behind it."""

    def __len__(self) -> int:
        return len(self.kinds) + len(self._words)

    def learn(self, value: bytes, kind: str) -> bool:
        """Note that a value is secret; whether it was not known."""
        if value in self.kinds or value in self._words or not _can_be_known(value):
            return False
        if len(self.kinds) < MAX_SEARCHED_VALUES and kind != SESSION_ID:
            self.kinds[value] = kind
            self._needles[_plain_part(value)] = None
            self._encoded |= dict.fromkeys(_cores(value))
        elif _WORD.fullmatch(value):
            self._words[value] = kind
        return True

    def occur(self, data: bytes) -> bool:
        """Return whether one may stand in this data: a quick look, that misses what is
        `respelled`.
        """
        for needle in self._needles:
            if data.find(needle) >= 0:  # `in` takes 0.2 us more: it raises and drops an error first
                return True
        return self.occur_encoded(data) or (
            bool(self._words) and not self._words.keys().isdisjoint(_WORD.findall(data))
        )

    def occur_encoded(self, data: bytes) -> bool:
        """Return whether one may stand in this data in base64."""
        for needle in self._encoded:  # noqa: SIM110 (an any() doubles the time of a short message)
            if data.find(needle) >= 0:
                return True
        return False

    def find(self, text: bytes) -> Iterator[Found]:
        """Yield where they stand in a text, in their own spelling; the longest first."""
        present = [value for value in self.kinds if value in text]
        for value in sorted(present, key=len, reverse=True):
            at = text.find(value)
            while at >= 0:
                yield Span(at, at + len(value)), self.kinds[value]
                at = text.find(value, at + len(value))
        for word in _WORD.finditer(text) if self._words else ():
            if word[0] in self._words:
                yield Span(*word.span()), self._words[word[0]]


def _can_be_known(value: bytes) -> bool:
    return (
        len(value) >= MIN_KNOWN_BYTES
        and len(set(value)) >= _MIN_DIFFERENT_BYTES
        and not _ORDINARY.fullmatch(value)
        and PLACEHOLDER not in value
        and kind_of_name(value.decode("utf-8", "replace")) is None
    )


def _plain_part(value: bytes) -> bytes:
    """Return the longest plain part; the whole value if it has none."""
    return max(_PLAIN.findall(value), key=len, default=value)


def _cores(value: bytes) -> Iterator[bytes]:
    """Yield the letters of base64 that do not depend on the bytes before and behind the value."""
    for before in range(3):
        letters = b64encode(b"\0" * before + value)
        core = letters[-(-before * 4 // 3) : len(letters) - (0, 3, 2)[(before + len(value)) % 3]]
        yield core
        yield core.translate(_URLSAFE)


_URLSAFE = bytes.maketrans(b"+/", b"-_")
