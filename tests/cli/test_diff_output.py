"""What a comparison says, in four forms."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import attrs
import click
import pytest

from mcpmock.cli import diff_output
from mcpmock.cli.diff_output import diff_report, fails
from mcpmock.cli.reports import junit_of
from mcpmock.options.comparison import FailOn
from mcpmock.semantic_diff.compare import Diff, Difference, Verdict
from mcpmock.semantic_diff.severity import RULES, EventLocation
from tests.support.hostile import HOSTILE

CALL = ("tools/call", "add")
ERROR = Difference(
    rule=RULES["error-for-result"],
    method="tools/call",
    call="tools/call add",
    path="$.result.isError",
    old='"3"',
    new='"no"',
    old_event=EventLocation(1, 7),
    new_event=EventLocation(2, 9),
    ignore="tools/call add $.result.isError",
)
STEPS = Difference(
    rule=RULES["notification-missing"],
    method="notifications/progress",
    call="tools/call add",
    path="$",
    old='{"progress":1}',
    new=None,
    old_event=EventLocation(1, 8),
    new_event=None,
    ignore="notifications/progress add $",
    times=3,
)
NOISE = Difference(
    rule=RULES["noise-added"],
    method="output",
    call=None,
    path="$",
    old=None,
    new='"x"',
    old_event=None,
    new_event=EventLocation(1, 1),
    ignore="output $",
)


def comparison(*differences: Difference, more: int = 0, **changes: Any) -> Diff:
    counts: dict[Verdict, int] = {}
    for found in differences:
        counts[found.verdict] = counts.get(found.verdict, 0) + 1
    if more:
        counts[Verdict.RISKY] = counts.get(Verdict.RISKY, 0) + more
    whole = Diff(
        old="a.jsonl",
        new="b.jsonl",
        differences=differences,
        counts=counts,
        calls={CALL: 2, ("ping", ""): 1},
        ignored=0,
    )
    return attrs.evolve(whole, **changes)


def text(found: Diff, *, verbose: bool = False) -> list[str]:
    return list(diff_report(found, FailOn("any"), verbose=verbose).lines)


def markdown(found: Diff, *, verbose: bool = False) -> list[str]:
    return list(diff_report(found, FailOn("any"), verbose=verbose).markdown)


@pytest.mark.parametrize("verdict", [None, *Verdict])
def test_what_fails(verdict: Verdict | None) -> None:
    """What is at least as bad as was asked for."""
    failing = {
        name for name in ("any", "risky", "breaking", "never") if fails(verdict, FailOn(name))
    }

    assert {
        None: set(),
        Verdict.COMPATIBLE: {"any"},
        Verdict.RISKY: {"any", "risky"},
        Verdict.BREAKING: {"any", "risky", "breaking"},
    }[verdict] == failing


def test_text_says_where_to_look() -> None:
    """The call, the events of both recordings, how often there is the same."""
    lines = text(comparison(ERROR, STEPS, NOISE, more=2))

    assert "  in tools/call add, event 7 -> 9 of take 2" == lines[1]
    assert "  allow with --ignore 'tools/call add $.result.isError'" == lines[5]
    assert "notification-missing: a notification did not come (3 times)" in lines[7]
    assert "  in notifications/progress of tools/call add, event 8 -> none" == lines[8]
    assert "  in output, event none -> 1" in lines
    assert ["and 2 more, which are not shown"] == lines[-2:-1]
    assert "a.jsonl -> b.jsonl: 1 breaking, 4 risky" == lines[-1]


def test_many_missing_messages_are_one_paragraph() -> None:
    """A client that makes no more requests is one difference to read; `-v` lists them all."""
    missing = [
        attrs.evolve(
            STEPS,
            rule=RULES["request-missing"],
            method="tools/call",
            call=f"tools/call t{number}",
            times=1 + number,
        )
        for number in range(5)
    ]
    found = comparison(ERROR, *missing, NOISE)
    lines = [click.unstyle(line) for line in text(found)]
    row = markdown(found)[7]

    assert [
        "risky request-missing: 15 requests were not made",
        "  in tools/call t0, tools/call t1, tools/call t2 and 2 more; -v lists all",
        "",
    ] == lines[7:10]
    assert "risky noise-added: output that is not a message" == lines[10]
    assert row.startswith("| risky | request-missing: 15 requests were not made |")
    assert 5 == sum("request-missing" in line for line in text(found, verbose=True))
    assert 5 == sum("request-missing" in line for line in markdown(found, verbose=True))
    assert 3 == sum("request-missing" in line for line in text(comparison(*missing[:3])))


def test_what_stands_nowhere() -> None:
    """A status of a request that asks nothing has no event."""
    status = attrs.evolve(NOISE, method="HTTP GET", new_event=None)

    assert "  in HTTP GET" == text(comparison(status))[1]


def test_long_values_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is longer than the terminal is wide, and none begins with what was recorded."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = text(comparison(attrs.evolve(ERROR, old="\u6f22" * 90, new=None)))

    assert ["   - ", "   | ", "   | "] == [line[:5] for line in lines[3:6]]
    assert [37, 37, 16] == [line.count("\u6f22") for line in lines[3:6]]


def test_markdown_is_a_comment() -> None:
    """A heading, the files, and a row for each difference, with nothing that markup could use."""
    told = markdown(comparison(ERROR, attrs.evolve(STEPS, old="`a|b`")))

    assert [
        "### mcpmock diff: 1 breaking, 1 risky",
        "",
        "`a.jsonl` -> `b.jsonl`",
        "",
        "| | what | where | before | after |",
        "|---|---|---|---|---|",
        "| **breaking** | error-for-result: an error where there was a result | `tools/call add`,"
        " event 7 -> 9 of take 2<br>`$.result.isError`"
        "<br>`--ignore 'tools/call add $.result.isError'`"
        ' | `"3"` | `"no"` |',
        "| risky | notification-missing: a notification did not come (3 times) |"
        " `notifications/progress of tools/call add`, event 8 -> none<br>`$`"
        "<br>`--ignore 'notifications/progress add $'` |"
        " `\\u0060a\\u007cb\\u0060` |  |",
    ] == told
    assert 3 == len(markdown(comparison()))


def test_hostile_text_stays_text() -> None:
    """Each row of Markdown has its five cells, with what was recorded in code spans; in XML it is
    nothing but text.
    """
    text = HOSTILE + "`|`\n::x\ufffe"
    names: dict[str, Any] = dict.fromkeys(("method", "call", "path", "old", "new", "ignore"), text)
    found = comparison(*(attrs.evolve(one, **names) for one in (ERROR, STEPS, NOISE)))
    rows = markdown(found)[6:]
    told = ElementTree.fromstring(junit_of(diff_report(found, FailOn("breaking"))))

    assert 3 == len(rows)
    for row in rows:
        outside = re.sub(r"`[^`]*`", "", row).replace("<br>", "").replace("->", "")
        assert (7, set()) == (len(row.split("|")), set(outside) & set("<>&$[]#@"))
        assert "script" not in outside
    tags = {"testsuites", "testsuite", "testcase", "failure", "system-out"}
    assert tags == {element.tag for element in told.iter()}


def test_a_comment_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest is counted."""
    monkeypatch.setattr(diff_output, "MAX_MARKDOWN_ROWS", 1)

    assert "and 2 more" == markdown(comparison(ERROR, STEPS, NOISE))[-1]


def test_junit_has_a_case_for_each_kind_of_call() -> None:
    """Which fails if something is bad enough; what is not stands beside it."""
    told = ElementTree.fromstring(
        junit_of(diff_report(comparison(ERROR, STEPS, NOISE), FailOn("breaking")))
    )
    cases = {case.get("name"): case for case in told.iter("testcase")}
    failure = cases["tools/call add"].find("failure")
    beside = cases["tools/call add"].find("system-out")

    assert ("3", "1") == (told.get("tests"), told.get("failures"))
    assert ["tools/call add", "ping", "(no call) output"] == list(cases)
    assert failure is not None
    assert ("error-for-result", "1 difference, first error-for-result") == (
        failure.get("type"),
        failure.get("message"),
    )
    assert "at $.result.isError" in (failure.text or "")
    assert beside is not None
    assert "notification-missing" in (beside.text or "")
    assert 0 == len(cases["ping"])


def test_an_object_names_the_files() -> None:
    """Also such as no JSON can hold."""
    [told] = diff_report(comparison(old="a\udcff.jsonl"), FailOn("any")).values

    assert ("same", "a\\xff.jsonl", []) == (told["verdict"], told["a"], told["differences"])
