"""`stderr_flood`: logs."""

from __future__ import annotations

from mcpmock.faults.kinds.process import StderrFlood
from mcpmock.protocol.messages import Stderr
from tests.faults.faulty import ANSWER, faulty
from tests.support import s2c


def test_a_flood() -> None:
    """So many bytes on standard error, and the message as it was."""
    wire = faulty(StderrFlood(size=1000))
    out = [frame for frames in wire.pipeline.enter([s2c(ANSWER)], 0) for frame in frames]

    assert [(Stderr, 1000), (type(None), len(ANSWER))] == [(type(f.fact), len(f.raw)) for f in out]
