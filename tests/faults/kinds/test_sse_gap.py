"""`sse_gap`: missing events."""

from __future__ import annotations

from mcpmock.faults.kinds.loss import SseGap
from mcpmock.faults.match import Match
from tests.faults.faulty import ANSWER, CALL, body
from tests.support import ends, opens, progress, says


def test_an_event_is_missing() -> None:
    """The others come."""
    stream = [*opens(1), *says(1, progress("t"), id="1"), *says(1, ANSWER, id="2"), ends(1)]
    lost = SseGap(match=Match(method="notifications/progress"))

    assert ["1 200 text/event-stream", "1 sse id=2", "1 " + ANSWER.decode(), "1 eof"] == body(
        lost, CALL, stream
    )


def test_a_body_in_json() -> None:
    """It is an empty stream then."""
    assert ["1 200 text/event-stream", "1 eof"] == body(SseGap())
