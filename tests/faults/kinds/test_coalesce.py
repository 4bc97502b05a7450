"""`coalesce`: in one read."""

from __future__ import annotations

from mcpmock.faults.kinds.timing import Coalesce
from tests.faults.faulty import faulty
from tests.support import s2c


def test_one_batch() -> None:
    """What comes within the time comes at its end, together."""
    wire = faulty(Coalesce(time=1))
    for n in range(3):
        assert [] == wire.pipeline.enter([s2c(b"%d" % n)], n * 0.3)

    assert 1 == wire.pipeline.next_due
    assert [[b"0", b"1", b"2"]] == [[f.raw for f in frames] for frames in wire.pipeline.advance(1)]
    assert [] == wire.pipeline.enter([s2c(b"3")], 1)
    assert [] == wire.pipeline.advance(1.9)
    assert 1 == len(wire.pipeline.advance(2))
