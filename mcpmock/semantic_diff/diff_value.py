"""A comparison as JSON, as `mcpmock diff --json` gives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .compare import Diff, Difference, Verdict
from .severity import EventLocation

FROM_WORST = sorted(Verdict, reverse=True)


def diff_value(comparison: Diff) -> dict[str, Any]:
    """Return a comparison as JSON."""
    return {
        "type": "diff",
        "verdict": word_of(comparison.worst),
        "a": comparison.old,
        "b": comparison.new,
        "calls": sum(comparison.calls.values()),
        "ignored": comparison.ignored,
        "counts": counts_by_word(comparison.counts),
        "differences": [_entry(found) for found in comparison.differences],
    }


def word_of(worst: Verdict | None) -> str:
    """Return the word of a verdict, `same` without one."""
    return "same" if worst is None else worst.word


def counts_by_word(counts: Mapping[Verdict, int]) -> dict[str, int]:
    """Return how many differences have each verdict, the worst first."""
    return {verdict.word: counts.get(verdict, 0) for verdict in FROM_WORST}


def _entry(found: Difference) -> dict[str, Any]:
    return {
        "verdict": found.verdict.word,
        "kind": found.rule.kind,
        "rule": found.rule.name,
        "method": found.method,
        "call": found.call,
        "path": found.path,
        "a": found.old,
        "b": found.new,
        "a_event": _event(found.old_event),
        "b_event": _event(found.new_event),
        "times": found.times,
        "ignore": found.ignore,
    }


def _event(where: EventLocation | None) -> dict[str, int] | None:
    return None if where is None else {"take": where.take, "n": where.n}
