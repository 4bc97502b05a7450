"""`sse_duplicate_id`: one id."""

from __future__ import annotations

from mcpmock.faults.kinds.sse import SseDuplicateId
from tests.faults.faulty import ANSWER, CALL, body
from tests.support import ends, opens, progress, says


def test_the_same_id() -> None:
    """For every event; what else they have stays."""
    stream = [*opens(1), *says(1, progress("t"), id="7", retry=5), *says(1, ANSWER), ends(1)]

    assert [
        "1 200 text/event-stream",
        "1 sse id=1 retry=5",
        "1 " + progress("t").decode(),
        "1 sse id=1",
        "1 " + ANSWER.decode(),
        "1 eof",
    ] == body(SseDuplicateId(), CALL, stream)
