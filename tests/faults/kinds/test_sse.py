"""Faults of event streams, where a row of the fault matrix cannot show all that they do."""

from __future__ import annotations

from mcpmock.channels.http.http1 import ResponseWriter
from mcpmock.faults.kinds.sse import SseCommentStorm, SseDuplicateId
from tests.support import ends, opens, progress, says
from tests.support.faulty import ANSWER, CALL, body, faulty


def test_sse_comment_storm_a_storm() -> None:
    """In front of the message, on a stream."""
    stream = [*opens(1), *says(1, ANSWER), ends(1)]
    lines = body(SseCommentStorm(count=3, text="x"), CALL, stream)

    assert [
        "1 200 text/event-stream",
        *["1 sse comment=x"] * 3,
        "1 sse",
        "1 " + ANSWER.decode(),
        "1 eof",
    ] == lines
    assert "1 200 text/event-stream" == body(SseCommentStorm())[0]


def test_sse_comment_storm_the_bytes() -> None:
    """Each is an event without data, and the message has none of them."""
    writer = ResponseWriter("POST", closing=True)
    out = faulty(SseCommentStorm(count=2, text="x"), transport="streamable-http").pipeline
    stream = [*opens(1), *says(1, b"{}"), ends(1)]
    told = b"".join(writer.write(frames) for frames in out.enter(stream, 0))

    assert told.partition(b"\r\n\r\n")[2].count(b": x\n") == 2
    assert b"data: {}\n\n" in told


def test_sse_duplicate_id_the_same_id() -> None:
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
    assert ["1 200 text/event-stream", "1 sse id=1", "1 " + ANSWER.decode(), "1 eof"] == body(
        SseDuplicateId()
    )
