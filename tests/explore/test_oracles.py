"""The oracles, on the messages of single runs."""

from __future__ import annotations

from mcpmock.explore.oracles import Baseline, ServerRun, judge
from mcpmock.explore.variant import Variant
from tests.support import OPENING, c, call, cancelled, cassette, progress, request, response, s
from tests.support import error as failure

PLAIN = (c(call(1, "a")), s(response(1, {"x": 1})), c(call(2, "b")), s(response(2, {"x": 2})))


def found(*lines: object, over_http: bool = False, variant: Variant | None = None) -> list[str]:
    """The oracles that do not hold, beside a baseline of two calls."""
    baseline = Baseline.of([ServerRun(cassette(*OPENING, *PLAIN))])
    run = ServerRun(cassette(*OPENING, *lines), over_http=over_http)  # type: ignore[arg-type]
    judged = judge(run, baseline, variant or Variant())
    return [one.oracle for one in judged if one.oracle != "ends-early"]


def test_the_recorded_order() -> None:
    """It holds."""
    assert [] == found(*PLAIN)


def test_a_late_answer() -> None:
    """It accuses the server behind the answer to a request that was sent after the cancel; over
    HTTP, where answers overtake each other, behind two of them.
    """
    late = s(response(1, {"x": 1}))
    rounds = [(c(request(n, "ping")), s(response(n))) for n in (8, 9)]
    crossed = (c(call(1, "a")), c(cancelled(1)), late, *rounds[0])
    once = (c(call(1, "a")), c(cancelled(1)), *rounds[0], late)
    twice = (c(call(1, "a")), c(cancelled(1)), *rounds[0], *rounds[1], late)

    assert [[], ["late"], ["late"]] == [found(*lines) for lines in (crossed, once, twice)]
    assert [[], ["late"]] == [found(*lines, over_http=True) for lines in (once, twice)]


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
    """Those of the protocol, for what the server sent."""
    assert ["rule:progress-token"] == found(*PLAIN, s(progress("nobody's")))
