"""What `mcpmock explore` prints: failures in full, a table of all runs; JSON, JUnit XML. And what a
single run of it prints when it is played again.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import attrs
import click

from mcpmock.explore.results import Exploration, ExploredRow, Failure, JudgedRun
from mcpmock.options.console import ConsoleOptions
from mcpmock.printable import many, printable
from mcpmock.trials.oracle import Broken

from .output import BAD, GOOD, ODD, emit, table
from .reports import JunitCase, JunitFailure, Report, print_report

_STEPS = {
    "cells": "cancels",
    "faults": "single faults",
    "orders": "orders",
    "resumes": "lost connections",
    "pairs": "pairs",
}
_VERDICTS = ("ok", "odd", "broken", "unreached")


@attrs.define
class ExploreOutput:
    """Prints one exploration of the file of this name."""

    file: str
    target: str
    """The command or the URL of what is explored."""
    console: ConsoleOptions
    _progress: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        quiet = self.console.quiet or self.console.json
        self._progress = not quiet and sys.stderr.isatty()

    def row(self, row: ExploredRow) -> None:
        """Show a run that is over."""
        if self.console.json:
            emit(row.value())
        elif self.console.verbose:
            click.echo(printable(f"{row.n:>5} {row.verdict:9} {row.run.variant.text}"))

    def progress(self, text: str) -> None:
        """Show progress: on a terminal, one line that is written over."""
        if self._progress:
            sys.stderr.write(f"\r\x1b[K{printable(text)}")
            sys.stderr.flush()

    def end(self, found: Exploration) -> Report:
        """Print the report at the end of a run, and return it."""
        if self._progress:
            sys.stderr.write("\r\x1b[K")
        report = Report(
            status=found.status,
            lines=self._lines(found),
            values=self._values(found),
            suite=("mcpmock explore", "mcpmock.explore"),
            cases=_cases(found),
        )
        print_report(report, self.console, always=True)
        return report

    def _lines(self, found: Exploration) -> Iterator[str]:
        if found.baseline_failed:
            yield click.style("The recorded order fails; nothing else was run.", fg=BAD)
        elif found.baseline:
            yield "In the recorded order too (not counted below):"
        for one in found.baseline:
            yield f"  {printable(one.text)} [{one.oracle}]"
            yield from _cited(one)
        for failure in found.failures:
            yield ""
            yield from _failure(failure)
        if found.odd:
            yield ""
            yield click.style("Odd, but allowed (--strict fails on it):", fg=ODD)
        for one, row, times in found.odd:
            yield f"  {printable(one.text)}" + (f" ({times} runs)" if times > 1 else "")
            yield f"    {printable(row.run.variant.text)}"
            yield from _cited(one)
        if found.rows:
            yield ""
            yield from self._table(found)
        yield from ("", _verdict(self.file, found))

    def _values(self, found: Exploration) -> Iterator[dict[str, Any]]:
        for one in found.baseline:
            yield {"type": "baseline", "oracle": one.oracle, "text": one.text}
        for failure in found.failures:
            yield failure.value()
        for message, why in found.untried:
            yield {"type": "untried", "message": message, "why": why}
        yield found.summary() | {"file": self.file, "command": self.target}

    def _table(self, found: Exploration) -> Iterator[str]:
        """Return how many runs of each kind ended how."""
        counted: dict[str, Counter[str]] = {}
        for row in found.rows:
            variant = row.run.variant
            kind = variant.changes[0].kind if variant.changes else ""
            name = _STEPS.get(variant.step, variant.step)
            if self.console.verbose and variant.step != "pairs":
                name = f"{name}: {kind}"
            counted.setdefault(name, Counter())[row.verdict] += 1
        rows = [
            [name, *(str(count[verdict] or "") for verdict in _VERDICTS)]
            for name, count in counted.items()
        ]
        return table(["", *_VERDICTS], rows)


def _cases(found: Exploration) -> Iterator[JunitCase]:
    """Yield a test case for each kind of change, which fails with what failed in it."""
    by_kind: dict[str, list[ExploredRow]] = {}
    for row in found.rows:
        kind = " + ".join(change.kind for change in row.run.variant.changes[:1])
        by_kind.setdefault(f"{row.run.variant.step}: {kind}", []).append(row)
    for name, rows in by_kind.items():
        broken = [row for row in rows if row.verdict == "broken"]
        failure = None
        if broken:
            first = broken[0].run.broken[0]
            text = "\n".join(f"{row.run.variant.text}: {row.run.broken[0].text}" for row in broken)
            failure = JunitFailure(first.oracle, first.text, text)
        yield JunitCase(name, failure)


def _failure(failure: Failure) -> list[str]:
    head = f"{failure.n}. {printable(failure.broken.text)}"
    return [
        click.style(head, fg=BAD),
        f"   {printable(failure.variant.text)}",
        *_cited(failure.broken, "   "),
        f"   {many(failure.rows, 'run')} failed so; run again: {failure.again}"
        + ("" if failure.confirmed else "; not counted: this machine may have been too busy"),
        f"   again: {printable(failure.command)}",
        f"   recording: {printable(failure.cassette)}",
    ]


def _cited(one: Broken, indent: str = "    ") -> list[str]:
    return [f"{indent}{printable(one.cites)}"] if one.cites else []


def _verdict(file: str, found: Exploration) -> str:
    rate = len(found.rows) / found.seconds if found.seconds else 0.0
    runs = f"{len(found.rows)} runs of {found.planned} single changes"
    done = f"{file}: {runs} in {found.seconds:.0f} s ({rate:.1f} a second), seed {found.seed}"
    if found.stopped:
        done += ", stopped"
    failures = sum(failure.confirmed for failure in found.failures)
    failed = found.status
    said = many(failures, "failure") if failures else "failed" if failed else "no failures"
    return f"{printable(done)}: {click.style(said, fg=BAD if failed else GOOD)}"


def show_run(run: JudgedRun, name: str, *, strict: bool) -> int:
    """Print what does not hold in one run. Gives the exit status."""
    for one in run.broken:
        click.echo(printable(f"{run.variant.text}: {one.text}"))
        if one.cites:
            click.echo(printable(f"  {one.cites}"))
    if not run.broken:
        click.echo(printable(f"{name}: {run.variant.text}: nothing is broken"))
    return int(run.verdict(strict=strict) == "broken")
