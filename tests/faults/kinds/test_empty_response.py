"""`empty_response`: nothing."""

from __future__ import annotations

from mcpmock.faults.kinds.http import EmptyResponse
from tests.faults.faulty import CALL, on_http


def test_no_body() -> None:
    """A good head, and its end."""
    assert ([], ["1 200 application/json", "1 eof"]) == on_http(EmptyResponse(), CALL, [])
