"""Values as JSON Schema sees them: which are equal, of which type each is, what is a multiple of a
number, and what a pattern matches as far as that can be said. Pure.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

from .normalize import key_of


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def exact(value: Any) -> Fraction | float:
    """Return a number as it is written: 0.1 is a tenth."""
    return Fraction(str(value)) if math.isfinite(value) else float(value)


def is_multiple(value: Any, of: Any) -> bool:
    return not is_number(of) or of == 0 or exact(value) % exact(of) == 0


def type_of(value: Any) -> str:
    """Return the type in JSON Schema; an integer is a number."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def value_key(value: Any) -> bytes:
    """Return a key that is equal for equal values: 1.0 is 1."""
    return key_of(_with_integers(value))


def _with_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_integers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [*map(_with_integers, value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


EVERY_TEXT = ("", "^", "$", ".*", "^.*", ".*$", "(.*)")
"""Patterns that every text matches."""
EVERY_NAME = (*EVERY_TEXT, "^.*$", "^(.*)$")
"""Those that every name without a line end matches: the last is how TypeBox writes a map."""
_REPEATED_REPEAT = re.compile(r"[*+}?]\)+[*+{]|\|[^()]*\)[*+{]")
"""Such a pattern may take exponential time."""
MAX_SEARCHED_CHARS = 64
"""`a*a*a*b` takes the fourth power of the length."""


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return None if _REPEATED_REPEAT.search(pattern) else re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None


def is_readable(pattern: str) -> bool:
    """Return whether `matches` can say what the pattern matches."""
    return _compiled(pattern) is not None


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern is found in a text; not if that cannot be said."""
    found = _compiled(pattern)
    if found is None or len(text) > MAX_SEARCHED_CHARS:
        return False
    return found.search(text) is not None
