"""The report of a comparison: text for a terminal, one JSON object, Markdown for a comment, JUnit
XML for a test report; and that of two folders, pair by pair with a summary.

Recorded text is hostile: it passes through `printable`, never starts a line, and is escaped for
Markdown and XML.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import attrs
import click

from mcpmock.cassette.model import Cassette
from mcpmock.options.comparison import DiffOptions, FailOn
from mcpmock.options.console import ConsoleOptions
from mcpmock.printable import first_of, many, printable, shell_command
from mcpmock.semantic_diff.compare import Diff, Difference, IgnoreRules, Verdict
from mcpmock.semantic_diff.diff_value import FROM_WORST, counts_by_word, diff_value, word_of
from mcpmock.semantic_diff.severity import PLURALS, RULES, EventLocation
from mcpmock.view.latency_changes import SLOWER

from .output import BAD, GOOD, ODD, columns, encodable, say
from .reports import JunitCase, JunitFailure, Report, print_report

_COLORS = {Verdict.BREAKING: BAD, Verdict.RISKY: ODD, Verdict.COMPATIBLE: GOOD}
MAX_MARKDOWN_ROWS = 100
"""GitHub limits the size of a comment."""
_MIN_GROUP = 4
"""So many differences of a rule about whole messages are one paragraph."""
_MAX_PLACES = 3
_NO_CALL = "(no call)"
_SUITE = "mcpmock diff", "mcpmock.diff"
_MARKUP = re.compile("[`|]")


def say_idle_rules(
    rules: IgnoreRules | None, compared: Iterable[Cassette], found: Diff, console: ConsoleOptions
) -> None:
    """Say which rules of the user applied to nothing, where something differs: one may have been
    meant for that.
    """
    if rules is None or console.quiet or not (found or console.verbose):
        return
    from mcpmock.playback.idle_rules import idle_rules

    takes = [take for one in compared for take in one.takes]
    for line in idle_rules(rules.places, takes, answers=True):
        say(line)


def fails(worst: Verdict | None, fail_on: FailOn) -> bool:
    """Return whether the worst difference reaches the verdict of --fail-on."""
    if worst is None or fail_on.verdict == "never":
        return False
    return fail_on.verdict == "any" or worst >= Verdict[fail_on.verdict.upper()]


def _fails(found: Difference, fail_on: FailOn) -> bool:
    return found.rule is SLOWER or fails(found.verdict, fail_on)


def diff_report(
    comparison: Diff, fail_on: FailOn, *, above: Iterable[str] = (), verbose: bool = False
) -> Report:
    """Return the report of one comparison; `above` are lines that its text begins with."""
    return Report(
        status=int(
            fails(comparison.worst, fail_on)
            or any(one.rule is SLOWER for one in comparison.differences)
        ),
        lines=chain(above, diff_lines(comparison, verbose=verbose)),
        values=[_value(comparison)],
        markdown=_markdown(comparison, verbose=verbose),
        suite=_SUITE,
        cases=_cases(comparison, fail_on),
    )


def failure_report(name: str, sentence: str, fail_on: FailOn) -> Report:
    """Return the report where there is nothing to compare, because the server did not start; its
    text is empty.
    """
    failed = Difference(
        rule=RULES["server-failed"],
        method="exit",
        call=None,
        path="$",
        old=None,
        new=sentence,
        old_event=None,
        new_event=None,
        ignore="",
    )
    counts = {failed.verdict: 1}
    comparison = Diff(
        old=name, new="live", differences=(failed,), counts=counts, calls={}, ignored=0
    )
    return attrs.evolve(diff_report(comparison, fail_on), lines=())


def _value(comparison: Diff) -> dict[str, Any]:
    names = {"a": encodable(comparison.old), "b": encodable(comparison.new)}
    return {**diff_value(comparison), **names}


def diff_lines(comparison: Diff, *, verbose: bool) -> Iterator[str]:
    """Yield lines for a terminal, the worst difference first. Unless `verbose`, many missing or
    added messages of one rule are one paragraph.
    """
    for group in _grouped(comparison.differences, verbose=verbose):
        found = group[0]
        verdict = click.style(found.verdict.word, fg=_COLORS[found.verdict], bold=True)
        if len(group) > 1:
            yield f"{verdict} {found.rule.name}: {_total(group)}"
            yield from _folded("  in ", f"{_first_places(group)}; -v lists all")
        else:
            yield f"{verdict} {_rule(found)}"
            for lead, value, color in _facts(found):
                yield from _folded(lead, value, color)
        yield ""
    unsaid = sum(comparison.counts.values()) - len(comparison.differences)
    if unsaid:
        yield f"and {unsaid} more, which are not shown"
    yield printable(f"{comparison.old} -> {comparison.new}: {_summary(comparison)}")


def _rule(found: Difference) -> str:
    times = "" if found.times == 1 else f" ({found.times} times)"
    return f"{found.rule.name}: {found.rule.words}{times}"


def _facts(found: Difference) -> Iterator[tuple[str, str, str | None]]:
    """Yield where a difference is, both values, how to allow it: each with its lead and color."""
    yield "  in ", f"{_place(found)}{_events(found)}", None
    yield "  at ", found.path, None
    if found.old is not None:
        yield "   - ", found.old, BAD
    if found.new is not None:
        yield "   + ", found.new, GOOD
    if found.ignore:
        yield "  allow with ", _ignore_option(found), None


def _grouped(differences: Iterable[Difference], *, verbose: bool) -> list[list[Difference]]:
    """Return them in order, each alone, but many about whole messages of one rule together."""
    by_rule: dict[str, list[Difference]] = {}
    for found in differences:
        by_rule.setdefault(found.rule.name, []).append(found)
    groups: list[list[Difference]] = []
    for found in differences:
        row = by_rule[found.rule.name]
        if verbose or found.rule.name not in PLURALS or len(row) < _MIN_GROUP:
            groups.append([found])
        elif found is row[0]:
            groups.append(row)
    return groups


def _total(row: list[Difference]) -> str:
    return f"{sum(found.times for found in row)} {PLURALS[row[0].rule.name]}"


def _first_places(row: list[Difference]) -> str:
    return first_of([*dict.fromkeys(map(_place, row))], _MAX_PLACES)


def _ignore_option(found: Difference) -> str:
    option = "--unordered" if found.rule.name == "result-reordered" else "--ignore"
    return shell_command([option, found.ignore])


def _folded(lead: str, text: str, color: str | None = None) -> Iterator[str]:
    """Return recorded text on as many lines as needed, each behind a lead."""
    from rich.cells import chop_cells

    for number, part in enumerate(chop_cells(printable(text), columns() - len(lead) - 1)):
        yield (lead if number == 0 else "   | ") + (click.style(part, fg=color) if color else part)


def _markdown(comparison: Diff, *, verbose: bool) -> Iterator[str]:
    """Yield a comment: a heading, and a table of the differences."""
    yield f"### mcpmock diff: {_summary(comparison)}"
    yield ""
    yield f"{_code(comparison.old)} -> {_code(comparison.new)}"
    if comparison.differences:
        yield from ("", "| | what | where | before | after |", "|---|---|---|---|---|")
    groups = _grouped(comparison.differences, verbose=verbose)[:MAX_MARKDOWN_ROWS]
    yield from map(_row, groups)
    unsaid = sum(comparison.counts.values()) - sum(map(len, groups))
    if unsaid:
        yield from ("", f"and {unsaid} more")


def _row(group: list[Difference]) -> str:
    found = group[0]
    verdict = found.verdict.word
    if len(group) > 1:
        what, where = f"{found.rule.name}: {_total(group)}", _code(_first_places(group))
        values: Sequence[str | None] = (None, None)
    else:
        what, values = _rule(found), (found.old, found.new)
        where = f"{_code(_place(found))}{_events(found)}<br>{_code(found.path)}"
        where += f"<br>{_code(_ignore_option(found))}" if found.ignore else ""
    cells = [
        f"**{verdict}**" if found.verdict is Verdict.BREAKING else verdict,
        what,
        where,
        *("" if value is None else _code(value) for value in values),
    ]
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    """Return a code span in a table, without characters that could end either."""
    spelled = _MARKUP.sub(lambda mark: f"\\u{ord(mark[0]):04x}", printable(text))
    return f"`{spelled or ' '}`"


def _cases(comparison: Diff, fail_on: FailOn) -> Iterator[JunitCase]:
    """Yield a case for each kind of call, which fails if a difference reaches --fail-on."""
    cases: dict[str, list[Difference]] = {
        " ".join(part for part in label if part): [] for label in comparison.calls
    }
    for found in comparison.differences:
        cases.setdefault(found.call or f"{_NO_CALL} {found.method}".rstrip(), []).append(found)
    for name, row in cases.items():
        yield _case(name, row, fail_on)


def _case(name: str, row: Sequence[Difference], fail_on: FailOn) -> JunitCase:
    """Return a case of a test report, which fails if one of these differences reaches --fail-on."""
    bad = [found for found in row if _fails(found, fail_on)]
    rest = [found for found in row if not _fails(found, fail_on)]
    failure = None
    if bad:
        first = bad[0].rule.name
        failure = JunitFailure(
            first, f"{many(len(bad), 'difference')}, first {first}", _paragraphs(bad)
        )
    return JunitCase(name, failure, _paragraphs(rest))


def _paragraphs(row: Iterable[Difference]) -> str:
    lines = []
    for found in row:
        lines.append(f"{found.verdict.word} {_rule(found)}")
        lines += [f"{lead}{printable(value)}" for lead, value, _ in _facts(found)]
    return "\n".join(lines)


def _place(found: Difference) -> str:
    """Return the message, and the call that it belongs to."""
    if found.call is None:
        return found.method
    return found.call if found.call.startswith(found.method) else f"{found.method} of {found.call}"


def _events(found: Difference) -> str:
    """Return where to look with `mcpmock show`."""
    places = [_event_number(found.old_event), _event_number(found.new_event)]
    if places == ["none", "none"]:
        return ""
    return f", event {places[0]} -> {places[1]}"


def _event_number(where: EventLocation | None) -> str:
    if where is None:
        return "none"
    return f"{where.n}" if where.take == 1 else f"{where.n} of take {where.take}"


def _summary(comparison: Diff) -> str:
    ignored = f" ({comparison.ignored} ignored)" if comparison.ignored else ""
    if comparison.worst is None:
        return f"no differences in {many(sum(comparison.calls.values()), 'call')}{ignored}"
    return f"{_verdicts(comparison.counts)}{ignored}"


def _verdicts(counts: Mapping[Verdict, int]) -> str:
    return ", ".join(f"{n} {verdict.word}" for verdict in FROM_WORST if (n := counts.get(verdict)))


@attrs.define
class FolderReport:
    """Prints the comparison of each pair of files as it comes, and in the end how many differ."""

    comparing: DiffOptions
    console: ConsoleOptions
    files: int = 0
    differing: int = 0
    failed: bool = False
    counts: Counter[Verdict] = attrs.field(factory=Counter)
    _cases: list[JunitCase] = attrs.field(factory=list)
    _rows: int = 0
    """How many rows the tables in Markdown have."""

    @property
    def fail_on(self) -> FailOn:
        return FailOn.parse(self.comparing.fail_on, "any")

    @property
    def form(self) -> str:
        return "json" if self.console.json else self.comparing.format

    def add(self, name: str, comparison: Diff) -> int:
        """Print the comparison of the files of this name. Returns the exit status."""
        self.files += 1
        self.differing += bool(comparison)
        self.counts.update(comparison.counts)
        report = diff_report(comparison, self.fail_on, verbose=self.console.verbose)
        self.failed = self.failed or bool(report.status)
        if self.form == "junit":
            self._cases.append(_case(name, comparison.differences, self.fail_on))
        elif self.form == "json" or (comparison and self._rows < MAX_MARKDOWN_ROWS):
            spaced = attrs.evolve(
                report, lines=chain(report.lines, [""]), markdown=chain(report.markdown, [""])
            )
            print_report(spaced, self.console, self.form)
            self._rows += len(comparison.differences) if self.form == "markdown" else 0
        return report.status

    def end(self, old: str, new: str) -> None:
        """Print the summary, in Markdown as in text."""
        worst = max(self.counts, default=None)
        files = many(self.files, "file")
        summary = f"{_verdicts(self.counts)}, in {self.differing} of {files}"
        if worst is None:
            summary = f"no differences in {files}"
        value = {
            "type": "diff-folders",
            "verdict": word_of(worst),
            "a": encodable(old),
            "b": encodable(new),
            "files": self.files,
            "differing": self.differing,
            "counts": counts_by_word(self.counts),
        }
        report = Report(
            status=int(self.failed),
            lines=[f"{printable(old)} -> {printable(new)}: {summary}"],
            values=[value],
            suite=_SUITE,
            cases=self._cases,
        )
        print_report(report, self.console, "text" if self.form == "markdown" else self.form)
