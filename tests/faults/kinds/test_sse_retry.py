"""`sse_retry`: wait."""

from __future__ import annotations

from mcpmock.faults.kinds.sse import SseRetry
from tests.faults.faulty import ANSWER, body


def test_a_retry() -> None:
    """In front of the message."""
    assert [
        "1 200 text/event-stream",
        "1 sse retry=5",
        "1 sse",
        "1 " + ANSWER.decode(),
        "1 eof",
    ] == body(SseRetry(retry=5))
