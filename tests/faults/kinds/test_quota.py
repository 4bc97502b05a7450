"""`quota`: too many."""

from __future__ import annotations

from mcpmock.faults.kinds.http import Quota
from mcpmock.protocol.messages import HttpResponse
from tests.faults.faulty import CALL, faulty
from tests.support import post


def test_too_many() -> None:
    """So many in a window; others are told when to come again."""
    wire = faulty(Quota(requests=2, window=10), transport="streamable-http")

    for number in (1, 2):
        assert "POST" in wire.hears(1, post(number, CALL))[0]
    [frames] = wire.pipeline.enter(post(3, CALL), 4.5)
    assert HttpResponse(429, "Too Many Requests", [("Retry-After", "7")]) == frames[0].fact
    assert "POST" in wire.hears(11, post(4, CALL))[0]
