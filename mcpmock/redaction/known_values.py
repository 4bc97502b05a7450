"""`KnownValues`: the values that were judged secret once, to be found wherever they appear again.

A value is found as a part of any text, in its own spelling and in base64; other spellings are
decoded before they are looked through. What has no name and no format is only found this way: a
server repeats the password of a call in its answer, its log and its errors.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator

from msgspec import Struct, field

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.raw_json import Span

from .placeholders import PLACEHOLDER
from .secret_formats import Found
from .secret_names import SESSION_ID, OwnKind, kind_of_name

MIN_KNOWN_BYTES = 8
"""Shorter values stand in too many places by chance."""
MAX_SEARCHED_VALUES = 100
"""How many values are searched for one by one. Further ones, and session ids, of which a proxy sees
thousands, are found as words of their own: one look-up for each word of a text.
"""
_FEW_WORDS = 20
"""Up to how many words are looked for in a text one by one, instead of its words among them."""
_WORD = lazy_pattern(rb"[\w-]{8,}")
_PLAIN = lazy_pattern(rb"[A-Za-z0-9_.~-]{5,}")
"""What no spelling of JSON or of URLs has to escape."""
_PLAIN_IN_JSON = lazy_pattern(rb"[^\"\\/\x00-\x1f\x7f-\xff]+")
# A word, a reference to a variable, a hint for the reader, a path or a URL gives no access, and
# stands in other places too: `"token": "undefined"`, `TOKEN=${TOKEN}`, `CREDENTIALS=/run/key.json`.
_ORDINARY = lazy_pattern(
    rb"[A-Z]?[a-z]{0,11}|[A-Z_]+|[a-z]{1,11}[ _-][a-z]{1,11}|\W*|"
    rb"\$.*|%\w+%|<.*>|\{\{.*\}\}|\[.*\]|(?:[Yy]our|YOUR|my|MY|the)[ _-].*|"
    rb"(?:~|\.{1,2}|/[A-Za-z]+|[A-Za-z]:)[/\\].*|[a-z]+://[^@]*|\d{4}-\d\d-\d\d.*",
    re.S,
)
_MIN_DIFFERENT_BYTES = 4
_WORDS_ONLY = lazy_pattern(r"[^\W\d_]+(?:[ _-][^\W\d_]+)*")
_WORD_BEFORE = lazy_pattern(rb"[\w\x80-\xff]")


class KnownValues(Struct, eq=False):
    """The known values with their kinds."""

    kinds: dict[bytes, str] = field(default_factory=dict)
    """By value, what is found as a part of any text."""
    _own: set[bytes] = field(default_factory=set)
    """Those that only a rule of the user took for secret: they stay where the protocol needs them.
    """
    _own_words: set[bytes] = field(default_factory=set)
    """Those of them that are ordinary words: found as whole words only."""
    _words: dict[bytes, str] = field(default_factory=dict)
    _needles: dict[bytes, None] = field(default_factory=dict)
    """A part of each value that every spelling of JSON and of URLs leaves as it is."""
    _encoded: dict[bytes, None] = field(default_factory=dict)
    """What is left of each value in base64, whatever stands before and behind it."""
    count: int = 0
    """How often one became known, or one that a rule of the user took for secret to all rules."""

    def learn(self, value: bytes, kind: str) -> bool:
        """Note that a value is secret; whether it was not known. What a rule of the user took for
        one (`OwnKind`) is one whatever it looks like.
        """
        own = isinstance(kind, OwnKind)
        if value in self.kinds or value in self._words:
            if own or value not in self._own or not _can_be_known(value):
                return False
            self._own.remove(value)
            self._own_words.discard(value)
        elif own:
            text = value.decode("utf-8", "replace")
            if PLACEHOLDER in value or len(text) < MIN_KNOWN_BYTES:
                return False
            self._own.add(value)
            if _WORDS_ONLY.fullmatch(text):
                self._own_words.add(value)
        elif not _can_be_known(value):
            return False
        if value in self.kinds:
            self.kinds[value] = kind
        elif len(self.kinds) < MAX_SEARCHED_VALUES and kind != SESSION_ID:
            self.kinds[value] = kind
            self._needles[_plain_part(value)] = None
            self._encoded |= dict.fromkeys(_cores(value))
        elif _WORD.fullmatch(value):
            self._words[value] = kind
        else:
            return True
        self.count += 1
        return True

    def occur(self, data: bytes) -> bool:
        """Return whether one may stand in this data: a quick look, that misses what is
        `respelled`.
        """
        for needle in self._needles:
            # speed: `in` takes 0.2 us more: it raises and drops an error first (python -m timeit)
            if data.find(needle) >= 0:
                return True
        if self._words and self._word_occurs(data):
            return True
        return bool(self._encoded) and self.occur_encoded(data)

    def _word_occurs(self, data: bytes) -> bool:
        # speed: 0.1 us for the one session id of most recordings, by the words of a message 3.3
        # (python -m timeit)
        if len(self._words) > _FEW_WORDS:
            return not self._words.keys().isdisjoint(_WORD.findall(data))
        for word in self._words:  # noqa: SIM110 (as below)
            if data.find(word) >= 0:
                return True
        return False

    def occur_encoded(self, data: bytes) -> bool:
        """Return whether one may stand in this data in base64."""
        for needle in self._encoded:  # noqa: SIM110 (an any() doubles the time of a short message)
            if data.find(needle) >= 0:
                return True
        return False

    def find(self, text: bytes, *, own: bool = False) -> Iterator[Found]:
        """Yield where they stand in a text, in their own spelling; the longest first. `own`: those
        of the user's rules, and no others.
        """
        present = [value for value in self.kinds if value in text]
        for value in sorted(present, key=len, reverse=True):
            ordinary = value in self._own_words
            if (value in self._own) is not own:
                continue
            at = text.find(value)
            while at >= 0:
                end = at + len(value)
                if not ordinary or not _is_in_word(text, at, end):
                    yield Span(at, end), self.kinds[value]
                at = text.find(value, end)
        for word in _WORD.finditer(text) if self._words else ():
            value = word[0]
            if value in self._words and (value in self._own) is own:
                yield Span(*word.span()), self._words[value]

    def own_kind(self, value: bytes) -> str | None:
        """Return the kind of a value, if a rule of the user took it for secret."""
        return self.kinds.get(value, self._words.get(value)) if value in self._own else None


def _is_in_word(text: bytes, start: int, end: int) -> bool:
    """Return whether a letter or a digit is next to a part of a text."""
    return _WORD_BEFORE.search(text, max(start - 1, 0), start) is not None or (
        _WORD_BEFORE.search(text, end, end + 1) is not None
    )


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
    found = _PLAIN.findall(value) or _PLAIN_IN_JSON.findall(value)
    return max(found, key=len, default=value)


def _cores(value: bytes) -> Iterator[bytes]:
    """Yield the letters of base64 that do not depend on the bytes before and behind the value."""
    for before in range(3):
        letters = b64encode(b"\0" * before + value)
        core = letters[-(-before * 4 // 3) : len(letters) - (0, 3, 2)[(before + len(value)) % 3]]
        yield core
        yield core.translate(_URLSAFE)


_URLSAFE = bytes.maketrans(b"+/", b"-_")
