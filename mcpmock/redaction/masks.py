"""Shows URLs, command lines and texts with `***` for the secrets in them: in messages, which end in
logs and in bug reports. Nothing that is shown so is read again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.printable import shell_command

from .placeholders import HOLE
from .redactor import Redactor

MASK = "***"
# A path that was made of a URL has one slash left.
_URL = lazy_pattern(r"\b([A-Za-z][\w+.-]{1,30}:)//?([^\s\"'<>`]*[^\s\"'<>`:;,.)])")


def masked_url(url: str) -> str:
    """Return a URL, valid or not, with `***` for its secrets."""
    return _with_masks(Redactor().url(masked_urls(url)))


def masked_urls(text: str) -> str:
    """Return a text with `***` for the secrets in its URLs."""
    return _URL.sub(_masked_as_http, clean_text(text))


def _masked_as_http(url: re.Match[str]) -> str:
    # Its scheme may be mistyped.
    masked = _with_masks(Redactor().url(f"http://{url[2]}"))
    return url[0][: -len(url[2])] + masked.removeprefix("http://")


def masked_text(text: str) -> str:
    """Return a text with `***` for its secrets."""
    clean = Redactor().text(text.encode("utf-8", "surrogatepass"))
    return _with_masks(clean.decode("utf-8", "replace"))


def masked_command(words: Sequence[str]) -> str:
    """Return a command line as a shell takes it, with `***` for its secrets."""
    return " ".join(
        MASK.join(shell_command([part]) if part else "" for part in word.split(MASK)) or "''"
        for word in masked_words(words)
    )


def masked_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with `***` for their secrets."""
    clean = [clean_text(word) for word in words]
    masked = [_with_masks(word) for word in Redactor().argv(clean)]
    for i in variable_names(words):
        masked[i] = clean[i]
    return masked


def variable_names(words: Sequence[str]) -> list[int]:
    """Return where words stand that only name variables, whose values are elsewhere."""
    return [i for i, before in enumerate(words[:-1], 1) if before in ("--header-env", "--url-env")]


def clean_text(text: str) -> str:
    """Return a text without lone surrogates, which JSON can spell and UTF-8 cannot."""
    return text.encode("utf-8", "backslashreplace").decode()


def _with_masks(clean: str) -> str:
    return HOLE.sub(MASK.encode(), clean.encode()).decode()
