"""`Oracle`: what must hold of each run; and `Broken`, what was not so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import attrs

Verdict = Literal["ok", "odd", "broken"]


@attrs.frozen
class Broken:
    """An oracle that does not hold. `place` is a method and a tool: equal causes have the same
    oracle and place, or the same oracle and exception.
    """

    oracle: str
    """The name of the oracle; of a family with what is broken: `rule:progress-token`."""
    place: str
    text: str
    verdict: Verdict = "broken"
    cites: str = ""
    """The sentence of the specification, with its page."""
    exception: str = ""
    """The exception that the program printed, without what differs from run to run."""

    @property
    def cause(self) -> tuple[str, str]:
        return self.oracle, self.exception or self.place


@attrs.frozen
class Oracle:
    """One that can be broken."""

    name: str
    judge: Callable[[Any], Iterable[Broken]]
    """Yields what does not hold of a run. Oracles that exclude each other share one."""
    waits: bool = False
    """Whether it is found by waiting: then silences are waited for in full only once."""
    timed: bool = False
    """Whether a busy machine can break it: such a failure has to come again."""
    ending: bool = False
    """Whether a machine that is busy for a second or two can break it: it has to come again in most
    runs.
    """


@attrs.frozen
class Oracles:
    """The oracles of one kind of run, the worst first."""

    table: tuple[Oracle, ...]

    def judge(self, run: Any) -> list[Broken]:
        """Return what does not hold of a run, the worst first."""
        judges = dict.fromkeys(oracle.judge for oracle in self.table)
        found = [broken for judge in judges for broken in judge(run)]
        return sorted(found, key=lambda one: one.verdict != "broken")

    def of(self, name: str) -> Oracle:
        """Return the oracle of a name, or of the family of one. Raises LookupError."""
        family = name.partition(":")[0]
        for one in self.table:
            if one.name == family:
                return one
        raise LookupError(f"the oracle {family!r} has no row in its table")


def usual_failures(runs: Sequence[Sequence[Broken]], oracles: Oracles) -> list[Broken]:
    """Return what fails in the recorded order, each cause once; a matter of time only if it failed
    so in most of the runs.
    """
    times = Counter(cause for found in runs for cause in {one.cause for one in found})
    first = {one.cause: one for found in runs for one in found if one.verdict == "broken"}
    return [
        one
        for cause, one in first.items()
        if not oracles.of(one.oracle).timed or times[cause] > len(runs) // 2
    ]
