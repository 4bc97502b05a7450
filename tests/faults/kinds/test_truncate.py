"""`truncate`: broken off."""

from __future__ import annotations

from mcpmock.faults.kinds.content import Truncate
from tests.faults.faulty import ANSWER, answered, body, faulty, receipts
from tests.support import s2c


def test_it_breaks_off() -> None:
    """After so many bytes, and the line ends."""
    assert [ANSWER[:10]] == answered(Truncate(keep=10))
    assert ["1 200 application/json", "1 " + ANSWER[:10].decode(), "1 eof"] == body(
        Truncate(keep=10)
    )


def test_where_is_drawn() -> None:
    """Somewhere inside, and told."""
    wire = faulty(Truncate())
    told = receipts(wire)
    [[frame]] = wire.pipeline.enter([s2c(ANSWER)], 0)

    assert ANSWER[: told[0]["drawn"]["keep"]] == frame.raw
    assert 1 <= len(frame.raw) < len(ANSWER)
