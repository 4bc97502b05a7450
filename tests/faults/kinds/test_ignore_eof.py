"""`ignore_eof`: deaf."""

from __future__ import annotations

from mcpmock.faults.kinds.connection import IgnoreEof
from mcpmock.protocol.messages import C2S
from tests.faults.faulty import ANSWER, CALL, faulty
from tests.support import hangs_up


def test_it_does_not_hear_the_end() -> None:
    """Everything else it does."""
    wire = faulty(IgnoreEof())

    wire.at(0, client=CALL, to_server=CALL).at(1, client=hangs_up(C2S)).at(
        2, server=ANSWER, to_client=ANSWER
    )
    wire.nothing_more().still_there()
