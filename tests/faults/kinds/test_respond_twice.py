"""`respond_twice`: two answers."""

from __future__ import annotations

from mcpmock.faults.kinds.order import RespondTwice
from tests.faults.faulty import ANSWER, answered, body, faulty
from tests.support import error


def test_twice() -> None:
    """The same, or an error besides."""
    failed = error(1, -32603).replace(b'"no"', b'"Internal error"')

    assert [ANSWER, ANSWER] == answered(RespondTwice())
    assert [ANSWER, failed] == answered(RespondTwice(second="error"))
    faulty(RespondTwice(after=1)).at(0, server=ANSWER, to_client=ANSWER).at(
        1, to_client=ANSWER
    ).nothing_more()


def test_over_http() -> None:
    """Both on one stream."""
    said = "1 " + ANSWER.decode()

    assert ["1 200 text/event-stream", said, said, "1 eof"] == body(RespondTwice())
