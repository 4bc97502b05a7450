"""`wrong_content_type`: another type."""

from __future__ import annotations

from mcpmock.faults.kinds.http import WrongContentType
from tests.faults.faulty import ANSWER, CALL, body
from tests.support import ends, opens, says, shown


def test_another_type() -> None:
    """The same body; an event stream is left alone."""
    stream = [*opens(1), *says(1, ANSWER), ends(1)]

    assert ["1 200 text/html", "1 " + ANSWER.decode(), "1 eof"] == body(WrongContentType())
    assert shown(stream) == body(WrongContentType(), CALL, stream)
