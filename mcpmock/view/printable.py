"""Text of the traffic made safe for terminals and logs.

Recorded text is hostile: an escape sequence in the result of a tool must not move the cursor. All
recorded text passes through `printable` on its way to a terminal, a log or a report.
"""

from __future__ import annotations

import re

# What a terminal acts on or does not show: C0, DEL, C1, soft hyphen, zero width, bidi controls,
# line and paragraph separators, tags, lone surrogates.
_UNPRINTABLE = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e01ef]"
)
_CI_COMMANDS = re.compile(r"#(?=#(?:\[|vso\[))")


def printable(text: str) -> str:
    """`text` on one line; characters that a terminal would act on are escaped."""
    return _UNPRINTABLE.sub(_escape_character, text)


def printable_lines(text: str) -> str:
    """As `printable`, line by line."""
    return "\n".join(printable(line) for line in text.split("\n"))


def inert(text: str) -> str:
    """As `printable`, and safe in the log of a CI system, which reads `##[` anywhere in a
    line as a command (and `::` at its start: callers put a prefix in front).
    """
    return _CI_COMMANDS.sub(_escape_character, printable(text))


def _escape_character(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000  # as JSON spells it, so that JSON stays JSON
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
