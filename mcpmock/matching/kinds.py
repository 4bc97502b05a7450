"""The kinds of values that a rule can ask for: `uuid`, `integer`, `~1%`, `/regex/`. Both values
must be of the kind; `match_rule` stands above.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import attrs

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.messages import canonical

_HEX = "[0-9a-fA-F]"
_UUID = lazy_pattern(rf"{_HEX}{{8}}(-?){_HEX}{{4}}(?:\1{_HEX}{{4}}){{2}}\1{_HEX}{{12}}")
_DATE = lazy_pattern(r"\d{4}-\d\d-\d\d", re.ASCII)
_DATETIME = lazy_pattern(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(?::([0-5]\d|60)(?:\.\d+)?)?(?:[Zz]|[+-](\d\d:\d\d))?",
    re.ASCII,
)
_PATH = lazy_pattern(r"/|~/|[A-Za-z]:[\\/]|file:/", re.IGNORECASE)
_SLACK = 1 + 1e-9
"""In floating point 1.01 - 1 is more than 0.01."""
_FLAGS = {"i": re.I, "m": re.M, "s": re.S, "x": re.X}
_REGEX = lazy_pattern(r"/(.*)/([a-z]*)", re.DOTALL)


@attrs.frozen
class Tolerance:
    """By how much equal numbers may differ: absolutely, and relative to the larger."""

    absolute: float = 0.0
    relative: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Tolerance:
        """`0.5`, or `1%`. Raises ValueError for anything else, in words for the user."""
        try:
            amount = float(text.removesuffix("%"))
        except ValueError:
            amount = math.nan
        if not 0 <= amount < math.inf:
            raise ValueError(f"{text!r} is not a tolerance; write 0.5 or 1%")
        return cls(relative=amount / 100) if text.endswith("%") else cls(absolute=amount)

    def same(self, old: float, new: float) -> bool:
        """Return whether two numbers count as equal."""
        try:
            # Not `math.isclose`: it takes integers for the floats next to them.
            most = max(self.absolute, self.relative * max(abs(old), abs(new)))
            return old == new or abs(old - new) <= most * _SLACK < math.inf
        except OverflowError:  # integers that no float holds
            return old == new


@attrs.frozen
class Kind:
    """A kind as a rule names it."""

    text: str
    both: Callable[[Any, Any], bool] = attrs.field(eq=False)
    """Whether two values are of this kind."""

    @classmethod
    def parse(cls, text: str) -> Kind:
        """Raise ValueError, in words for the user, for a kind that there is not."""
        if text in _OF_ONE:
            return cls(text, partial(_are_both, _OF_ONE[text]))
        if text in _OF_TWO:
            return cls(text, _OF_TWO[text])
        if text.startswith("~"):
            return cls(text, partial(_is_near, Tolerance.parse(text[1:])))
        if text.startswith("/"):
            return cls(text, partial(_are_both, partial(_fits, _regex(text))))
        known = {kind: kind for kind in (*_OF_ONE, *_OF_TWO)} | _ELSEWHERE
        near = get_close_matches(text.strip().lower(), known, n=1)
        hint = f"; did you mean {known[near[0]]}?" if near else ""
        raise ValueError(f"no kind {text!r}: {KINDS}{hint}")


UNORDERED = "unordered"
"""The kind of arrays whose order does not count: what compares two documents asks for it by name,
because other rules hold inside.
"""


def kind_of_both(one: Any, other: Any) -> str | None:
    """Return a kind that both values are of, among those that make values differ in every run."""
    if are_reordered(one, other):
        return UNORDERED
    return next((kind for kind in _VOLATILE if _are_both(_OF_ONE[kind], one, other)), None)


def are_reordered(one: Any, other: Any) -> bool:
    """Return whether both are arrays with the same members, each as often."""
    if not isinstance(one, list) or not isinstance(other, list) or len(one) != len(other):
        return False
    return sorted(map(canonical, one)) == sorted(map(canonical, other))


def like(text: str) -> Callable[[Any], bool]:
    """Return a test whether a value is of a kind, for the arguments of a stub. Raises ValueError
    for a kind that there is not, and for one that compares two values.

    >>> stub = mcpmock.Stub()
    >>> stub.tool("forecast").when(day=mcpmock.like("date")).reply("sun")
    <Stub stub: tool forecast, tool forecast (if day)>
    """
    kind = Kind.parse(text)
    if text.startswith("~") or text in _OF_TWO:
        raise ValueError(f"kind {text!r} compares two values; choose {', '.join(_OF_ONE)}, /regex/")

    def test(value: Any) -> bool:
        return kind.both(value, value)

    test.__name__ = text
    return test


def is_number(value: Any) -> bool:
    """Return whether it is a number of JSON: for Python True is 1."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_both(test: Callable[[Any], bool], one: Any, other: Any) -> bool:
    return test(one) and test(other)


def _are_never(_one: Any, _other: Any) -> bool:
    return False


def _is_near(tolerance: Tolerance, one: Any, other: Any) -> bool:
    return is_number(one) and is_number(other) and tolerance.same(one, other)


def _is_same_text(one: Any, other: Any) -> bool:
    return isinstance(one, str) and isinstance(other, str) and _plain(one) == _plain(other)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _regex(text: str) -> re.Pattern[str]:
    found = _REGEX.fullmatch(text)
    flags = found[2] if found else ""
    if found is None or set(flags) - set(_FLAGS):
        raise ValueError(f"{text!r} is no regular expression: write /REGEX/ or /REGEX/imsx")
    try:
        return re.compile(found[1], sum(_FLAGS[flag] for flag in set(flags)))
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from error


def _fits(regex: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and regex.fullmatch(value) is not None


def _is_integer(value: Any) -> bool:
    return is_number(value) and (isinstance(value, int) or value.is_integer())


def _is_uuid(value: Any) -> bool:
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def _is_date(value: Any) -> bool:
    return isinstance(value, str) and _DATE.fullmatch(value) is not None and _is_real(value)


def _is_datetime(value: Any) -> bool:
    found = _DATETIME.fullmatch(value) if isinstance(value, str) else None
    if found is None or not _is_real(f"{found[1]}T{found[2]}"):
        return False
    return found[4] is None or _is_real(f"{found[1]}T{found[4]}")


def _is_real(text: str) -> bool:
    """Return whether there is such a day and such a time."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and _PATH.match(value) is not None


def _is_url(value: Any) -> bool:
    if not isinstance(value, str) or any(char.isspace() for char in value):
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return bool(parts.scheme) and "://" in value


_OF_ONE: dict[str, Callable[[Any], bool]] = {
    "any": lambda _value: True,
    "string": lambda value: isinstance(value, str),
    "number": is_number,
    "integer": _is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
    "uuid": _is_uuid,
    "date": _is_date,
    "datetime": _is_datetime,
    "path": _is_path,
    "url": _is_url,
}
_OF_TWO: dict[str, Callable[[Any, Any], bool]] = {"text": _is_same_text, UNORDERED: _are_never}
"""The kinds that compare two values."""
_ELSEWHERE = {
    "bool": "boolean", "dict": "object", "file": "path", "float": "number", "guid": "uuid",
    "int": "integer", "iso8601": "datetime", "list": "array", "none": "null", "regex": "/regex/",
    "set": "unordered", "str": "string", "timestamp": "datetime", "uri": "url",
}  # fmt: skip
"""What other languages and tools call these kinds."""
_VOLATILE = ("uuid", "datetime", "date", "path", "url")
KINDS = f"choose {', '.join((*_OF_ONE, *_OF_TWO))}, ~0.01, ~1% or /regex/"
"""The kinds, for messages."""
