"""`progress_after_response`: too late."""

from __future__ import annotations

from mcpmock.faults.kinds.mcp import ProgressAfterResponse
from tests.faults.faulty import ANSWER, CALL, answered, body, faulty
from tests.support import call, progress, response


def test_progress_behind_the_answer() -> None:
    """Of a call that has a token."""
    assert [ANSWER, progress("t", 1000)] == answered(ProgressAfterResponse())
    assert [response(1)] == answered(ProgressAfterResponse(), call(1, "x"), response(1))
    assert [
        "1 200 text/event-stream",
        "1 " + ANSWER.decode(),
        "1 " + progress("t", 5).decode(),
        "1 eof",
    ] == body(ProgressAfterResponse(progress=5))


def test_later() -> None:
    """Or after a while."""
    wire = faulty(ProgressAfterResponse(after=2))

    wire.at(0, client=CALL, to_server=CALL).at(1, server=ANSWER, to_client=ANSWER)
    wire.at(3, to_client=progress("t", 1000)).nothing_more()
