"""What `mcpmock explore` prints of an exploration, in three formats."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from mcpmock.cli.explore_output import ExploreOutput
from mcpmock.cli.reports import junit_of
from mcpmock.explore.results import Exploration, ExploredRow, Failure, JudgedRun
from mcpmock.explore.variant import Step, Variant, VariantChange
from mcpmock.options.console import ConsoleOptions
from mcpmock.trials.oracle import Broken

LATE = Broken("late", "tools/call a", "a\x1b[2J is late", cites="page: sentence")
SLOW = Broken("slow", "ping", "ping is slow", "odd")


def row(n: int, step: Step, kind: str, *broken: Broken, reached: bool = True) -> ExploredRow:
    change = VariantChange(kind=kind, at="here", text=f"{kind} here", place="tools/call a")
    run = JudgedRun(variant=Variant(step=step, changes=(change,)), reached=reached)
    run.broken.extend(broken)
    return ExploredRow(n=n, run=run)


ROWS = [
    row(1, "cells", "cancel"),
    row(2, "cells", "cancel", LATE),
    row(3, "faults", "drop", SLOW),
    row(4, "faults", "drop", SLOW),
    row(5, "pairs", "drop", reached=False),
]
VARIANT = ROWS[1].run.variant
FAILURE = Failure(
    n=1, broken=LATE, variant=VARIANT, rows=1, again="5 of 5", command="x", cassette="c"
)


def ended(capsys: pytest.CaptureFixture[str], **options: bool) -> tuple[str, Any]:
    """What is printed, and the same as JUnit XML."""
    found = Exploration(
        seed=3, rows=ROWS, failures=[FAILURE], baseline=[LATE], untried=[("ping", "why")]
    )
    found.planned, found.seconds = 9, 2.0
    report = ExploreOutput("a.jsonl", "python server.py", ConsoleOptions(**options)).end(found)

    assert 1 == report.status
    return capsys.readouterr().out, ElementTree.fromstring(junit_of(report))


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    """What the recorded order breaks, the failures, what is odd once, and a table of all runs."""
    assert [
        "In the recorded order too (not counted below):",
        "  a\\u001b[2J is late [late]",
        "    page: sentence",
        "",
        "1. a\\u001b[2J is late",
        "   recorded order, except: cancel here",
        "   page: sentence",
        "   1 run failed so; run again: 5 of 5",
        "   again: x",
        "   recording: c",
        "",
        "Odd, but allowed (--strict fails on it):",
        "  ping is slow (2 runs)",
        "    recorded order, except: drop here",
        "",
        "               ok  odd  broken  unreached",
        "cancels         1            1",
        "single faults        2",
        "pairs                                   1",
        "",
        "a.jsonl: 5 runs of 9 single changes in 2 s (2.5 a second), seed 3: 1 failure",
    ] == ended(capsys)[0].splitlines()


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """An object each for the rest: the rows were printed as they came."""
    found = [json.loads(line) for line in ended(capsys, json=True)[0].splitlines()]

    assert {"type": "baseline", "oracle": "late", "text": LATE.text} == found[0]
    assert (FAILURE.value(), "untried") == (found[1], found[2]["type"])
    assert ("a.jsonl", "python server.py") == (found[3]["file"], found[3]["command"])
    counts = {"runs": 5, "planned": 9, "broken": 1, "odd": 2, "unreached": 1, "failures": 1}
    assert counts.items() <= found[3].items()


def test_junit(capsys: pytest.CaptureFixture[str]) -> None:
    """A case for each kind of change, which fails if a run of it did."""
    suites = ended(capsys)[1]
    cases = {case.get("name"): case.find("failure") for case in suites.iter("testcase")}

    assert {"tests": "3", "failures": "1"} == suites.attrib
    assert ["cells: cancel", "faults: drop", "pairs: drop"] == list(cases)
    assert cases["faults: drop"] is None
    assert cases["cells: cancel"] is not None
    assert "a\\u001b[2J is late" == cases["cells: cancel"].get("message")
