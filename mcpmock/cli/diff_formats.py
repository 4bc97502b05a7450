"""The report of a comparison in four formats: text for a terminal, one JSON object, Markdown for a
comment, JUnit XML for a test report.

Recorded text is hostile: it passes through `printable`, never starts a line, and is escaped for
Markdown and XML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from mcpmock.printable import printable, shell_command
from mcpmock.semantic_diff.compare import Diff, Difference, Verdict
from mcpmock.semantic_diff.severity import PLURALS, EventLocation

from .junit import JunitCase, JunitFailure, junit_report
from .output import BAD, GOOD, ODD, columns, encodable

_COLORS = {Verdict.BREAKING: BAD, Verdict.RISKY: ODD, Verdict.COMPATIBLE: GOOD}
_FROM_WORST = sorted(Verdict, reverse=True)
MAX_MARKDOWN_ROWS = 100
"""GitHub limits the size of a comment."""
_MIN_GROUP = 4
"""So many differences of a rule about whole messages are one paragraph."""
_MAX_PLACES = 3
_NO_CALL = "(no call)"
_MARKUP = re.compile("[`|]")


def fails(worst: Verdict | None, fail_on: str) -> bool:
    """Whether the worst difference reaches the threshold of --fail-on."""
    if worst is None or fail_on == "never":
        return False
    return fail_on == "any" or worst >= Verdict[fail_on.upper()]


def object_of(comparison: Diff) -> dict[str, Any]:
    """For `--json`: one object."""
    worst = comparison.worst
    return {
        "type": "diff",
        "verdict": "same" if worst is None else worst.word,
        "a": encodable(comparison.old),
        "b": encodable(comparison.new),
        "calls": sum(comparison.calls.values()),
        "ignored": comparison.ignored,
        "counts": {verdict.word: comparison.counts.get(verdict, 0) for verdict in _FROM_WORST},
        "differences": [_entry(found) for found in comparison.differences],
    }


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


def text(comparison: Diff, *, verbose: bool = False) -> Iterator[str]:
    """Lines for a terminal, the worst difference first. Unless `verbose`, many missing or added
    messages of one rule are one paragraph.
    """
    for found, *others in _grouped(comparison.differences, verbose=verbose):
        verdict = click.style(found.verdict.word, fg=_COLORS[found.verdict], bold=True)
        if others:
            yield f"{verdict} {found.rule.name}: {_total([found, *others])}"
            yield from _folded("  in ", f"{_first_places([found, *others])}; -v lists all")
            yield ""
            continue
        yield f"{verdict} {found.rule.name}: {found.rule.words}{_times(found)}"
        yield from _folded("  in ", f"{_place(found)}{_events(found)}")
        yield from _folded("  at ", found.path)
        if found.old is not None:
            yield from _folded("   - ", found.old, BAD)
        if found.new is not None:
            yield from _folded("   + ", found.new, GOOD)
        if found.ignore:
            yield from _folded("  allow with ", _ignore_option(found))
        yield ""
    unsaid = sum(comparison.counts.values()) - len(comparison.differences)
    if unsaid:
        yield f"and {unsaid} more, which are not shown"
    yield from _folded("", f"{comparison.old} -> {comparison.new}: {_summary(comparison)}")


def _grouped(differences: Iterable[Difference], *, verbose: bool) -> list[list[Difference]]:
    """The differences in order, each alone, but many about whole messages of one rule together."""
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
    places = list(dict.fromkeys(map(_place, row)))
    rest = len(places) - _MAX_PLACES
    more = f" and {rest} more" if rest > 0 else ""
    return ", ".join(places[:_MAX_PLACES]) + more


def _ignore_option(found: Difference) -> str:
    return shell_command(["--ignore", found.ignore])


def _folded(lead: str, text: str, color: str | None = None) -> Iterator[str]:
    """Recorded text on as many lines as needed, each behind a lead."""
    from rich.cells import chop_cells

    if not lead:
        yield printable(text)
        return
    for number, part in enumerate(chop_cells(printable(text), columns() - len(lead) - 1)):
        yield (lead if number == 0 else "   | ") + (click.style(part, fg=color) if color else part)


def markdown(comparison: Diff, *, verbose: bool = False) -> str:
    """A comment: a heading, and a table of the differences."""
    lines = [
        f"### mcpmock diff: {_summary(comparison)}",
        "",
        f"{_code(comparison.old)} -> {_code(comparison.new)}",
    ]
    if comparison.differences:
        lines += ["", "| | what | where | before | after |", "|---|---|---|---|---|"]
    groups = _grouped(comparison.differences, verbose=verbose)[:MAX_MARKDOWN_ROWS]
    lines += map(_row, groups)
    unsaid = sum(comparison.counts.values()) - sum(map(len, groups))
    if unsaid:
        lines += ["", f"and {unsaid} more"]
    return "\n".join(lines)


def _row(group: list[Difference]) -> str:
    found = group[0]
    verdict = found.verdict.word
    what, where = found.rule.words + _times(found), f"{_code(_place(found))}{_events(found)}"
    if len(group) > 1:
        what, where, values = _total(group), _code(_first_places(group)), ["", ""]
    else:
        where += f"<br>{_code(found.path)}"
        where += f"<br>{_code(_ignore_option(found))}" if found.ignore else ""
        values = ["" if value is None else _code(value) for value in (found.old, found.new)]
    cells = [
        f"**{verdict}**" if found.verdict is Verdict.BREAKING else verdict,
        f"{found.rule.name}: {what}",
        where,
        *values,
    ]
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    """A code span in a table, without characters that could end either."""
    spelled = _MARKUP.sub(lambda mark: f"\\u{ord(mark[0]):04x}", printable(text))
    return f"`{spelled or ' '}`"


def junit(comparison: Diff, fail_on: str) -> str:
    """A test report: one case per kind of call, which fails if a difference reaches --fail-on."""
    cases: dict[str, list[Difference]] = {
        " ".join(part for part in label if part): [] for label in comparison.calls
    }
    for found in comparison.differences:
        cases.setdefault(found.call or f"{_NO_CALL} {found.method}".rstrip(), []).append(found)
    return junit_report(
        "mcpmock diff",
        "mcpmock.diff",
        [case_of(name, row, fail_on) for name, row in cases.items()],
    )


def case_of(name: str, row: Sequence[Difference], fail_on: str) -> JunitCase:
    """A case of a test report, which fails if one of these differences reaches --fail-on."""
    bad = [found for found in row if fails(found.verdict, fail_on)]
    rest = [found for found in row if not fails(found.verdict, fail_on)]
    failure = None
    if bad:
        first = bad[0].rule.name
        failure = JunitFailure(first, f"{_counted(bad)}, first {first}", _paragraphs(bad))
    return JunitCase(name, failure, _paragraphs(rest))


def _paragraphs(row: Iterable[Difference]) -> str:
    lines = []
    for found in row:
        lines.append(f"{found.verdict.word} {found.rule.name}: {found.rule.words}{_times(found)}")
        lines.append(f"  in {printable(_place(found))}{_events(found)}")
        lines.append(f"  at {printable(found.path)}")
        lines += [f"   - {printable(found.old)}"] if found.old is not None else []
        lines += [f"   + {printable(found.new)}"] if found.new is not None else []
        if found.ignore:
            lines.append(f"  allow with {printable(_ignore_option(found))}")
    return "\n".join(lines)


def _place(found: Difference) -> str:
    """The message, and the call that it belongs to."""
    if found.call is None:
        return found.method
    return found.call if found.call.startswith(found.method) else f"{found.method} of {found.call}"


def _events(found: Difference) -> str:
    """Where to look with `mcpmock show`."""
    places = [_event_number(found.old_event), _event_number(found.new_event)]
    if places == ["none", "none"]:
        return ""
    return f", event {places[0]} -> {places[1]}"


def _event_number(where: EventLocation | None) -> str:
    if where is None:
        return "none"
    return f"{where.n}" if where.take == 1 else f"{where.n} of take {where.take}"


def _times(found: Difference) -> str:
    return "" if found.times == 1 else f" ({found.times} times)"


def _summary(comparison: Diff) -> str:
    calls = sum(comparison.calls.values())
    ignored = f" ({comparison.ignored} ignored)" if comparison.ignored else ""
    if comparison.worst is None:
        return f"no differences in {calls} call{'' if calls == 1 else 's'}{ignored}"
    counts = [f"{n} {v.word}" for v in _FROM_WORST if (n := comparison.counts.get(v, 0))]
    return ", ".join(counts) + ignored


def _counted(row: list[Difference]) -> str:
    return f"{len(row)} difference{'' if len(row) == 1 else 's'}"
