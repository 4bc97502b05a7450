"""`corrupt`: flipped bits."""

from __future__ import annotations

import pytest

from mcpmock.faults.kinds.content import Corrupt
from tests.faults.faulty import ANSWER, answered, faulty, receipts
from tests.support import s2c


@pytest.mark.parametrize("count", [1, 5])
def test_bits_flip(count: int) -> None:
    """At most so many, no more, and the length is the same."""
    [said] = answered(Corrupt(bytes=count))
    flipped = sum((one ^ other).bit_count() for one, other in zip(ANSWER, said, strict=True))

    assert 1 <= flipped <= count
    assert b"\n" not in said


def test_where_is_told() -> None:
    """The place is drawn."""
    wire = faulty(Corrupt())
    told = receipts(wire)
    [[frame]] = wire.pipeline.enter([s2c(ANSWER)], 0)

    assert ANSWER[told[0]["drawn"]["at0"]] != frame.raw[told[0]["drawn"]["at0"]]
