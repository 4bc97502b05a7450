"""The user's rules for a diff: places that may differ (`matching`), and a tolerance for numbers.

`normalize` removes the protocol's own volatile parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any

import attrs
from msgspec import UNSET

from mcpmock.matching.kinds import UNORDERED, Tolerance
from mcpmock.matching.match_rule import Label, MatchRule, MatchRules, Selected, as_glob, select
from mcpmock.matching.paths import is_selectable

from .severity import DocumentPath, PathStep, ValuePath, document_path, to_jsonpath


@attrs.frozen
class IgnoreRules:
    """All rules of the user."""

    places: MatchRules = attrs.field(factory=MatchRules)
    tolerance: Tolerance = attrs.field(factory=Tolerance)

    @classmethod
    def parse(
        cls,
        ignore: Iterable[str] = (),
        unordered: Iterable[str] = (),
        tolerance: str = "0",
        like: Iterable[str] = (),
    ) -> IgnoreRules:
        """Raise ValueError, in words for the user, for an invalid rule."""
        like = [*like, *(f"{text}={UNORDERED}" for text in unordered)]
        return cls(MatchRules.parse(ignore, like), Tolerance.parse(tolerance))

    def with_rules(self, rules: MatchRules | None) -> IgnoreRules:
        """Return the same with these rules besides, which notes together what applied."""
        if not rules:
            return self
        places = attrs.evolve(self.places + rules, applied=self.places.applied)
        return attrs.evolve(self, places=places)


@attrs.define
class Leeway:
    """The rules as they apply to one pair of messages; looked up only where something differs."""

    rules: IgnoreRules
    method: str
    call: Label
    old: Any
    """The documents that the paths lead into."""
    new: Any
    _selected: tuple[Selected, Selected] | None = None

    def allows(self, path: ValuePath) -> bool:
        """Return whether a difference here, or around it, is allowed."""
        for old, new, rules in self._rules_above(path):
            # A place that only one document has ends earlier in the other.
            depth = max(len(old), len(new))
            recorded, live = (
                _value(document, place) if len(place) == depth else UNSET
                for document, place in ((self.old, old), (self.new, new))
            )
            if any(rule.allows(recorded, live) for rule in rules):
                return True
        return False

    def is_unordered(self, path: ValuePath) -> bool:
        """Return whether the order of this list means nothing."""
        return any(
            rule.is_unordered
            for selected, place in zip(self._all_selected, _places(path), strict=True)
            for rule in selected.get(place, ())
        )

    def rule_for(self, path: ValuePath) -> str:
        """Return the rule that ignores a difference at this path: its JSONPath is `path` as far as
        one of the documents has it, because a path can lead through a reference of a schema. Its
        strings have double quotes, so that it fits between the single quotes of a shell.
        """
        old, new = _places(path)
        depths = _depth(self.old, old), _depth(self.new, new)
        deeper, found = depths[1] > depths[0], takewhile(_is_selectable, path[: max(depths)])
        scope = [self.method, self.call[1]] if self.call[1] else [self.method]
        jsonpath = to_jsonpath(tuple(found), new=deeper, quote='"')
        return " ".join([*map(as_glob, scope), jsonpath])

    @property
    def _all_selected(self) -> tuple[Selected, Selected]:
        if self._selected is None:
            places = self.rules.places
            mine = places.of(self.method, self.call)
            self._selected = select(mine, self.old), select(mine, self.new)
            for selected in self._selected:
                places.applied.update(*selected.values())
        return self._selected

    def _rules_above(
        self, path: ValuePath
    ) -> Iterator[tuple[DocumentPath, DocumentPath, tuple[MatchRule, ...]]]:
        """Yield the rules for a path and for all that is around it, with both places."""
        old, new = self._all_selected if self.rules.places else ({}, {})
        if old or new:
            for length in range(len(path) + 1):
                one, other = _places(path[:length])
                if rules := (*old.get(one, ()), *new.get(other, ())):
                    yield one, other, rules


def _places(path: ValuePath) -> tuple[DocumentPath, DocumentPath]:
    return document_path(path, new=False), document_path(path, new=True)


def _value(document: Any, place: DocumentPath) -> Any:
    """Return the value at a place; UNSET where there is none."""
    for step in place:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return UNSET
    return document


def _depth(document: Any, place: DocumentPath) -> int:
    """Return how many steps of a path exist in a document."""
    return next(
        (n for n in range(len(place)) if _value(document, place[: n + 1]) is UNSET), len(place)
    )


def _is_selectable(step: PathStep) -> bool:
    return is_selectable(step if isinstance(step, str) else step.name[1] if step.name else "")
