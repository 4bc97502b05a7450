"""`unsolicited_response`: nobody asked."""

from __future__ import annotations

from mcpmock.faults.kinds.content import UnsolicitedResponse
from tests.faults.faulty import ANSWER, answered
from tests.support import response


def test_it_comes_in_front() -> None:
    """With an id of its own."""
    assert [response(999_999), ANSWER] == answered(UnsolicitedResponse())
    assert [response("z"), ANSWER] == answered(UnsolicitedResponse(id="z"))
