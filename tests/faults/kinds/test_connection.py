"""Faults that break connections, where a row of the fault matrix cannot show all that they do."""

from __future__ import annotations

import pytest

from mcpmock.faults.fault import PlanError
from mcpmock.faults.kinds.connection import GarbageThenClose, LimitData, ResetPeer
from mcpmock.faults.match import Match
from mcpmock.protocol.messages import (
    S2C,
    ExchangeEnd,
    Fragment,
    Frame,
    HttpBody,
    HttpResponse,
    StreamEnd,
)
from tests.support import answers, ends, hangs_up, opens, post, s2c, says
from tests.support.faulty import ANSWER, CALL, body, faulty, on_http, receipts


def test_limit_data_after_so_many_bytes() -> None:
    """In the middle of a message, without the end of its line; and then the stream is over."""
    wire = faulty(LimitData(bytes=10))
    told = receipts(wire)

    wire.at(0, server=b"0123", to_client=b"0123").at(0, client=CALL, to_server=CALL)
    cut = Frame(S2C, b"01234", b"", Fragment(last=True))
    wire.at(1, server=b"0123456789", to_client=[cut, hangs_up(S2C, "closed")]).hung_up()
    assert [{"at": 5}] == [receipt["drawn"] for receipt in told]


def test_limit_data_inside_a_frame() -> None:
    """Where the dice say."""
    wire = faulty(LimitData(inside="frame"))
    told = receipts(wire)
    out = wire.pipeline.enter([s2c(ANSWER)], 0)

    assert ANSWER[: told[0]["drawn"]["at"]] == out[0][0].raw
    assert len(out[0][0].raw) < len(ANSWER) + 1


def test_limit_data_over_http() -> None:
    """Inside the body, and inside an event's field."""
    stream = [*opens(1), *says(1, ANSWER, id="7"), ends(1)]

    assert ["1 200 application/json", "1 body " + ANSWER[:9].decode(), "1 closed"] == body(
        LimitData(bytes=9)
    )
    assert ["1 200 text/event-stream", "1 body id: 7\nda", "1 closed"] == body(
        LimitData(bytes=8), CALL, stream
    )


def test_limit_data_one_of_both() -> None:
    """Either a number of bytes or a place."""
    with pytest.raises(PlanError, match="either bytes or inside"):
        LimitData()


def test_reset_peer_a_reset() -> None:
    """On stdio the session ends."""
    faulty(ResetPeer()).at(0, server=ANSWER, to_client=hangs_up(S2C, "reset")).hung_up()


def test_reset_peer_over_http() -> None:
    """The connection of this exchange."""
    wire = faulty(ResetPeer(after=1, match=Match(tool="x")), transport="streamable-http")
    wire.hears(0, post(1, CALL))

    assert [] == wire.hears(1, answers(1, ANSWER))
    assert ["1 reset"] == wire.later(2)


def test_garbage_then_close_noise_and_the_end() -> None:
    """In place of the message; the receipt has how it begins."""
    wire = faulty(GarbageThenClose(size=20))
    told = receipts(wire)
    out = [frame for frames in wire.pipeline.enter([s2c(ANSWER)], 0) for frame in frames]

    assert (20, told[0]["drawn"]["noise"]) == (len(out[0].raw), out[0].raw[:16].hex())
    assert StreamEnd("closed") == out[1].fact
    wire.hung_up()


def test_garbage_then_close_over_http() -> None:
    """In the body."""
    lines = on_http(GarbageThenClose(), CALL, [*opens(1)])[1]

    assert ["1 200 text/event-stream"] == lines
    out = faulty(GarbageThenClose(), transport="streamable-http").pipeline
    frames = [frame for batch in out.enter(answers(1, ANSWER), 0) for frame in batch]
    assert [HttpResponse, HttpBody, ExchangeEnd] == [type(frame.fact) for frame in frames]
