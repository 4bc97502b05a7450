"""What `mcpmock explore` prints: failures in full, a table of all runs; JSON, JUnit XML."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import attrs
import click

from mcpmock.explore.oracles import Broken
from mcpmock.explore.results import Exploration, ExploredRow, Failure
from mcpmock.printable import printable

from .junit import JunitCase, JunitFailure, junit_report
from .output import BAD, GOOD, ODD, emit, many, table

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
    options: dict[str, Any]
    _progress: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        quiet = self.options["quiet"] or self.options["json"]
        self._progress = not quiet and sys.stderr.isatty()

    def row(self, row: ExploredRow) -> None:
        """A run is over."""
        if self.options["json"]:
            emit(row.value())
        elif self.options["verbose"]:
            click.echo(printable(f"{row.n:>5} {row.verdict:9} {row.run.variant.text}"))

    def progress(self, text: str) -> None:
        """On a terminal, one line that is written over."""
        if self._progress:
            sys.stderr.write(f"\r\x1b[K{printable(text)}")
            sys.stderr.flush()

    def end(self, found: Exploration) -> None:
        """Everything that is told at the end."""
        if self._progress:
            sys.stderr.write("\r\x1b[K")
        if self.options["json"]:
            for one in found.baseline:
                emit({"type": "baseline", "oracle": one.oracle, "text": one.text})
            for failure in found.failures:
                emit(failure.value())
            for message, why in found.untried:
                emit({"type": "untried", "message": message, "why": why})
            emit(found.summary())
            return
        for line in self._lines(found):
            click.echo(printable(line) if "\x1b" not in line else line)

    def _lines(self, found: Exploration) -> list[str]:
        lines: list[str] = []
        if found.baseline_failed:
            lines.append(click.style("The recorded order fails; nothing else was run.", fg=BAD))
        for one in found.baseline:
            lines += [f"  {one.text}{_of(one)}", *_cited(one)]
        if found.baseline and not found.baseline_failed:
            lines.insert(0, "In the recorded order too (not counted below):")
        for failure in found.failures:
            lines += ["", *_failure(failure)]
        if found.odd:
            lines += ["", click.style("Odd, but allowed (--strict fails on it):", fg=ODD)]
        for one, row, times in found.odd:
            lines.append(f"  {printable(one.text)}{_times(times)}")
            lines.append(f"    {printable(row.run.variant.text)}")
            lines += _cited(one)
        if found.rows:
            lines += ["", *self._table(found)]
        return [*lines, *_verdict(self.file, found)]

    def _table(self, found: Exploration) -> list[str]:
        """How many runs of each kind ended how."""
        counted: dict[str, Counter[str]] = {}
        for row in found.rows:
            variant = row.run.variant
            kind = variant.changes[0].kind if variant.changes else ""
            name = _STEPS.get(variant.step, variant.step)
            if self.options["verbose"] and variant.step != "pairs":
                name = f"{name}: {kind}"
            counted.setdefault(name, Counter())[row.verdict] += 1
        rows = [
            [name, *(str(count[verdict] or "") for verdict in _VERDICTS)]
            for name, count in counted.items()
        ]
        return list(table(["", *_VERDICTS], rows))

    def junit(self, found: Exploration) -> str:
        """A test case for each kind of change, which fails with what failed in it."""
        cases: dict[str, list[ExploredRow]] = {}
        for row in found.rows:
            kind = " + ".join(change.kind for change in row.run.variant.changes[:1])
            cases.setdefault(f"{row.run.variant.step}: {kind}", []).append(row)
        tests = [_junit_case(name, rows) for name, rows in cases.items()]
        return junit_report("mcpmock explore", "mcpmock.explore", tests)


def _junit_case(name: str, rows: list[ExploredRow]) -> JunitCase:
    broken = [row for row in rows if row.verdict == "broken"]
    if not broken:
        return JunitCase(name)
    first = broken[0].run.broken[0]
    text = "\n".join(f"{row.run.variant.text}: {row.run.broken[0].text}" for row in broken)
    return JunitCase(name, JunitFailure(first.oracle, first.text, text))


def _failure(failure: Failure) -> list[str]:
    head = f"{failure.n}. {printable(failure.broken.text)}"
    return [
        click.style(head, fg=BAD),
        f"   {printable(failure.variant.text)}",
        *_cited(failure.broken, "   "),
        f"   {failure.rows} run{'s' if failure.rows != 1 else ''} failed so; "
        f"run again: {failure.again}"
        + ("" if failure.confirmed else "; not counted: this machine may have been too busy"),
        f"   again: {printable(failure.command)}",
        f"   recording: {printable(failure.cassette)}",
    ]


def _of(one: Broken) -> str:
    return f" [{one.oracle}]"


def _cited(one: Broken, indent: str = "    ") -> list[str]:
    return [f"{indent}{printable(one.cites)}"] if one.cites else []


def _times(times: int) -> str:
    return f" ({times} runs)" if times > 1 else ""


def _verdict(file: str, found: Exploration) -> list[str]:
    rate = len(found.rows) / found.seconds if found.seconds else 0.0
    runs = f"{len(found.rows)} runs of {found.planned} single changes"
    done = f"{file}: {runs} in {found.seconds:.0f} s ({rate:.1f} a second), seed {found.seed}"
    if found.stopped:
        done += ", stopped"
    failures = sum(failure.confirmed for failure in found.failures)
    failed = found.status
    said = many(failures, "failure") if failures else "failed" if failed else "no failures"
    return ["", f"{printable(done)}: " + click.style(said, fg=BAD if failed else GOOD)]
