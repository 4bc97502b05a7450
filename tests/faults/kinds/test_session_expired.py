"""`session_expired`: 404."""

from __future__ import annotations

from mcpmock.faults.kinds.http import SessionExpired
from mcpmock.faults.match import Match
from tests.faults.faulty import CALL, faulty
from tests.support import INITIALIZE, get, post


def test_the_session_is_gone() -> None:
    """From some request on; a new one can be opened."""
    wire = faulty(SessionExpired(match=Match(after=1)), transport="streamable-http")

    assert "POST" in wire.hears(0, post(1, CALL))[0]
    assert wire.hears(0, post(2, CALL))[0].startswith("2 404")
    assert wire.hears(0, get(3))[0].startswith("3 404")
    assert "POST" in wire.hears(0, post(4, INITIALIZE))[0]
