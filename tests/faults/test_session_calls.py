"""The requests of a session, with what belongs to them."""

from __future__ import annotations

from mcpmock.faults.session_calls import answered_calls
from tests.support import c, call, cancelled, cassette, progress, request, response


def test_the_calls_of_a_recording_that_were_answered() -> None:
    """In the order of the requests: how long the first answer took, and what came before it."""
    recorded = cassette(
        c(request(1, "tools/call", {"name": "a"}, token="t")), c(call(2, "b")),
        (2.5, "s2c", response(2)), (3, "s2c", progress("t")), (4, "s2c", response(1)),
        (5, "s2c", response(1)), (6, "s2c", progress("t")), c(call(3, "never")),
        c(call(4, "late")), c(cancelled(4)), (9, "s2c", response(4)),
    )  # fmt: skip

    found = [(one.call.request.id, one.seconds, one.progress) for one in answered_calls(recorded)]
    assert [(b"1", 3.0, 1), (b"2", 0.5, 0)] == found
