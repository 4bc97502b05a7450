"""`limit_data`: cut."""

from __future__ import annotations

import pytest

from mcpmock.faults.fault import PlanError
from mcpmock.faults.kinds.connection import LimitData
from mcpmock.protocol.messages import S2C, Fragment, Frame
from tests.faults.faulty import ANSWER, CALL, body, faulty, receipts
from tests.support import ends, hangs_up, opens, s2c, says


def test_after_so_many_bytes() -> None:
    """In the middle of a message, without the end of its line; and then the stream is over."""
    wire = faulty(LimitData(bytes=10))

    wire.at(0, server=b"0123", to_client=b"0123").at(0, client=CALL, to_server=CALL)
    cut = Frame(S2C, b"01234", b"", Fragment(last=True))
    wire.at(1, server=b"0123456789", to_client=[cut, hangs_up(S2C, "closed")]).hung_up()


def test_inside_a_character() -> None:
    """Behind the first of its bytes."""
    wire = faulty(LimitData(inside="character"))
    cut = Frame(S2C, b"abc\xc3", b"", Fragment(last=True))

    wire.at(0, server="abcéf".encode(), to_client=[cut, hangs_up(S2C, "closed")]).hung_up()


def test_inside_a_line_end() -> None:
    """Behind the CR."""
    wire = faulty(LimitData(inside="line_end"))
    cut = Frame(S2C, b"abc\r", b"", Fragment(last=True))

    wire.at(0, server=b"abc", to_client=[cut, hangs_up(S2C, "closed")]).hung_up()


def test_inside_a_frame() -> None:
    """Where the dice say."""
    wire = faulty(LimitData(inside="frame"))
    told = receipts(wire)
    out = wire.pipeline.enter([s2c(ANSWER)], 0)

    assert ANSWER[: told[0]["drawn"]["at"]] == out[0][0].raw
    assert len(out[0][0].raw) < len(ANSWER) + 1


def test_over_http() -> None:
    """Inside the body, and inside an event's field."""
    stream = [*opens(1), *says(1, ANSWER, id="7"), ends(1)]

    assert ["1 200 application/json", "1 body " + ANSWER[:9].decode(), "1 closed"] == body(
        LimitData(bytes=9)
    )
    assert ["1 200 text/event-stream", "1 body id: 7\nda", "1 closed"] == body(
        LimitData(bytes=8), CALL, stream
    )


def test_one_of_both() -> None:
    """Either a number of bytes or a place."""
    with pytest.raises(PlanError, match="either bytes or inside"):
        LimitData()
