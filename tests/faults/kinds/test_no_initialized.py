"""`no_initialized`: half a handshake."""

from __future__ import annotations

from mcpmock.faults.kinds.loss import NoInitialized
from tests.faults.faulty import faulty
from tests.support import INITIALIZED, post


def test_it_is_lost() -> None:
    """That one notification, and over HTTP it is accepted."""
    wire = faulty(NoInitialized())

    wire.at(0, client=INITIALIZED).at(0, client=b"{}", to_server=b"{}").nothing_more()
    lost = faulty(NoInitialized(), transport="streamable-http").hears(0, post(1, INITIALIZED))
    assert [True, True] == [lost[0].startswith("1 202"), lost[1] == "1 eof"]
