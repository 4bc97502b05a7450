"""What an exploration tells: a row for each run, a failure for each cause, and the summary; each as
one JSON object too (`mcpmock explore --json`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import attrs
import msgspec

from mcpmock.cassette import FORMAT
from mcpmock.cassette.model import Cassette, Header, Take
from mcpmock.cassette.parser import read
from mcpmock.trials.oracle import Broken, Verdict

from .variant import Variant

_WORDS = {"cells": "cell", "faults": "fault", "orders": "order", "resumes": "resume"}
"""What a row calls its change, by its step."""


@attrs.frozen(kw_only=True)
class JudgedRun:
    """One run of a variant, judged, with its recording."""

    variant: Variant
    reached: bool
    broken: list[Broken] = attrs.field(factory=list)
    reaction: str | None = None
    cassette: Cassette | None = None
    status: int | None = None
    """The exit status of a client."""
    in_full: bool = True
    """Whether a silence was waited for as long as the hang limit says."""

    def verdict(self, *, strict: bool = False) -> Verdict:
        found = {one.verdict for one in self.broken}
        if "broken" in found or (strict and found):
            return "broken"
        return "odd" if found else "ok"

    def cause(self, *, strict: bool = False) -> Broken | None:
        """Return the worst oracle that does not hold, if the run failed."""
        return self.broken[0] if self.verdict(strict=strict) == "broken" else None


@attrs.frozen(kw_only=True)
class ExploredRow:
    """A run in the report."""

    n: int
    run: JudgedRun
    strict: bool = False

    @property
    def verdict(self) -> str:
        verdict = self.run.verdict(strict=self.strict)
        return "unreached" if verdict == "ok" and not self.run.reached else verdict

    def value(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        variant, run = self.run.variant, self.run
        first = variant.changes[0] if variant.changes else None
        what = _WORDS.get(variant.step, "pair")
        kind = " + ".join(change.kind for change in variant.changes) or "recorded"
        found = run.broken[0] if run.broken else None
        return {
            "type": "row",
            "n": self.n,
            "step": variant.step,
            "request": None if first is None else first.request,
            "message": None if first is None else first.place,
            what: kind,
            "at": "; ".join(change.at for change in variant.changes),
            "reaction": run.reaction,
            "reached": run.reached,
            "verdict": self.verdict,
            "oracle": None if found is None else found.oracle,
            "place": None if found is None else found.place,
        }


@attrs.frozen(kw_only=True)
class Failure:
    """A cause, with its smallest variant."""

    n: int
    broken: Broken
    variant: Variant
    rows: int
    """How many rows have this cause."""
    places: tuple[str, ...] = ()
    """The calls in which they have it."""
    again: str
    """How often it came again: `5 of 5`."""
    confirmed: bool = True
    """False where it is a matter of time and never came again: a busy machine looks the same."""
    plan: str = ""
    cassette: str = ""
    command: str = ""

    def value(self) -> dict[str, Any]:
        return {
            "type": "failure",
            "n": self.n,
            "oracle": self.broken.oracle,
            "place": self.broken.place,
            "places": [*self.places],
            "text": self.broken.text,
            "cites": self.broken.cites or None,
            "shrunk": self.variant.text,
            "rows": self.rows,
            "again": self.again,
            "confirmed": self.confirmed,
            "plan": self.plan,
            "cassette": self.cassette,
            "command": self.command,
        }


MIN_WIDE_PLACES = 3
"""A fault that breaks so many calls, without an exception that tells them apart, is one cause."""


def rows_by_cause(rows: Iterable[ExploredRow]) -> list[list[ExploredRow]]:
    """Return the broken rows, those of one cause together, in the order of their first ones. One
    cause has the same oracle, and the same exception, or the same fault wherever it is, or the same
    call.
    """
    broken = [(row, row.run.broken[0]) for row in rows if row.verdict == "broken"]
    places: dict[tuple[str, str], set[str]] = {}
    for row, one in broken:
        if (kind := _single_fault(row.run.variant)) is not None:
            places.setdefault((one.oracle, kind), set()).add(one.place)
    groups: dict[tuple[str, str, str], list[ExploredRow]] = {}
    for row, one in broken:
        kind = _single_fault(row.run.variant) or ""
        key = (*one.cause, "")
        if not one.exception and len(places.get((one.oracle, kind), ())) >= MIN_WIDE_PLACES:
            key = (one.oracle, "", kind)
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _single_fault(variant: Variant) -> str | None:
    return variant.changes[0].kind if variant.step == "faults" else None


@attrs.define
class Exploration:
    """A whole exploration."""

    seed: int
    rows: list[ExploredRow] = attrs.field(factory=list)
    failures: list[Failure] = attrs.field(factory=list)
    baseline: list[Broken] = attrs.field(factory=list)
    """What does not hold in the recorded order."""
    baseline_failed: bool = False
    seconds: float = 0.0
    planned: int = 0
    """How many variants steps 1 to 3 have."""
    untried: list[tuple[str, str]] = attrs.field(factory=list)
    """What was never cancelled, and why."""
    reruns: int = 0
    stopped: bool = False

    def counts(self) -> Counter[str]:
        return Counter(row.verdict for row in self.rows)

    @property
    def odd(self) -> list[tuple[Broken, ExploredRow, int]]:
        """What a specification advises against, each cause once: with its first row, and how many
        rows have it.
        """
        first: dict[tuple[str, str], tuple[Broken, ExploredRow]] = {}
        times = Counter[tuple[str, str]]()
        for row in self.rows:
            for one in row.run.broken:
                if one.verdict == "odd" and row.verdict == "odd":
                    first.setdefault(one.cause, (one, row))
                    times[one.cause] += 1
        return [(*found, times[cause]) for cause, found in first.items()]

    @property
    def status(self) -> int:
        """1 if anything failed."""
        causes = rows_by_cause(self.rows)
        unconfirmed = sum(not one.confirmed for one in self.failures)
        return int(self.baseline_failed or len(causes) > unconfirmed)

    def summary(self) -> dict[str, Any]:
        counts = self.counts()
        return {
            "type": "summary",
            "runs": len(self.rows),
            "planned": self.planned,
            "reached": sum(row.run.reached for row in self.rows),
            "unreached": counts["unreached"],
            "broken": counts["broken"],
            "odd": counts["odd"],
            "failures": sum(one.confirmed for one in self.failures),
            "reruns": self.reruns,
            "seconds": round(self.seconds, 1),
            "seed": self.seed,
        }


def recorded_run(lines: Iterable[bytes], transport: str = "stdio", **header: Any) -> Cassette:
    """Return the cassette of one run: the lines of its events, behind a header of its own."""
    first = Header(mcpmock=FORMAT, tool="mcpmock explore", transport=transport, **header)
    cassette = read("run", msgspec.json.encode(first) + b"\n" + b"".join(lines))
    if not cassette.takes:
        cassette.takes.append(Take(header=first, events=[]))
    return cassette
