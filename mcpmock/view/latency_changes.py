"""The calls that became slower from one recording to another, as differences of a diff. Two
recordings of one server never take the same time, so they count only where the user says how much
slower is too slow.
"""

from __future__ import annotations

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.semantic_diff.compare import Diff, Difference
from mcpmock.semantic_diff.severity import RULES

from .stats import stats

SLOWER = RULES["call-slower"]
_MIN_DELAY_US = 5_000
"""A call that takes less than this longer is not slower: so much is the machine's."""
_MICROSECONDS = 1_000_000


def with_slower_calls(diff: Diff, old: Cassette, new: Cassette, times: float) -> Diff:
    """Return a diff with a difference for each call that takes at least so many times as long, by
    the medians of the calls that both recordings have.
    """
    before, after = (stats([one]).calls for one in (old, new))
    found = []
    for what, calls in before.items():
        medians = [
            None if one is None else one.latencies.percentile(0.5)
            for one in (calls, after.get(what))
        ]
        if medians[0] is None or medians[1] is None:
            continue
        if medians[1] >= times * medians[0] and medians[1] - medians[0] >= _MIN_DELAY_US:
            label = " ".join(part for part in (what.method, what.tool) if part)
            found.append(
                Difference(
                    rule=SLOWER,
                    method=what.method,
                    call=label,
                    path="$",
                    old=_seconds(medians[0]),
                    new=f"{_seconds(medians[1])}, {medians[1] / max(medians[0], 1):.3g} times",
                    old_event=None,
                    new_event=None,
                    ignore="",
                )
            )
    if not found:
        return diff
    counts = {**diff.counts, SLOWER.verdict: diff.counts.get(SLOWER.verdict, 0) + len(found)}
    differences = sorted([*diff.differences, *found], key=lambda one: -one.verdict)
    return attrs.evolve(diff, differences=tuple(differences), counts=counts)


def _seconds(microseconds: int) -> str:
    return f"{microseconds / _MICROSECONDS:.3g} s"
