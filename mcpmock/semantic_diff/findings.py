"""Where the differences of a diff are put as they are found: judged, shortened, counted once.

What the user's rules let pass ends here. The very same change at the same place of the same kind of
call is one difference, however often it comes; beyond a bound differences are counted only. `diff`
stands above.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs

from .ignore_rules import Label, Leeway, Rules
from .message import DiffMessage
from .normalize import Namings, text_of
from .severity import ABSENT, RULES, Change, Difference, Verdict, Where, spelled
from .value_changes import Measure

MOST = 10_000
"""Differences that are kept."""
LIMIT = 160
"""Characters of a value that is told."""
_LEAD = 24
"""Of what two long values have in common, so many characters are told."""
_DOTS = "..."


@attrs.define
class Findings:
    """What was found so far."""

    rules: Rules
    counts: Counter[Verdict] = attrs.field(factory=Counter)
    """How many differences there are of each verdict."""
    ignored: int = 0
    """How many changes the rules let pass."""
    _found: dict[tuple[str | None, ...], Difference] = attrs.field(factory=dict)

    def measure(
        self, old: DiffMessage | None, new: DiffMessage | None, call: Label, namings: Namings
    ) -> Measure:
        """What two messages that belong to this call are held against each other by."""
        one, other = (None if saying is None else saying.document for saying in (old, new))
        method = (old or new).method if old or new else ""  # type: ignore[union-attr]
        return Measure(Leeway(self.rules, method, call, one, other), namings)

    def add(
        self,
        change: Change,
        measure: Measure,
        *,
        method: str | None = None,
        old: Where | None = None,
        new: Where | None = None,
    ) -> None:
        """Takes in a change in two messages, or in the fact that there is one."""
        leeway = measure.leeway
        if leeway.ignores(change.path):
            self.ignored += 1
            return
        before, after = excerpts(change.old, change.new)
        call = " ".join(part for part in leeway.call if part) or None
        path, method = spelled(change.path), leeway.method if method is None else method
        told = (before, after) if change.path else ()  # a message more or less is one like another
        key = (change.rule, method, call, path, *told)
        known = self._found.get(key)
        if known is not None:
            self._found[key] = attrs.evolve(known, times=known.times + 1)
            return
        rule = RULES[change.rule]
        self.counts[rule.verdict] += 1
        if len(self._found) < MOST:
            self._found[key] = Difference(
                rule=rule,
                method=method,
                call=call,
                path=path,
                old=before,
                new=after,
                old_event=old,
                new_event=new,
            )

    def differences(self) -> tuple[Difference, ...]:
        """The worst first, and those equally bad as they were found."""
        return tuple(sorted(self._found.values(), key=lambda found: -found.verdict))


def excerpts(old: Any, new: Any) -> tuple[str | None, str | None]:
    """Two values as JSON in short, from shortly before the place where they part."""
    one, other = (None if value is ABSENT else text_of(value) for value in (old, new))
    if one is None or other is None or max(len(one), len(other)) <= LIMIT:
        return _cut(one), _cut(other)
    skipped = _common(one, other) - _LEAD
    if skipped <= len(_DOTS):
        return _cut(one), _cut(other)
    return _cut(_DOTS + one[skipped:]), _cut(_DOTS + other[skipped:])


def _common(one: str, other: str) -> int:
    """How many characters two texts have in common at the start. By halves: they may be long."""
    same, most = 0, min(len(one), len(other))
    while same < most:
        middle = (same + most + 1) // 2
        if one[same:middle] == other[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= LIMIT:
        return text
    return text[: LIMIT - len(_DOTS)] + _DOTS
