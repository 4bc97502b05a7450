"""`close_before_response`: closed."""

from __future__ import annotations

from mcpmock.faults.kinds.connection import CloseBeforeResponse
from mcpmock.faults.match import Match
from tests.faults.faulty import on_http


def test_closed() -> None:
    """The server has heard it; the client hears nothing."""
    asked, said = on_http(CloseBeforeResponse(match=Match(tool="x")))

    assert (2, ["1 closed"]) == (len(asked), said)
