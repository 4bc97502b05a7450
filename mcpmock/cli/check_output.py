"""What `mcpmock check` prints and writes: text, JSON or the annotations of GitHub for each file as
soon as it is read; JUnit XML, SARIF and a baseline at the end.

Names and texts may be recorded: all that is printed passes through `printable`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import attrs
import click

from mcpmock.errors import CassetteError, Level
from mcpmock.options.comparison import CheckOptions
from mcpmock.options.console import ConsoleOptions
from mcpmock.printable import did_you_mean, first_lines, many, printable
from mcpmock.rules.report import report_values

from .output import (
    BAD,
    ODD,
    REMARK,
    emit,
    encodable,
    one_line,
    say,
    shown_file,
    text_limit,
    without_secrets,
    wrap,
)
from .reports import (
    JunitCase,
    JunitFailure,
    JunitSuite,
    Report,
    junit_text,
    print_report,
    write_report,
)
from .sarif import SarifResult, place_in_folder, sarif_of

if TYPE_CHECKING:
    from mcpmock.batch.check import CheckedFile, FileCheck
    from mcpmock.rules.call_assertions import AssertionCase
    from mcpmock.rules.checker import Found, Unchecked

_Item = TypeVar("_Item")
_COLORS = {Level.ERROR: BAD, Level.WARNING: ODD, Level.NOTICE: REMARK}
_SHOWN = {Level.ERROR: 10, Level.WARNING: 10, Level.NOTICE: 1}
"""How many findings of one kind are printed without `-v`."""
_MAX_CASE_LINES, _MAX_IDLE = 100, 20
_HANGING = "    "
"""What the lines of a wrapped finding begin with, but for the first."""
_SUITE = "mcpmock.check"
_DAMAGE, _EDIT, _FILE = "damage", "edit", "file"
_ABOUT = {
    _DAMAGE: "A cassette can be read.",
    _EDIT: "A cassette is as it was recorded.",
    _FILE: "A cassette is complete.",
    "expect-tool": "The tools that are expected are called with success.",
    "forbid-tool": "The tools that are forbidden are not called.",
    "max-duration": "Requests are answered in time.",
}
"""What is said of the findings that are of no rule of the protocol."""
_MAX_SARIF_RESULTS = 25_000
"""GitHub takes no more in one run."""


class _Shown(NamedTuple):
    """A finding as it is printed."""

    line: int
    level: Level
    text: str
    title: str = ""
    """The rule, or the option, that it is about."""
    more: str = ""


@attrs.define
class CheckOutput:
    """Takes the outcome of each file, and gives the exit status."""

    checking: CheckOptions
    console: ConsoleOptions
    plan: FileCheck
    _suites: list[JunitSuite] = attrs.field(factory=list)
    _results: list[SarifResult] = attrs.field(factory=list)
    _left_out: int = 0
    """How many results SARIF has no room for."""
    _baseline: set[str] = attrs.field(factory=set)
    _applied: set[str] = attrs.field(factory=set)
    _cases: list[tuple[str, AssertionCase]] = attrs.field(factory=list)
    _tools: set[str] = attrs.field(factory=set)
    _untimed: list[Path | str] = attrs.field(factory=list)

    def add(self, name: Path | str, checked_of: Callable[[], CheckedFile]) -> int:
        """Print one file. Raises CassetteError for what cannot be read, which is noted too."""
        try:
            checked = checked_of()
        except CassetteError as error:
            self._add_unreadable(name, error)
            raise
        report = checked.report
        self._note(name, checked)
        failed = any(not case.ok for case in checked.calls.cases)
        status = CassetteError.exit_code if report.damaged else int(failed or self._fails(checked))
        form = "json" if self.checking.format == "json" else "text"
        if self.checking.format == "github":
            lines = self._annotations(name, checked)
        else:
            lines = (part for line in self._lines(name, checked) for part in wrap(line, _HANGING))
        shown = Report(
            status=status,
            lines=lines,
            values=report_values(encodable(name), checked.report),
        )
        return print_report(shown, self.console, form)

    def end(self) -> int:
        """Print what holds for all files together, and write the files. Raises CassetteError."""
        if not self.console.quiet:
            self._say_unjudged_limits()
        status = self._print_assertions()
        if self.checking.only != "integrity" and not self.console.quiet:
            self._say_idle()
        self._write()
        return status

    def _fails(self, checked: CheckedFile) -> bool:
        return any(checked.report.count(level) for level in self._failing)

    @property
    def _failing(self) -> tuple[Level, ...]:
        """The levels that make the exit status 1."""
        found = {"error": (Level.ERROR,), "warning": (Level.ERROR, Level.WARNING), "never": ()}
        return found[self.checking.fail_on]

    def _note(self, name: Path | str, checked: CheckedFile) -> None:
        """Keep what is printed or written at the end."""
        self._applied |= checked.applied
        self._tools |= checked.calls.tools
        self._cases += ((encodable(name), case) for case in checked.calls.cases)
        if checked.calls.untimed:
            self._untimed.append(name)
        if self.checking.junit is not None:
            self._suites.append(self._suite(shown_file(name), checked))
        if self.checking.write_baseline is not None:
            self._baseline |= _baseline_lines(checked)
        if self.checking.sarif is not None:
            results = list(_sarif_results(name, checked))
            room = max(_MAX_SARIF_RESULTS - len(self._results), 0)
            self._results += results[:room]
            self._left_out += len(results[room:])

    def _add_unreadable(self, name: Path | str, error: CassetteError) -> None:
        text = without_secrets(str(error))
        failure = JunitFailure(_DAMAGE, text, error=True)
        self._suites.append(JunitSuite(shown_file(name), _SUITE, [JunitCase(_DAMAGE, failure)]))
        self._results.append(SarifResult(_DAMAGE, _ABOUT[_DAMAGE], Level.ERROR, text, name))
        if self.checking.format == "github":
            click.echo(_annotation(name, _Shown(0, Level.ERROR, text, _DAMAGE)))

    def _lines(self, name: Path | str, checked: CheckedFile) -> Iterator[str]:
        shown_name = shown_file(name)
        for one in self._shown(checked):
            place = f"{shown_name}:{one.line}" if one.line else shown_name
            text = f"{one.text} [{one.title}]" if one.title else one.text
            color = _COLORS[one.level]
            yield f"{place}: {click.style(one.level.value, fg=color)}: {printable(text)}"
            if one.more:
                yield f"{_HANGING}{printable(one.more)}"
        if self.console.verbose:
            yield from _known_lines(shown_name, checked)
        for unchecked in self._unchecked(checked):
            what = one_line(unchecked.what)
            yield f"{shown_name}: not checked: {what}: {one_line(unchecked.why)}"
        yield self._verdict(shown_name, checked)

    def _annotations(self, name: Path | str, checked: CheckedFile) -> Iterator[str]:
        for one in self._shown(checked):
            yield _annotation(name, one)
        yield self._verdict(shown_file(name), checked)

    def _shown(self, checked: CheckedFile) -> list[_Shown]:
        """Return what is printed of a file, in the order of its lines."""
        from mcpmock.view.summary import brief

        limit, github = text_limit(), self.checking.format == "github"
        verbose = self.console.verbose
        findings = [
            _Shown(one.line, one.level, brief(one.text, limit), _title(one.damage, one.level))
            for one in checked.report.findings
        ]
        found = [one if github else one._replace(title="") for one in findings]
        found += _violations(checked, verbose=verbose, alone=github)
        failed = [case for case in checked.calls.cases if not case.ok]
        for case, _, more in _limited(failed, _option, lambda _: Level.ERROR, verbose=verbose):
            text = f"{brief(case.text, limit)}{more}"
            found.append(_Shown(case.line, Level.ERROR, text, _option(case)))
        return sorted(found, key=lambda one: one.line)

    def _unchecked(self, checked: CheckedFile) -> list[Unchecked]:
        """Return what was not judged, each once: takes may have it in common."""
        found: dict[tuple[str, str], Unchecked] = {}
        for one in checked.report.unchecked:
            if self.console.verbose or not one.quiet:
                found.setdefault((one.what, one.why), one)
        return list(found.values())

    def _verdict(self, name: str, checked: CheckedFile) -> str:
        report = checked.report
        counts = [many(count, level.value) for level in Level if (count := report.count(level))]
        if known := sum(bool(found.allowed) for found in report):
            counts.append(f"{known} known")
        if failed := sum(not case.ok for case in checked.calls.cases):
            counts.append(many(failed, "failed assertion"))
        unchecked = len(self._unchecked(checked))
        counts += [f"{unchecked} not checked"] if unchecked else []
        bad = failed or report.count(Level.ERROR) or self._fails(checked)
        size = f"{many(report.takes, 'take')}, {many(report.events, 'event')}"
        return f"{name}: {size}: {', '.join(counts if bad else ['ok', *counts])}"

    def _say_unjudged_limits(self) -> None:
        for name in self._untimed:
            say(f"{name}: has no times: --max-duration was not checked")
        for limit in self.plan.assertions.limits:
            tool = limit.tool
            if tool is not None and not any(fnmatchcase(one, tool) for one in self._tools):
                near = did_you_mean(tool, self._tools)
                say(f"--max-duration {limit.text} applied to nothing: no call of {tool}{near}")

    def _say_idle(self) -> None:
        """Say which lines of `--allow` and of the baseline nothing matched."""
        idle = [one.text for one in self.plan.allowances if one.text not in self._applied]
        for text in idle[:_MAX_IDLE]:
            say(f"nothing was allowed by {text!r}")
        if len(idle) > _MAX_IDLE:
            say(f"and by {many(len(idle) - _MAX_IDLE, 'other line')}")

    def _failed_expectations(self) -> Iterator[tuple[str, str]]:
        """Yield each glob that no call with success fits, and what to say of it."""
        from mcpmock.rules.call_assertions import EXPECT

        had = {case.value for _, case in self._cases if case.option == EXPECT}
        for glob in self.plan.assertions.expected:
            if glob not in had:
                near = "" if glob in self._tools else did_you_mean(glob, self._tools, cutoff=0.5)
                yield glob, f"no call of {glob} had a result{near}"

    def _print_assertions(self) -> int:
        """Print the outcome of what is asserted of all files; return the exit status."""
        from mcpmock.rules.call_assertions import EXPECT

        missing = dict(self._failed_expectations())
        json = self.console.json or self.checking.format == "json"
        for file, case in self._cases if json else ():
            emit(_assertion(case.option, case.value, case.text, ok=case.ok, file=file, case=case))
        for option, value in self.plan.assertions.all if json else ():
            if not any((option, value) == (case.option, case.value) for _, case in self._cases):
                text = missing.get(value, "") if option == EXPECT else ""
                emit(_assertion(option, value, text, ok=not text))
        for glob, text in () if json else missing.items():
            shown = _Shown(0, Level.ERROR, text, f"--{EXPECT} {glob}")
            if self.checking.format == "github":
                click.echo(_annotation(None, shown))
            else:
                level = click.style(shown.level.value, fg=BAD)
                click.echo(f"{level}: {printable(f'{shown.text} [{shown.title}]')}")
        for glob, text in missing.items():
            likeness = f"--{EXPECT} {glob}"
            self._results.append(
                SarifResult(EXPECT, _ABOUT[EXPECT], Level.ERROR, text, None, likeness=likeness)
            )
        return int(bool(missing))

    def _write(self) -> None:
        from mcpmock.rules.allowances import baseline_of

        checking = self.checking
        if checking.junit is not None:
            suites = [*self._suites, *self._assertion_suite()]
            write_report(checking.junit, junit_text(suites) + "\n")
        if checking.sarif is not None:
            write_report(checking.sarif, sarif_of(self._results))
            if self._left_out:
                say(f"{checking.sarif}: {self._left_out} more findings are left out")
        if checking.write_baseline is not None:
            write_report(checking.write_baseline, baseline_of(self._baseline))

    def _suite(self, name: str, checked: CheckedFile) -> JunitSuite:
        """Return a file in JUnit XML: a case for each rule that fails it."""
        failing = self._failing or (Level.ERROR,)
        of_file = {_DAMAGE: list[str](), _EDIT: list[str]()}
        for one in checked.report.findings:
            if one.damage or one.level in failing:
                of_file[_DAMAGE if one.damage else _EDIT].append(f"{name}:{one.line}: {one.text}")
        cases = [
            JunitCase(kind, JunitFailure(kind, lines[0], _cut(lines), kind == _DAMAGE))
            for kind, lines in of_file.items()
            if lines
        ]
        by_rule: dict[str, list[Found]] = {}
        for found in checked.report:
            if not found.allowed and found.violation.level in failing:
                by_rule.setdefault(found.violation.rule.name, []).append(found)
        for rule, all_of in by_rule.items():
            lines = [f"{name}:{one.line}: {one.violation.text}" for one in all_of]
            failure = JunitFailure(rule, all_of[0].violation.sentence, _cut(lines))
            cases.append(JunitCase(rule, failure))
        return JunitSuite(name, _SUITE, cases or [JunitCase("check")])

    def _assertion_suite(self) -> Iterator[JunitSuite]:
        from mcpmock.rules.call_assertions import EXPECT

        missing = dict(self._failed_expectations())
        cases = []
        for option, value in self.plan.assertions.all:
            lines = [
                f"{file}:{case.line}: {case.text}"
                for file, case in self._cases
                if (case.option, case.value, case.ok) == (option, value, False)
            ]
            lines += [missing[value]] if option == EXPECT and value in missing else []
            failure = JunitFailure(option, lines[0], _cut(lines)) if lines else None
            cases.append(JunitCase(f"--{option} {value}", failure))
        if cases:
            yield JunitSuite("assertions", _SUITE, cases)


def _cut(lines: list[str]) -> str:
    return "\n".join(first_lines(lines, _MAX_CASE_LINES))


def _title(damage: bool, level: Level) -> str:
    """Return what a finding about the file is called."""
    return _DAMAGE if damage else _EDIT if level is Level.ERROR else _FILE


def _option(case: AssertionCase) -> str:
    return f"--{case.option} {case.value}"


def _baseline_lines(checked: CheckedFile) -> set[str]:
    from mcpmock.rules.allowances import allowance_for

    return {
        allowance_for(found.violation)
        for found in checked.report
        if found.violation.level is not Level.NOTICE
    }


def _violations(checked: CheckedFile, *, verbose: bool, alone: bool) -> Iterator[_Shown]:
    """Yield each violation that is not allowed; the first of its kind also with the sentence of the
    specification, or the SDK that is known for it. What stands `alone` has just the sentence.
    """
    violations = [found for found in checked.report if not found.allowed]
    for found, first, more in _limited(violations, _group_of, _level_of, verbose=verbose):
        violation = found.violation
        reason = _reason_for(found) if first else ""
        if alone:
            reason = violation.sentence if violation.known is None else violation.known.words
        text = f"{violation.text}{more}"
        yield _Shown(found.line, violation.level, text, violation.rule.name, reason)


def _limited(
    items: Sequence[_Item],
    key: Callable[[_Item], object],
    level: Callable[[_Item], Level],
    *,
    verbose: bool,
) -> Iterator[tuple[_Item, bool, str]]:
    """Yield the items that are shown, each with whether it is the first, and what is left out."""
    counts, seen = Counter(map(key, items)), Counter[object]()
    for item in items:
        kind = key(item)
        seen[kind] += 1
        most = _SHOWN[level(item)]
        if verbose or seen[kind] <= most:
            left = counts[kind] - most if seen[kind] == most and not verbose else 0
            yield item, seen[kind] == 1, f", and {left} more like it" if left > 0 else ""


def _known_lines(name: str, checked: CheckedFile) -> Iterator[str]:
    for found in checked.report:
        if found.allowed:
            place = f"{name}:{found.line}" if found.line else name
            text = printable(f"{found.violation.text} [{found.violation.rule.name}]")
            yield f"{place}: {click.style('known', fg=REMARK)}: {text}"
            yield f"{_HANGING}allowed by {printable(found.allowed)}"


def _level_of(found: Found) -> Level:
    return found.violation.level


def _group_of(found: Found) -> object:
    return found.violation.rule, found.violation.known, found.violation.said


def _reason_for(found: Found) -> str:
    violation = found.violation
    if violation.known is not None:
        return violation.known.words
    return f'{violation.cited}: "{violation.sentence}"'


def _annotation(name: Path | str | None, one: _Shown) -> str:
    """Return a command of a GitHub workflow that shows a finding at its line."""
    properties = {} if name is None else {"file": printable(place_in_folder(name))}
    properties |= {"line": str(one.line)} if one.line and name is not None else {}
    properties |= {"title": printable(one.title)} if one.title else {}
    written = ",".join(
        f"{key}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}"
        for key, value in properties.items()
    )
    data = "\n".join(map(printable, filter(None, (one.text, one.more))))
    return f"::{one.level.value} {written}".rstrip() + f"::{_escaped(data)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _assertion(
    option: str,
    value: str,
    text: str,
    *,
    ok: bool,
    file: str | None = None,
    case: AssertionCase | None = None,
) -> dict[str, Any]:
    return {
        "type": "assertion",
        "option": option,
        "value": value,
        "ok": ok,
        "file": file,
        "line": None if case is None else case.line,
        "event": None if case is None else case.event,
        "text": text,
    }


def _sarif_results(name: Path | str, checked: CheckedFile) -> Iterator[SarifResult]:
    from mcpmock.rules.allowances import allowance_for

    for one in checked.report.findings:
        rule = _title(one.damage, one.level)
        yield SarifResult(rule, _ABOUT[rule], one.level, one.text, name, one.line, one.text)
    for found in checked.report:
        violation = found.violation
        yield SarifResult(
            violation.rule.name,
            violation.rule.sentence,
            violation.level,
            f"{violation.text}\n{_reason_for(found)}",
            name,
            found.line,
            allowance_for(violation),
            allowed=found.allowed,
        )
    for case in checked.calls.cases:
        if not case.ok:
            rule, likeness = case.option, _option(case)
            yield SarifResult(rule, _ABOUT[rule], Level.ERROR, case.text, name, case.line, likeness)
