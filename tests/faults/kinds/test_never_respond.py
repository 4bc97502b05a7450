"""`never_respond`: no answer."""

from __future__ import annotations

from mcpmock.faults.kinds.loss import NeverRespond
from mcpmock.faults.match import Match
from tests.faults.faulty import ANSWER, CALL, answered, body
from tests.support import ends, opens, progress, says


def test_the_answer_is_lost() -> None:
    """What comes before it is not."""
    assert [progress("t")] == answered(NeverRespond(), CALL, progress("t"), ANSWER)


def test_over_http() -> None:
    """The stream stays open, whatever the server does."""
    stream = [*opens(1), *says(1, progress("t")), *says(1, ANSWER), ends(1)]

    assert ["1 200 text/event-stream", "1 " + progress("t").decode()] == body(
        NeverRespond(), CALL, stream
    )
    assert [] == body(NeverRespond(match=Match(tool="x")))
