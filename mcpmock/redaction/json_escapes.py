"""`StringSpelling`: which letters of a string a writer of JSON escapes that need no escape.

Where JSON stands in a text, its escapes are a part of that text, so a live value is spelled there
as the recorded one was. `placeholders` keeps the spelling in the placeholder; `text_redactor` and
`playback.echo` read it from what was recorded.
"""

from __future__ import annotations

from itertools import product
from typing import Literal

import msgspec

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.messages import decode, encode

# Python's `json` and PHP escape all that is not ASCII, .NET too, with capital digits. Go escapes
# what HTML reads; .NET the quotes, the plus and the backtick as well. PHP and Swift escape slashes.
_ESCAPED = {
    ("x", False): lazy_pattern(r"[^\x00-\x7e]"),
    ("X", False): lazy_pattern(r"[^\x00-\x7e]"),
    ("", True): lazy_pattern(r"[<>&\u2028\u2029]"),
    ("x", True): lazy_pattern(r"[^\x00-\x7e]|[<>&]"),
    ("X", True): lazy_pattern(r"[^\x00-\x7e]|[<>&\"'+`]"),
}


class StringSpelling(msgspec.Struct, frozen=True):
    """What is escaped besides what JSON demands."""

    digits: Literal["", "x", "X"] = ""
    """Whether letters that are not ASCII are escaped, with small or with capital digits."""
    slashes: bool = False
    html: bool = False
    """Whether the letters that HTML reads are escaped."""

    def spell(self, value: str) -> str:
        """Return a value as it stands between the quotes of a JSON string."""
        escaped = _ESCAPED.get((self.digits, self.html))
        parts, at = [], 0
        for match in escaped.finditer(value) if escaped is not None else ():
            parts += [_plain(value[at : match.start()]), self._escape(match[0])]
            at = match.end()
        spelled = "".join((*parts, _plain(value[at:])))
        return spelled.replace("/", "\\/") if self.slashes else spelled

    def _escape(self, letter: str) -> str:
        codes = letter.encode("utf-16-be", "surrogatepass").hex()
        codes = codes.upper() if self.digits == "X" else codes
        return "".join(f"\\u{codes[at : at + 4]}" for at in range(0, len(codes), 4))


PLAIN = StringSpelling()
"""Nothing is escaped that needs no escape."""
_DIGITS: tuple[Literal["", "x", "X"], ...] = ("", "x", "X")
SPELLINGS = [
    StringSpelling(digits, slashes, html)
    for html, slashes, digits in product((False, True), (False, True), _DIGITS)
]


def spelling_of(spelled: bytes) -> StringSpelling:
    """Return the spelling of a part of a JSON string; the plain one if there is none in which all
    of it is so spelled.
    """
    value = decode(b'"%b"' % spelled) if b"\\" in spelled else None
    if isinstance(value, str):
        text = spelled.decode("utf-8", "surrogatepass")
        return next((one for one in SPELLINGS if one.spell(value) == text), PLAIN)
    return PLAIN


def _plain(value: str) -> str:
    return encode(value)[1:-1].decode() if value else value
