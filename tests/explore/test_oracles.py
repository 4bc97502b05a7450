"""The oracles, on the messages of single runs."""

from __future__ import annotations

from typing import Any

from mcpmock.explore.oracles import Baseline, ServerRun, judge
from mcpmock.explore.variant import Variant
from tests.support import OPENING, c, call, cancelled, cassette, progress, request, response, s
from tests.support import error as failure

ASK = request(1, "tools/call", {"name": "a", "_meta": {"progressToken": "t"}})
PLAIN = (c(call(1, "a")), s(response(1, {"x": 1})), c(call(2, "b")), s(response(2, {"x": 2})))


def found(*lines: object, **known: Any) -> list[str]:
    """The oracles that do not hold, beside a baseline of two calls."""
    baseline = Baseline.of([ServerRun(cassette(*OPENING, *PLAIN))])
    run = ServerRun(cassette(*OPENING, *lines), **known)  # type: ignore[arg-type]
    judged = judge(run, baseline, Variant())
    return [one.oracle for one in judged if one.oracle != "ends-early"]


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
