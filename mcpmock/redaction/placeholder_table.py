"""`PlaceholderTable`: the placeholders of one take, and the values that they stand for.

A secret becomes `mcpmock:secret:<kind>:<n>`, n counting up in order of appearance: equal values get
the same placeholder, and nothing derived from the value is stored. What is secret is found by
`text_redactor` and `redactor` above; `known_values` finds it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct, field

from mcpmock.protocol.messages import decode

from .encodings import decode_base64, decode_percent, encode_percent, is_text
from .known_values import KnownValues
from .placeholders import (
    HASH_DIGITS,
    HOLE,
    NUMBER_SUFFIX,
    PLACEHOLDER,
    normal_number,
    number_of,
)
from .secret_names import SESSION_ID

MAX_NESTED = 5
"""How deep JSON in JSON in JSON is unescaped."""


class SecretPlace(msgspec.Struct, frozen=True):
    """Where a secret was found: the JSONPath in its message, empty in a text; and its kind."""

    path: str
    kind: str


class PlaceholderTable(Struct, eq=False):
    """Gives each secret its placeholder, and remembers the secret."""

    count: int = 0
    """How many values were replaced."""
    learned: bool = False
    """Whether a value became known since this was last set to False: it may stand in what was
    redacted before.
    """
    places: list[SecretPlace] | None = None
    """Where secrets were found, in the order found; None where nothing asks for it."""
    path: Sequence[str | int] = ()
    """The path of the scalar that is looked at."""
    known: KnownValues = field(default_factory=KnownValues)
    hash_of: Callable[[bytes], int] | None = None
    """Gives the number that stands for a secret; None where they are counted."""
    _placeholders: dict[bytes | tuple[str, bytes], bytes] = field(default_factory=dict)
    """By secret; of numbers by kind and number."""
    _numbers: int = 0
    """The highest number of a placeholder."""

    def reserve(self, number: int) -> None:
        """Give new placeholders higher numbers."""
        self._numbers = max(self._numbers, number)

    def reserve_in(self, text: bytes) -> None:
        """Reserve the numbers of the placeholders that came over the wire: they keep them. A
        redacted recording that drives a server is recorded with the numbers that it had.
        """
        for hole in HOLE.findall(text):
            self.reserve(number_of(hole))

    def placeholder(self, kind: str, secret: bytes) -> bytes:
        """Return the placeholder of a secret."""
        key = unescaped(secret)
        self._note(kind, key)
        return self._placeholder(key, kind, key)

    def number_placeholder(self, kind: str, number: bytes) -> bytes:
        """Return the JSON string that stands for a number. It is never that of a text: `7` and
        `"7"` are two values, and two numbers of different names are equal by chance.
        """
        self._note(kind, number)
        kind, number = f"{kind}{NUMBER_SUFFIX}", normal_number(number)
        return b'"%b"' % self._placeholder((kind, number), kind, number)

    def number_in_text(self, kind: str, number: bytes) -> bytes | None:
        """Return the placeholder of a number where its digits are a part of a text; None if this
        is none, or is a text of its own somewhere.
        """
        kind = self.known.own_kind(number) or kind
        key = (f"{kind}{NUMBER_SUFFIX}", number)
        if number in self._placeholders or key not in self._placeholders:
            return None
        self._note(kind, number)
        return self._placeholders[key]

    def _note(self, kind: str, secret: bytes) -> None:
        self.count += 1
        if self.places is not None:
            self.places.append(SecretPlace(_show_path(self.path), str(kind)))
        self.learn(secret, kind)

    def _placeholder(self, key: bytes | tuple[str, bytes], kind: str, secret: bytes) -> bytes:
        if key not in self._placeholders:
            if self.hash_of is None:
                self._numbers += 1
                number = b"%d" % self._numbers
            else:
                number = b"%0*d" % (HASH_DIGITS, self.hash_of(secret))
            self._placeholders[key] = PLACEHOLDER + b"%b:%b" % (kind.encode(), number)
        return self._placeholders[key]

    def encoded_placeholder(self, kind: str, secret: bytes) -> bytes:
        """Return the placeholder of a secret, in percent encoding if the secret is: it has one
        placeholder in all its spellings.
        """
        percent = decode_percent(secret)
        if percent is None or not is_text(percent.text):
            return self.placeholder(kind, secret)
        return encode_percent(self.placeholder(kind, percent.text))

    def learn(self, value: bytes, kind: str) -> None:
        """Know this value from here on; so it is with the password in the credentials of
        `Basic`.
        """
        known = self.known.learn(value, kind)
        credentials = decode_base64(value) if known else None
        if credentials is not None:
            self.known.learn(credentials.partition(b":")[2], kind)
        if known:
            self.learned = self.learned or kind != SESSION_ID


def unescaped(secret: bytes) -> bytes:
    """Return a secret as it is, however a JSON string spells it; a letter of one in JSON inside of
    JSON has an escape for each.
    """
    for _ in range(MAX_NESTED):
        value = decode(b'"' + secret + b'"') if b"\\" in secret else None
        if not isinstance(value, str):
            break
        secret = value.encode("utf-8", "surrogatepass")
        if b"\\u" not in secret:
            break
    return secret


def _show_path(path: Sequence[str | int]) -> str:
    """Return a path as JSONPath."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "$" + "".join(steps) if path else ""
