"""`empty`: nothing in it."""

from __future__ import annotations

from mcpmock.faults.kinds.content import Empty
from tests.faults.faulty import CALL, body, on_stdio
from tests.support import response


def test_an_empty_result() -> None:
    """The answer alone is changed."""
    assert ([CALL], [response(1)]) == on_stdio(Empty())
    assert ["1 200 application/json", "1 " + response(1).decode(), "1 eof"] == body(Empty())
