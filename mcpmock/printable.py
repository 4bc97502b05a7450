"""Text of the traffic made safe for terminals, logs and reports.

Recorded text is hostile: an escape sequence in the result of a tool must not move the cursor, and a
line of it must not be a command to a CI system. Everything that mcpmock prints or raises passes
through `printable`. A command that is printed for the user to run is made by `shell_command`, so
that no name, path or URL in it is taken for another command. Used by every room; uses none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mcpmock.lazy_pattern import lazy_pattern

# C0, DEL, C1, soft hyphen, zero width, bidi controls, line and paragraph separators, tags, lone
# surrogates: a terminal acts on them or does not show them.
_UNPRINTABLE = (
    "[\\x00-\\x1f\\x7f-\\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e01ef]"
)
# GitHub's runner and Azure take `##[` and `##vso[` anywhere in a line for a command, TeamCity
# `##teamcity[`.
_HASH_COMMAND = r"#(?=#(?:vso|teamcity)?\[)"
_HOSTILE = lazy_pattern(f"{_UNPRINTABLE}|{_HASH_COMMAND}")
# GitHub's runner takes `::name ..::` for a command at the start of a line, white space left out
# (`ActionCommand.TryParseV2` trims it).
_LINE_COMMAND = lazy_pattern(r"^(\s*):(?=:.*::)")

# Letters of other scripts that fonts draw like those of ours, after Unicode's `confusables.txt`;
# quotation marks, and signs that are drawn like punctuation.
_LOOK_ALIKES = str.maketrans(
    "\u0430\u0435\u043e\u03bf\u0440\u0441\u0443\u03b3\u0445\u0456\u0458\u0455\u0501\u04bb\u051b"
    "\u051d\u04cf\u03bd\u0410\u0391\u0412\u0392\u0415\u0395\u0405\u0406\u0399\u0408\u041a\u039a"
    "\u041c\u039c\u041d\u0397\u041e\u039f\u0420\u03a1\u0421\u0422\u03a4\u0423\u03a5\u0425\u03a7"
    "\u0396\u039d\u2018\u2019\u201a\u201b\u02bc\u2032\u00b4\u201c\u201d\u201e\u2033\u2212\u2215"
    "\u2044\u2236\u0589\u01c3",
    "aeoopcyyxijsdhqwlvAABBEESIIJKKMMHHOOPPCTTYYXXZN'''''''\"\"\"\"-//::!",
)
_COMMON_LEAD_CHARS = 24
"""How much of the common beginning of two long texts an excerpt has."""
_DOTS = "..."


def printable(text: str) -> str:
    """`text` on one line; what a terminal or a CI system would act on is escaped as JSON does."""
    # Nearly every text, in 0.3 us; the expressions take 4 for a line of 200 characters.
    if text.isascii() and text.isprintable() and "##" not in text and "::" not in text:
        return text
    return _LINE_COMMAND.sub(r"\1\\u003a", _HOSTILE.sub(_escape_character, text))


def printable_lines(text: str) -> str:
    """Make each line printable."""
    return "\n".join(printable(line) for line in text.split("\n"))


def excerpts(one: str, other: str, most: int) -> tuple[str, str]:
    """Return two texts that differ in at most so many characters each, from shortly before their
    first difference. Where they would look alike, the characters that differ are escaped.
    """
    if max(len(one), len(other)) > most:
        skipped = common_length(one, other) - min(_COMMON_LEAD_CHARS, most // 3)
        if skipped > len(_DOTS):
            one, other = _DOTS + one[skipped:], _DOTS + other[skipped:]
        one, other = (excerpt(text, most) for text in (one, other))
    if one == other or (one.isascii() and other.isascii()) or _look(one) != _look(other):
        return one, other
    start, end = common_length(one, other), common_length(one[::-1], other[::-1])
    end = min(end, len(one) - start, len(other) - start)
    found = (_escape_part(text, start, len(text) - end) for text in (one, other))
    return next(found), next(found)


def excerpt(text: str, most: int) -> str:
    """Return the beginning of a text, at most so many characters."""
    return text if len(text) <= most else text[: most - len(_DOTS)] + _DOTS


def common_length(one: str, other: str) -> int:
    """Return the length of the common beginning of two texts, by bisection: they may be long."""
    same, most = 0, min(len(one), len(other))
    while same < most:
        middle = (same + most + 1) // 2
        if one[same:middle] == other[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same


def _look(text: str) -> str:
    """Return what texts that look alike have in common."""
    import unicodedata  # few texts need it

    plain = unicodedata.normalize("NFKC", text).translate(_LOOK_ALIKES)
    kinds = {"Zs": " ", "Pd": "-"}
    return "".join(kinds.get(unicodedata.category(char), char) for char in plain)


def _escape_part(text: str, start: int, end: int) -> str:
    """Escape what is not ASCII in a part of a text, and a mark that is drawn over its end."""
    inside = "".join(
        char if char.isascii() else "".join(f"\\u{unit:04x}" for unit in _units(char))
        for char in text[start:end]
    )
    return text[:start] + inside + text[end:]


def _units(char: str) -> list[int]:
    """Return a character in UTF-16, as JSON spells it."""
    code = ord(char)
    if code < 0x10000:
        return [code]
    code -= 0x10000
    return [0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF)]


def many(count: int, noun: str) -> str:
    """Return a count with its noun: `1 take`, `2 takes`, `2 entries`."""
    if count == 1:
        return f"{count} {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"


def first_of(words: Sequence[str], most: int) -> str:
    """Return the first words in a line, and how many there are besides: `a, b and 3 more`."""
    rest = len(words) - most
    return ", ".join(words[:most]) + (f" and {rest} more" if rest > 0 else "")


def first_lines(lines: Sequence[str], most: int) -> list[str]:
    """Return the first lines, and how many there are besides in one behind them."""
    rest = len(lines) - most
    return [*lines[:most], *([f"and {rest} more"] if rest > 0 else [])]


def did_you_mean(word: str, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6) -> str:
    """Return `; did you mean a or b?` with the nearest words, in whatever case they are written;
    empty if none is near.
    """
    from difflib import get_close_matches  # few words are wrong

    words = {one.lower(): one for one in sorted({*known}, reverse=True)}
    found = get_close_matches(word.lower(), sorted(words), n=most, cutoff=cutoff)
    near = [words[one] for one in found]
    return f"; did you mean {' or '.join(near)}?" if near else ""


def duration(us: int) -> str:
    """Return microseconds in words: `0.6 ms`, `41 ms`, `1.52 s`, `2:03 min`. A page says the same
    (`duration` in `page.js`).
    """
    # Halves are rounded up, in whole numbers: `format` and JavaScript's `toFixed` differ there.
    sign, us = ("-", -us) if us < 0 else ("", us)
    if 0 < us < 9_950:
        return f"{sign}{(us + 50) // 100 / 10:.1f} ms"
    if us < 999_500:
        return f"{sign}{(us + 500) // 1000} ms"
    if us < 59_995_000:
        return f"{sign}{(us + 5000) // 10_000 / 100:.2f} s"
    minutes, seconds = divmod((us + 500_000) // 1_000_000, 60)
    return f"{sign}{minutes}:{seconds:02} min"


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
    return "".join(f"\\u{unit:04x}" for unit in _units(found[0]))
