"""`json_instead_of_sse`: no stream."""

from __future__ import annotations

from mcpmock.faults.kinds.http import JsonInsteadOfSse
from mcpmock.faults.match import Match
from tests.faults.faulty import ANSWER, CALL, body, faulty
from tests.support import call, ends, opens, post, progress, says


def test_the_answer_alone() -> None:
    """As JSON; progress is lost, and the exchange ends as it would."""
    stream = [*opens(1), *says(1, progress("t"), id="a"), *says(1, ANSWER, id="b"), ends(1)]

    assert ["1 200 application/json", "1 " + ANSWER.decode(), "1 eof"] == body(
        JsonInsteadOfSse(), CALL, stream
    )


def test_one_by_one() -> None:
    """In whichever pieces the stream comes; others stay streams."""
    wire = faulty(JsonInsteadOfSse(match=Match(tool="x")), transport="streamable-http")
    wire.hears(0, post(1, CALL), post(2, call(2, "y")))

    assert [] == wire.hears(0, opens(1), says(1, progress("t")))
    assert ["1 200 application/json", "1 " + ANSWER.decode()] == wire.hears(1, says(1, ANSWER))
    assert ["1 eof"] == wire.hears(1, [ends(1)])
    assert ["2 200 text/event-stream"] == wire.hears(1, opens(2))


def test_servers_begin_a_stream_with_an_empty_event() -> None:
    """It has an id and no message, and is lost like the rest."""
    stream = [*opens(1), *says(1, b"", id="0"), *says(1, ANSWER, id="1"), ends(1)]

    assert ["1 200 application/json", "1 " + ANSWER.decode(), "1 eof"] == body(
        JsonInsteadOfSse(match=Match(tool="x")), CALL, stream
    )


def test_what_is_json_already() -> None:
    """It stays as it is; and a stream that ends without an answer has no head."""
    assert ["1 200 application/json", "1 " + ANSWER.decode(), "1 eof"] == body(JsonInsteadOfSse())
    stream = [*opens(1), *says(1, progress("t")), ends(1)]
    assert ["1 eof"] == body(JsonInsteadOfSse(), CALL, stream)
