"""Shows how a configuration changes, without the secrets that stand in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import unified_diff

from mcpmock.printable import shell_command
from mcpmock.redaction.masks import (
    MASK,
    clean_text,
    masked_command,
    masked_text,
    masked_words,
    variable_names,
)
from mcpmock.redaction.path_keys import keys_in_path

_URL = re.compile(r"\w+://[^\s\"'<>]+")
MAX_LINE_CHARS = 300
"""Of a file with longer lines, only the command lines are shown."""


def masked_diff(
    texts: tuple[str, str],
    commands: tuple[list[str], list[str]],
    variables: tuple[list[str], list[str]],
) -> Iterator[str]:
    """Yield the lines of a unified diff, old and new, without a header. The command lines, old and
    new, tell secrets that the lines do not: what follows `--api-key`. `variables` are the names of
    those that the entry sets, old and new.
    """
    old, new = (text.splitlines() for text in texts)
    lines = unified_diff(old, new, n=2, lineterm="")
    shown = [line for line in lines if not line.startswith(("---", "+++"))]
    if any(len(line) > MAX_LINE_CHARS for line in shown):
        for sign, words, names in zip("-+", commands, variables, strict=True):
            assigned = (f"{shell_command([name])}={MASK} " for name in names)
            yield f"{sign} {''.join(assigned)}{masked_command(words)}"
        return
    words = max(commands, key=len)
    pairs = zip(words, masked_words(words), strict=True)
    changed = [(word, masked) for word, masked in pairs if clean_text(word) != masked]
    keys = sorted({key for text in texts for key in _keys_in_paths(text)}, key=len, reverse=True)
    named = "|".join(
        re.escape(spelled) for i in variable_names(words) for spelled in _spellings(words[i])
    )
    for line in shown:
        text = line
        for word, masked in changed:
            for spelled in _spellings(word):
                text = text.replace(spelled, spelled[0] + masked + spelled[0])
        for key in keys:
            text = text.replace(key, MASK)
        parts = re.split(f"({named})", text) if named else [text]
        yield "".join(part if i % 2 else masked_text(part) for i, part in enumerate(parts))


def _keys_in_paths(text: str) -> Iterator[str]:
    """Yield the keys in the paths of the URLs in a configuration, which may escape slashes."""
    for url in _URL.findall(text.replace("\\/", "/")):
        raw = url.encode("utf-8", "surrogatepass")
        yield from (raw[slice(*span)].decode() for span in keys_in_path(raw))


def _spellings(word: str) -> tuple[str, str, str]:
    return json.dumps(word), json.dumps(word, ensure_ascii=False), f"'{word}'"
