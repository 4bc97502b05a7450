"""JSONPath (RFC 9535): the places that a path selects, and how a place is spelled.

python-jsonpath parses, and evaluates filters and slices. Paths of names, places and wildcards are
evaluated here: a rule is looked up in each of 10,000 requests, and the library takes 20 us for
what takes 1. `match_rule` stands above.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol, cast

import attrs

from mcpmock.lazy_pattern import lazy_pattern

Place = tuple[str | int, ...]
"""The way to a value in a decoded document."""

_PLAIN = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_CONTROLS = lazy_pattern(r"[^\b\t\n\f\r -\U0010ffff]|[\ud800-\udfff]")


class _Found(Protocol):
    @property
    def parts(self) -> tuple[int | str, ...]: ...


class _Query(Protocol):
    @property
    def segments(self) -> tuple[Any, ...]: ...
    def finditer(self, data: Any) -> Iterable[_Found]: ...


@attrs.frozen
class _Step:
    """A name, the number of an item, or (None) all of them; with `deep` at any depth."""

    selector: str | int | None
    deep: bool

    def take(self, value: Any) -> Iterator[tuple[str | int, Any]]:
        """Yield what it selects in a value."""
        selector = self.selector
        if isinstance(value, dict):
            if selector is None:
                yield from value.items()
            elif selector in value:
                yield selector, value[selector]
        elif isinstance(value, list):
            if selector is None:
                yield from enumerate(value)
            elif isinstance(selector, int) and selector < len(value):
                yield selector, value[selector]


@attrs.frozen
class ValueQuery:
    """A compiled path."""

    text: str
    steps: tuple[_Step, ...]
    """Its beginning, up to the first step that is a filter, a slice or counts from the end."""
    single: Place | None
    """The place itself, if it is the only one that these steps can select."""
    whole: _Query | None = attrs.field(eq=False)
    """The path of the library, if it has such a step."""

    def places(self, document: Any) -> Collection[Place]:
        """Return the places that it selects in a document; none of a filter in one that is nested
        too deeply.
        """
        if self.whole is None:
            return self.outer_places(document)

        from jsonpath import JSONPathError

        try:
            return {tuple(found.parts) for found in self.whole.finditer(document)}
        except (JSONPathError, RecursionError):
            return set()

    def outer_places(self, document: Any) -> Collection[Place]:
        """Return places that have all that it selects inside. In two documents that differ only
        there, they are the same.
        """
        if self.single is not None:  # most rules are: a quarter of the time
            value = document
            name: Any
            for name in self.single:
                if not isinstance(value, dict if isinstance(name, str) else list):
                    return ()
                try:
                    value = value[name]
                except (KeyError, IndexError):
                    return ()
            return (self.single,)
        found: list[tuple[Place, Any]] = [((), document)]
        for step in self.steps:
            if step.deep:
                found = [inner for one in found for inner in _descendants(one)]
            found = [((*p, at), inner) for p, value in found for at, inner in step.take(value)]
        return {place for place, _ in found}

    def covers(self, place: Place) -> bool:
        """Return whether it selects this place, or one around it. A path with filters or slices
        covers nothing.
        """
        return self.whole is None and _cover(self.steps, place)


def _cover(steps: Sequence[_Step], place: Place) -> bool:
    if not steps or not place:
        return not steps
    step, here = steps[0], place[0]
    fits = step.selector is None or step.selector == here
    return (fits and _cover(steps[1:], place[1:])) or (step.deep and _cover(steps, place[1:]))


def _descendants(root: tuple[Place, Any]) -> Iterator[tuple[Place, Any]]:
    """Yield a value and all that is in it. No recursion: JSON may be nested 1,000 deep."""
    waiting = [root]
    while waiting:
        place, value = one = waiting.pop()
        yield one
        if isinstance(value, dict):
            waiting += (((*place, name), inner) for name, inner in value.items())
        elif isinstance(value, list):
            waiting += (((*place, at), inner) for at, inner in enumerate(value))


@lru_cache(maxsize=256)
def compile_path(text: str) -> ValueQuery:
    """Raise ValueError, in words for the user, for a text that is not a path."""
    # Imported late: nothing without rules needs it.
    from jsonpath import JSONPathEnvironment, JSONPathError

    try:
        query = cast("_Query", JSONPathEnvironment(strict=True).compile(text))
    except JSONPathError as error:
        raise ValueError(f"no JSONPath: {str(error).splitlines()[0]}") from error
    steps: list[_Step] = []
    for segment in query.segments:
        step = _step_of(segment)
        if step is None:
            return ValueQuery(text, tuple(steps), _single(steps), query)
        steps.append(step)
    return ValueQuery(text, tuple(steps), _single(steps), None)


def _single(steps: Sequence[_Step]) -> Place | None:
    names = [step.selector for step in steps if step.selector is not None and not step.deep]
    return tuple(names) if len(names) == len(steps) else None


def _step_of(segment: Any) -> _Step | None:
    """Return a segment of the library as a step, if it is that simple."""
    from jsonpath.segments import JSONPathRecursiveDescentSegment
    from jsonpath.selectors import IndexSelector, NameSelector, WildcardSelector

    if len(segment.selectors) != 1:
        return None
    (one,) = segment.selectors
    deep = isinstance(segment, JSONPathRecursiveDescentSegment)
    if type(one) is NameSelector:
        return _Step(one.name, deep)
    if type(one) is IndexSelector and one.index >= 0:
        return _Step(one.index, deep)
    return _Step(None, deep) if type(one) is WildcardSelector else None


def spell_step(step: str | int, quote: str = "'") -> str:
    """Return a step of a place as JSONPath."""
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN.match(step) else f"[{quote_name(step, quote)}]"


def quote_name(text: str, quote: str = "'") -> str:
    """Return a text as a string of JSONPath."""
    escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    for control, letter in zip("\b\t\n\f\r", "btnfr", strict=True):
        escaped = escaped.replace(control, f"\\{letter}")
    escaped = re.sub(r"[\x00-\x1f]", lambda found: f"\\u{ord(found[0]):04x}", escaped)
    return f"{quote}{escaped}{quote}"


def is_selectable(name: str) -> bool:
    """Return whether a path can name a member."""
    # python-jsonpath 2 refuses escapes such as "\u001b", which RFC 9535 allows (2.3.1.1).
    return _CONTROLS.search(name) is None
