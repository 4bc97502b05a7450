"""Text of the traffic made safe for terminals, logs and reports.

Recorded text is hostile: an escape sequence in the result of a tool must not move the cursor, and a
line of it must not be a command to a CI system. Everything that mcpmock prints or raises passes
through `printable`. A command that is printed for the user to run is made by `shell_command`, so
that no name, path or URL in it is taken for another command. Used by every room; uses none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

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
    """Make each line printable."""
    return "\n".join(printable(line) for line in text.split("\n"))


def many(count: int, noun: str) -> str:
    """Return a count with its noun: `1 take`, `2 takes`, `2 entries`."""
    if count == 1:
        return f"{count} {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"


def shell_command(words: Iterable[str]) -> str:
    """Return words as a command line: a shell splits it into the same words, and runs nothing in
    them. `printable` leaves it as it is, and it holds no backtick, so it can stand between two.
    """
    return " ".join(map(_quote, words))


def mcpmock_command(name: str, *operands: str, options: Sequence[str] = ()) -> str:
    """Return a command of mcpmock as a shell takes it. An operand may look like an option."""
    if any(operand.startswith("-") for operand in operands):
        return shell_command(["mcpmock", name, *options, "--", *operands])
    return shell_command(["mcpmock", name, *operands, *options])


def _quote(word: str) -> str:
    import shlex  # most runs print no command

    if printable(word) == word and "`" not in word:
        return shlex.quote(word)  # noqa: TID251  # the one place
    # POSIX.1-2024, 2.2.4: in $'..' a byte is an octal number of three digits.
    return f"$'{''.join(map(_quote_character, word))}'"


def _quote_character(character: str) -> str:
    if character not in "'\\`#:" and printable(character) == character:
        return character
    # A byte of a file name that is not UTF-8; of other surrogates no word can be made.
    kind = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", kind))


def _escape_character(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000  # as JSON spells it, so that JSON stays JSON
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
