"""Filters for the rows of a timeline: `method=tools/* tool=get_* !kind=error`.

Terms are separated by spaces and must all hold; `!` before a term negates it. Values are globs,
where `?` may stand for a space; `text` looks anywhere in the payload. An invalid
expression raises a ValueError with a message for the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase, translate

import attrs

from mcpmock.protocol.messages import Direction

from .summary import brief, head_text
from .timeline import KINDS, Row

_DIRECTIONS = tuple(direction.value for direction in Direction)
_READERS: dict[str, Callable[[Row], tuple[str | None, ...]]] = {
    "method": lambda row: (row.method,),
    "tool": lambda row: (row.tool,),
    "kind": lambda row: row.kinds,
    "dir": lambda row: (row.event.d,),
    "id": lambda row: row.id_forms,
    "take": lambda row: (str(row.take),),
    "s": lambda row: (str(row.event.s),),
    "x": lambda row: (_format_number(row.event.x),),
    "status": lambda row: (_format_number(row.status),),
    "text": lambda row: (_searchable_text(row),),
}
_CHOICES = {"kind": KINDS, "dir": _DIRECTIONS}


@attrs.frozen
class Term:
    """One condition: a value of the row's `key` matches the pattern; with `negated`, none does."""

    key: str
    pattern: re.Pattern[str]
    negated: bool = False

    def holds(self, row: Row) -> bool:
        values = _READERS[self.key](row)
        found = any(value is not None and self.pattern.match(value) for value in values)
        return found is not self.negated


@attrs.frozen
class Filter:
    """All terms of an expression; an empty one keeps every row."""

    terms: tuple[Term, ...] = ()

    @classmethod
    def parse(cls, expression: str) -> Filter:
        """Raise ValueError for an unknown term, with a list of the known ones."""
        return cls(tuple(_parse_term(text) for text in expression.split()))

    def keeps(self, row: Row) -> bool:
        return all(term.holds(row) for term in self.terms)


_COUNTED = {"tool": "tools", "method": "methods", "kind": "kinds", "take": "takes"}
_MAX_VALUES = 20


def values_there(event_filter: Filter, rows: Sequence[Row]) -> Iterator[tuple[str, list[str]]]:
    """Yield the plural of each term that is no free text, with the values that rows have."""
    for key in dict.fromkeys(one.key for one in event_filter.terms if one.key in _COUNTED):
        found = (value for row in rows for value in _READERS[key](row) if value is not None)
        values = list(dict.fromkeys(brief(value) for value in found))
        more = [".."] if len(values) > _MAX_VALUES else []
        yield _COUNTED[key], values[:_MAX_VALUES] + more


def term(key: str, value: str) -> str:
    """Return a term that holds for this value. White space separates terms: `?` stands for it."""
    literal = re.sub(r"([*?[])", r"[\1]", value)
    return key + "=" + re.sub(r"\s", "?", literal)


def _parse_term(text: str) -> Term:
    key, equals, glob = text.removeprefix("!").partition("=")
    if key not in _READERS or not equals:
        known = ", ".join(f"{name}=" for name in _READERS)
        raise ValueError(f"unknown term {text}; known terms: {known}")
    choices = _CHOICES.get(key, ())
    if choices and not any(fnmatchcase(choice, glob) for choice in choices):
        raise ValueError(f"no such {key}: {glob}; there are {', '.join(choices)}")
    pattern = re.compile(translate(f"*{glob}*" if key == "text" else glob))
    return Term(key, pattern, negated=text.startswith("!"))


def _format_number(value: int | None) -> str | None:
    return None if value is None else str(value)


def _searchable_text(row: Row) -> str:
    """Return the whole payload and the summary, where strings are without JSON escapes."""
    frame = row.event.frame
    raw = b"" if frame is None else frame.raw or head_text(frame).encode("utf-8", "surrogatepass")
    return f"{raw.decode('utf-8', 'replace')}\n{row.summarize(None)}"
