"""The user's rules for a diff: values to ignore, lists without an order, a tolerance for numbers.

A rule is a JSONPath (RFC 9535) into a message, as `$.result.content[*].text`, `$.params.message` or
`$.error.data`; before it, unless it is for all messages, the method and the name of the tool,
prompt or resource as globs: `tools/call get_time $.result`. `normalize` removes the protocol's own
volatile parts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import takewhile
from typing import Any, Protocol

import attrs

from .severity import DocumentPath, PathStep, ValuePath, document_path, to_jsonpath

_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:-]+")
_CONTROLS = re.compile(r"[^\b\t\n\f\r -\U0010ffff]|[\ud800-\udfff]")
Label = tuple[str, str]
"""The method of a call (or of a message that belongs to none), and the name of what it calls."""


class _Match(Protocol):
    @property
    def parts(self) -> tuple[int | str, ...]: ...


class _Query(Protocol):
    def finditer(self, data: Any) -> Iterable[_Match]: ...


@attrs.frozen
class Scoped:
    """A JSONPath for some messages."""

    text: str
    method: str
    name: str
    query: _Query = attrs.field(eq=False)

    @classmethod
    def parse(cls, text: str) -> Scoped:
        """Raise ValueError, in words for the user, for an invalid rule."""
        scope, dollar, rest = text.partition("$")
        words = scope.split()
        if not dollar or len(words) > 2:
            raise ValueError(f"{text!r} is not of the form [METHOD [NAME]] $.JSON.PATH")
        method, name = [*words, "*", "*"][:2] if words else ("*", "*")
        return cls(text, method, name, _compiled(dollar + rest))

    def is_for(self, method: str, call: Label) -> bool:
        """Return whether this is about a message of this method that belongs to this call."""
        fits = fnmatchcase(method, self.method) or fnmatchcase(call[0], self.method)
        return fits and fnmatchcase(call[1], self.name)

    def places(self, document: Any) -> set[DocumentPath]:
        """Return the values that it selects in a document; none in one that is nested too
        deeply.
        """
        from jsonpath import JSONPathError

        try:
            return {tuple(found.parts) for found in self.query.finditer(document)}
        except (JSONPathError, RecursionError):
            return set()


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
            return math.isclose(old, new, rel_tol=self.relative, abs_tol=self.absolute)
        except OverflowError:  # integers that no float holds
            return old == new


@attrs.frozen
class IgnoreRules:
    """All rules of the user."""

    ignore: tuple[Scoped, ...] = ()
    unordered: tuple[Scoped, ...] = ()
    tolerance: Tolerance = Tolerance()

    @classmethod
    def parse(
        cls, ignore: Iterable[str] = (), unordered: Iterable[str] = (), tolerance: str = "0"
    ) -> IgnoreRules:
        """Raise ValueError, in words for the user, for an invalid rule."""
        return cls(
            tuple(Scoped.parse(text) for text in ignore),
            tuple(Scoped.parse(text) for text in unordered),
            Tolerance.parse(tolerance),
        )


@attrs.define
class Leeway:
    """The rules as they apply to one pair of messages; looked up only where something differs."""

    rules: IgnoreRules
    method: str
    call: Label
    old: Any
    """The documents that the paths lead into."""
    new: Any
    _ignored: tuple[set[DocumentPath], set[DocumentPath]] | None = None
    _unordered: tuple[set[DocumentPath], set[DocumentPath]] | None = None

    def ignores(self, path: ValuePath) -> bool:
        """Return whether this or something around it is to be ignored."""
        if not self.rules.ignore:
            return False
        if self._ignored is None:
            self._ignored = self._select(self.rules.ignore)
        return any(
            place[:length] in found
            for found, place in self._in_each_document(self._ignored, path)
            for length in range(len(place) + 1)
        )

    def is_unordered(self, path: ValuePath) -> bool:
        """Return whether the order of this list means nothing."""
        if not self.rules.unordered:
            return False
        if self._unordered is None:
            self._unordered = self._select(self.rules.unordered)
        return any(place in found for found, place in self._in_each_document(self._unordered, path))

    def rule_for(self, path: ValuePath) -> str:
        """Return the rule that ignores a difference at this path: its JSONPath is `path` as far as
        one of the documents has it, because a path can lead through a reference of a schema. Its
        strings have double quotes, so that it fits between the single quotes of a shell.
        """
        depths = (
            _depth(self.old, document_path(path, new=False)),
            _depth(self.new, document_path(path, new=True)),
        )
        new, found = depths[1] > depths[0], takewhile(_is_selectable, path[: max(depths)])
        scope = [self.method, self.call[1]] if self.call[1] else [self.method]
        jsonpath = to_jsonpath(tuple(found), new=new, quote='"')
        return " ".join([*map(_as_glob, scope), jsonpath])

    def _select(self, rules: Iterable[Scoped]) -> tuple[set[DocumentPath], set[DocumentPath]]:
        mine = [rule for rule in rules if rule.is_for(self.method, self.call)]
        old, new = (
            {place for rule in mine for place in rule.places(document)}
            for document in (self.old, self.new)
        )
        return old, new

    def _in_each_document(
        self, found: tuple[set[DocumentPath], set[DocumentPath]], path: ValuePath
    ) -> Iterable[tuple[set[DocumentPath], DocumentPath]]:
        return (found[0], document_path(path, new=False)), (found[1], document_path(path, new=True))


def _depth(document: Any, place: DocumentPath) -> int:
    """Return how many steps of a path exist in a document."""
    for depth, step in enumerate(place):
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return depth
    return len(place)


def _is_selectable(step: PathStep) -> bool:
    # python-jsonpath 2 refuses escapes such as "\u001b", which RFC 9535 allows (2.3.1.1).
    text = step if isinstance(step, str) else step.name[1] if step.name else ""
    return _CONTROLS.search(text) is None


def _as_glob(text: str) -> str:
    """Return a glob for this text alone, without the characters that end a word of a rule."""
    if _PLAIN_WORD.fullmatch(text):
        return text
    return "".join(
        f"[{char}]" if char in "*?[" else "?" if char in " $" or not char.isprintable() else char
        for char in text
    )


@lru_cache(maxsize=64)
def _compiled(path: str) -> _Query:
    # Imported late: a diff without rules does not need it.
    from jsonpath import JSONPathEnvironment, JSONPathError

    try:
        return JSONPathEnvironment(strict=True).compile(path)
    except JSONPathError as error:
        raise ValueError(f"{path!r} is no JSONPath: {str(error).splitlines()[0]}") from error
