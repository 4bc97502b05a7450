"""The oracles: what each finds in the messages of single runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mcpmock.explore.client_oracles import (
    CLIENT_ORACLES,
    ClientBaseline,
    ClientRun,
    JudgedClient,
)
from mcpmock.explore.fault_set import tries_cancels
from mcpmock.explore.oracles import SERVER_ORACLES, Baseline, JudgedServer, ServerRun
from mcpmock.explore.results import ExploredRow, JudgedRun, rows_by_cause
from mcpmock.explore.variant import Variant, VariantChange
from mcpmock.faults.kinds.cancel import Cancel
from mcpmock.trials.oracle import Broken, Oracles
from tests.support import (
    OPENING,
    Line,
    c,
    call,
    cancelled,
    cassette,
    progress,
    request,
    response,
    s,
)
from tests.support import error as failure

ASK = request(1, "tools/call", {"name": "a", "_meta": {"progressToken": "t"}})
PLAIN = (c(call(1, "a")), s(response(1, {"x": 1})), c(call(2, "b")), s(response(2, {"x": 2})))
CLIENT_LEAVES, SERVER_LEAVES = ("end", {"d": "c2s"}), ("end", {"d": "s2c"})
ENDS = (CLIENT_LEAVES, SERVER_LEAVES, ("end", {"exit": 0}))
CRASH = ("stderr", "Traceback (most recent call last):\nValueError: x\n")
BENIGN = Variant()
HARSH = Variant(changes=(VariantChange(kind="error", at="", text="", benign=False),))
ENDING = Variant(changes=(VariantChange(kind="crash", at="", text="", ends=True),))
SPOILED = Variant(
    changes=(VariantChange(kind="deep", at="", text="", request=1, benign=False, spoils=True),)
)
NO_HANDSHAKE = Variant(
    changes=(VariantChange(kind="deep", at="", text="", benign=False, shakes_hands=True),)
)
NO_ANSWER = Variant(
    changes=(VariantChange(kind="drop", at="", text="", benign=False, answers=True),)
)
OTHER_TYPE = Variant(
    changes=(
        VariantChange(kind="cancel", at="", text="", request=1, fault=Cancel(target="other_type")),
    )
)


def found(*lines: Line, variant: Variant = BENIGN, **known: Any) -> list[str]:
    """The oracles of a server that do not hold, beside a baseline of two calls; the run ends as it
    should unless the lines have an end.
    """
    baseline = Baseline.of([ServerRun(cassette(*OPENING, *PLAIN, *ENDS))])
    ends = () if any(line[0] == "end" for line in lines) else ENDS
    run = ServerRun(cassette(*OPENING, *lines, *ends), **known)
    judged = SERVER_ORACLES.judge(JudgedServer(run, variant, baseline))
    return [one.oracle for one in judged]


@pytest.mark.parametrize(
    ("oracle", "variant", "lines", "known"),
    [
        ("unreachable", BENIGN, PLAIN, {"unreachable": "it is gone"}),
        ("ends-early", BENIGN, (*PLAIN, SERVER_LEAVES, ("end", {"exit": 1})), {}),
        (None, ENDING, (*PLAIN, SERVER_LEAVES, ("end", {"exit": 1})), {}),
        ("does-not-end", BENIGN, (*PLAIN, CLIENT_LEAVES, ("end", {"signal": 9})), {}),
        ("does-not-end", BENIGN, (*PLAIN, CLIENT_LEAVES, ("end", {"signal": 15})), {}),
        ("exit-status", BENIGN, (*PLAIN, CLIENT_LEAVES, ("end", {"exit": 3})), {}),
        ("exit-status", BENIGN, (*PLAIN, CLIENT_LEAVES, ("end", {"signal": 11})), {}),
        ("exception", BENIGN, (*PLAIN, CRASH), {}),
        ("unanswered", BENIGN, (c(call(1, "a")),), {"unanswered": (b"1",)}),
        ("cancelled-by-other-id", OTHER_TYPE, (c(call(1, "a")),), {"unanswered": (b"1",)}),
        ("leaves-process", BENIGN, PLAIN, {"leftover": ("node",)}),
        ("wrong-answer", BENIGN, (c(call(1, "a")), s(failure(1))), {}),
        (None, HARSH, (c(call(1, "a")), s(failure(1))), {}),
        (None, BENIGN, (c(call(3, "new")), s(failure(3))), {}),
        (None, SPOILED, PLAIN, {"unanswered": (b"1",)}),
        ("unanswered", SPOILED, PLAIN, {"unanswered": (b"2",)}),
        (None, SPOILED, (s(response(1, {"x": 1})), *PLAIN[2:]), {}),
        ("rule:answers-nothing", SPOILED, (s(response(7, {"x": 1})), *PLAIN), {}),
        ("ends-early", SPOILED, (*PLAIN, SERVER_LEAVES, ("end", {"exit": 1})), {}),
        (None, NO_HANDSHAKE, PLAIN, {"unanswered": (b"1", b"2")}),
        (None, NO_HANDSHAKE, (s(response(7, {"x": 1})), *PLAIN), {}),
        (None, NO_HANDSHAKE, (*PLAIN, SERVER_LEAVES, ("end", {"exit": 1})), {}),
        ("ends-early", NO_HANDSHAKE, (*PLAIN, SERVER_LEAVES, ("end", {"signal": 11})), {}),
        ("does-not-end", NO_HANDSHAKE, (*PLAIN, CLIENT_LEAVES, ("end", {"signal": 9})), {}),
    ],
)
def test_a_server(
    oracle: str | None, variant: Variant, lines: tuple[Line, ...], known: dict[str, Any]
) -> None:
    """What is broken is found, and nothing else."""
    assert [one for one in [oracle] if one] == found(*lines, variant=variant, **known)


USUAL = ClientBaseline.of(
    [ClientRun(cassette=cassette(*OPENING, *PLAIN), status=status) for status in (0, 4)]
)
QUIET = {"status": 0}


@pytest.mark.parametrize(
    ("oracle", "variant", "lines", "known"),
    [
        (None, BENIGN, PLAIN, QUIET),
        (None, BENIGN, PLAIN, {"status": 4}),
        ("exit-status", BENIGN, PLAIN, {"status": 1}),
        (None, HARSH, PLAIN, {"status": 1}),
        (None, ENDING, PLAIN, {"status": 1}),
        (None, NO_HANDSHAKE, PLAIN, {"status": 1}),
        ("crash", NO_HANDSHAKE, PLAIN, {"status": -11}),
        ("hang", NO_HANDSHAKE, PLAIN, {"status": None, "hung": True}),
        ("waits-for-ever", SPOILED, PLAIN, {"status": None, "hung": True}),
        (None, NO_HANDSHAKE, (*PLAIN, *PLAIN[:2]), QUIET),
        ("crash", HARSH, PLAIN, {"status": -11}),
        ("hang", BENIGN, PLAIN, {"status": None, "hung": True}),
        ("waits-for-ever", HARSH, PLAIN[:3], {"status": None, "hung": True}),
        ("hang", HARSH, (*PLAIN[:3], c(cancelled(2))), {"status": None, "hung": True}),
        ("leaves-process", BENIGN, PLAIN, {**QUIET, "leftover": ("sh",)}),
        ("miss", BENIGN, PLAIN, {**QUIET, "misses": ("nothing recorded", "again")}),
        (None, HARSH, PLAIN, {**QUIET, "misses": ("nothing recorded",)}),
        ("rule:id-reused", BENIGN, (*PLAIN, *PLAIN[:2]), QUIET),
    ],
)
def test_a_client(
    oracle: str | None, variant: Variant, lines: tuple[Line, ...], known: dict[str, Any]
) -> None:
    """What is broken is found, and nothing else."""
    run = ClientRun(cassette=cassette(*OPENING, *lines), **known)
    judged = CLIENT_ORACLES.judge(JudgedClient(run, variant, USUAL))

    assert [one for one in [oracle] if one] == [one.oracle for one in judged]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("it refuses initialize: no", (c(request(1, "initialize")), s(failure(1)))),
        ("it does not answer the handshake", (c(request(1, "initialize")),)),
        (
            "it sends back what it is sent",
            (c(request(1, "initialize")), s(request(1, "initialize"))),
        ),
        (
            "it refuses initialize: no",
            (
                c(request(0, "server/discover")),
                s(failure(0)),
                c(request(1, "initialize")),
                s(failure(1)),
            ),
        ),
        (None, (c(request(9, "server/discover")), s(failure(9)), *OPENING)),
        (None, PLAIN),
    ],
)
def test_a_server_without_a_session(text: str | None, lines: tuple[Line, ...]) -> None:
    """The recorded order fails, and says why."""
    run = ServerRun(cassette(*lines, *ENDS))
    judged = SERVER_ORACLES.judge(JudgedServer(run, BENIGN))

    assert [one for one in [text] if one] == [
        one.text for one in judged if one.oracle == "handshake"
    ]


def test_a_client_that_asks_nothing() -> None:
    """The recorded order fails, with the last thing that the client said."""
    run = ClientRun(cassette=cassette(), status=0, stderr=b"hello\nno server here\n")
    text = "the client never connected: it ends with exit status 0: no server here"

    assert [text] == [one.text for one in CLIENT_ORACLES.judge(JudgedClient(run, BENIGN))]


def rows(*broken: tuple[str, str, str, str, str]) -> list[ExploredRow]:
    """Rows of (step, kind, oracle, place, exception)."""
    return [
        ExploredRow(
            n=n,
            run=JudgedRun(
                variant=Variant(
                    step=step,  # type: ignore[arg-type]
                    changes=(VariantChange(kind=kind, at="", text=""),),
                ),
                reached=True,
                broken=[Broken(oracle, place, "", exception=exception)],
            ),
        )
        for n, (step, kind, oracle, place, exception) in enumerate(broken, 1)
    ]


ONE_EACH = [[1], [2]]


@pytest.mark.parametrize(
    ("found", "causes"),
    [
        ([("cells", "a", "ends-early", "x", ""), ("cells", "b", "ends-early", "x", "")], [[1, 2]]),
        (
            [("cells", "a", "ends-early", "x", ""), ("cells", "a", "ends-early", "y", "")],
            ONE_EACH,
        ),
        (
            [("cells", "a", "unanswered", "x", ""), ("cells", "a", "ends-early", "x", "")],
            ONE_EACH,
        ),
        (
            [("faults", "drop", "ends-early", place, "KeyError: ..") for place in "xyz"],
            [[1, 2, 3]],
        ),
        ([("faults", "duplicate", "ends-early", place, "") for place in "xyz"], [[1, 2, 3]]),
        ([("faults", "duplicate", "ends-early", place, "") for place in "xy"], ONE_EACH),
        (
            [
                *(("faults", "duplicate", "ends-early", place, "") for place in "xyz"),
                ("cells", "at once", "ends-early", "x", ""),
            ],
            [[1, 2, 3], [4]],
        ),
    ],
)
def test_one_cause_is_told_once(
    found: list[tuple[str, str, str, str, str]], causes: list[list[int]]
) -> None:
    """The same exception, a fault that breaks many calls, or the same call."""
    assert causes == [[row.n for row in one] for one in rows_by_cause(rows(*found))]


@pytest.mark.parametrize(
    ("words", "tried"),
    [
        ("all", True),
        ("none", True),
        ("", True),
        ("duplicate", False),
        ("wire", False),
        ("cancel,wire", True),
    ],
)
def test_kinds_that_are_named_are_tried_without_cancels(words: str, tried: bool) -> None:
    """Unless `cancel` is one of the words."""
    assert tried is tries_cancels(words)


def test_a_server_that_waits_for_an_answer_of_the_client() -> None:
    """That it does not end is odd, where a fault took the answer."""
    run = ServerRun(cassette(*OPENING, *PLAIN, CLIENT_LEAVES, ("end", {"signal": 9})))
    judged = [
        SERVER_ORACLES.judge(JudgedServer(run, variant, Baseline.of([run])))
        for variant in (NO_ANSWER, HARSH)
    ]

    assert ["odd", "broken"] == [one.verdict for found in judged for one in found]


def test_what_the_recorded_order_breaks_is_told_once() -> None:
    """A rule that the client breaks in the recorded order is no finding of a variant; nor is a
    status, in a race that reports a timeout in its plainest cell.
    """
    run = ClientRun(cassette=cassette(*OPENING, *PLAIN, *PLAIN[:2]), status=7)
    baseline = ClientBaseline.of([run]).with_reference(run)

    assert [] == CLIENT_ORACLES.judge(JudgedClient(run, BENIGN, baseline))
    assert ["exit-status"] == [
        one.oracle for one in CLIENT_ORACLES.judge(JudgedClient(run, BENIGN))
    ]


@pytest.mark.parametrize("oracles", [SERVER_ORACLES, CLIENT_ORACLES])
def test_the_manual_explains_every_oracle(oracles: Oracles) -> None:
    """And those that are only odd."""
    manual = Path(__file__).parents[2] / "mcpmock/help/explore.md"
    named = set(re.findall(r"`([a-z-]+)(?::NAME)?`", manual.read_text("utf-8")))

    assert set() == {oracle.name for oracle in oracles.table} - named


def test_the_recorded_order() -> None:
    """It holds."""
    assert [] == found(*PLAIN)


def test_a_late_answer() -> None:
    """It accuses the server behind the answer to a request that was sent after the cancel; over
    HTTP, where a cancel may overtake its call, only if the server had sent something for the call.
    """
    late = s(response(1, {"x": 1}))
    ping = (c(request(8, "ping")), s(response(8)))
    crossed = (c(call(1, "a")), c(cancelled(1)), late, *ping)
    once = (c(call(1, "a")), c(cancelled(1)), *ping, late)
    assert [[], ["late"]] == [found(*lines) for lines in (crossed, once)]

    begun = (c(ASK), s(progress("t")), c(cancelled(1)), *ping, late)
    assert [["late"], []] == [found(*lines, over_http=True) for lines in (begun, once)]


def test_a_crossed_answer() -> None:
    """The answer of another call that was open at the same time."""
    both = (c(call(1, "a")), c(call(2, "b")))
    swapped = (*both, s(response(1, {"x": 2})), s(response(2, {"x": 1})))
    other = (*both, s(response(1, {"x": 3})), s(response(2, {"x": 2})))

    assert (["crossed-answer", "crossed-answer"], []) == (found(*swapped), found(*other))


def test_a_wrong_answer() -> None:
    """An error in place of a result: of a tool it may be right."""
    assert ["wrong-answer"] == found(c(call(1, "a")), s(failure(1)))


def test_rules() -> None:
    """Those of the protocol, for what the server sent; what it was asked twice it may do twice."""
    assert ["rule:progress-token"] == found(*PLAIN, s(progress("nobody's")))

    once, reports = c(ASK), (s(progress("t")), s(progress("t")))
    assert ["rule:progress-increases"] == found(once, *reports)
    assert [] == found(once, once, *reports, s(response(1, {"x": 1})), s(response(1, {"x": 1})))


def test_a_lost_session() -> None:
    """HTTP errors in place of answers are told once; one for the call whose stream was resumed is
    odd, for a server may offer that and need not.
    """
    refused = [s(failure(id_, message="HTTP 404 Not Found: gone")) for id_ in (1, 2)]
    lines = (c(call(1, "a")), refused[0], c(call(2, "b")), refused[1])

    assert ["session-lost"] == found(*lines, over_http=True)
    resumed = found(*lines, over_http=True, resumed=(b"1",))
    assert ["session-lost", "not-resumed"] == resumed
    assert ["not-resumed"] == found(*lines[:2], over_http=True, resumed=(b"1",))
