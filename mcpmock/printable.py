"""Text of the traffic made safe for terminals, logs and reports.

Recorded text is hostile: an escape sequence in the result of a tool must not move the cursor, and a
line of it must not be a command to a CI system. Everything that mcpmock prints or raises passes
through `printable`. Used by every room; uses none.
"""

from __future__ import annotations

import re

# C0, DEL, C1, soft hyphen, zero width, bidi controls, line and paragraph separators, tags, lone
# surrogates: a terminal acts on them or does not show them.
_UNPRINTABLE = (
    "[\\x00-\\x1f\\x7f-\\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e01ef]"
)
# GitHub's runner and Azure take `##[` and `##vso[` anywhere in a line for a command, TeamCity
# `##teamcity[`.
_HASH_COMMAND = r"#(?=#(?:vso|teamcity)?\[)"
_HOSTILE = re.compile(f"{_UNPRINTABLE}|{_HASH_COMMAND}")
# GitHub's runner takes `::name ..::` for a command at the start of a line, white space left out
# (`ActionCommand.TryParseV2` trims it).
_LINE_COMMAND = re.compile(r"^(\s*):(?=:.*::)")


def printable(text: str) -> str:
    """`text` on one line; what a terminal or a CI system would act on is escaped as JSON does."""
    # Nearly every text, in 0.3 us; the expressions take 4 for a line of 200 characters.
    if text.isascii() and text.isprintable() and "##" not in text and "::" not in text:
        return text
    return _LINE_COMMAND.sub(r"\1\\u003a", _HOSTILE.sub(_escape_character, text))


def printable_lines(text: str) -> str:
    """As `printable`, line by line."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _escape_character(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000  # as JSON spells it, so that JSON stays JSON
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
