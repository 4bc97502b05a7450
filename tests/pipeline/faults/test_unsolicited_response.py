"""`unsolicited_response`: nobody asked."""

from __future__ import annotations

from mcpmock.pipeline.faults.unsolicited_response import UnsolicitedResponse
from tests.helpers import response
from tests.pipeline.faults.faulty import ANSWER, answered


def test_it_comes_in_front() -> None:
    """With an id of its own."""
    assert [response(999_999), ANSWER] == answered(UnsolicitedResponse())
    assert [response("z"), ANSWER] == answered(UnsolicitedResponse(id="z"))
