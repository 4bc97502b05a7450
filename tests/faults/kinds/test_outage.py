"""`outage`: away."""

from __future__ import annotations

from mcpmock.faults.kinds.http import Outage
from tests.faults.faulty import CALL, faulty, on_http
from tests.support import post


def test_for_a_while() -> None:
    """From the first on; then everything is as before."""
    wire = faulty(Outage(time=2), transport="streamable-http")

    for at in (0, 1):
        assert wire.hears(at, post(at, CALL))[0].startswith(f"{at} 503")
    assert "POST" in wire.hears(2, post(2, CALL))[0]


def test_resets() -> None:
    """Or nobody answers at all."""
    assert ([], ["1 reset"]) == on_http(Outage(reset=True), CALL, [])
