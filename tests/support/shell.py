"""What a real shell makes of commands that are printed."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

HOSTILE = (
    "$(touch pwned)", "`touch pwned`", "; touch pwned", "x'; touch pwned; echo '", '"', "\\",
    "a b", "", "--all", "-", "*", "~", "!x", "#", "&", "a\nb", "\x1b[2J", "\x7f", "##[error]x",
    "::error::x", "漢字", "\u202e", "\U000e0041", "\udcff", "$'x'", "\\033", "é`'",
)  # fmt: skip
"""Words that a shell would run, expand or split, or a terminal or CI would act on."""


def split(commands: Sequence[str]) -> list[list[str]]:
    """The words that a real shell makes of each command line."""
    script = "".join(f"printf '%s\\0' {command}; printf '\\n\\0'; " for command in commands)
    done = subprocess.run(
        ["bash", "-c", script.encode("utf-8", "surrogateescape")], capture_output=True, check=True
    )
    assert b"" == done.stderr
    words = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    found: list[list[str]] = [[]]
    for word in words[:-1]:
        if word == "\n":
            found.append([])
        else:
            found[-1].append(word)
    return found[:-1]
