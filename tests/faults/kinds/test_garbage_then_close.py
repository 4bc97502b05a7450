"""`garbage_then_close`: noise."""

from __future__ import annotations

from mcpmock.faults.kinds.connection import GarbageThenClose
from mcpmock.protocol.messages import ExchangeEnd, HttpBody, HttpResponse, StreamEnd
from tests.faults.faulty import ANSWER, CALL, faulty, on_http, receipts
from tests.support import answers, opens, s2c


def test_noise_and_the_end() -> None:
    """In place of the message; the receipt has how it begins."""
    wire = faulty(GarbageThenClose(size=20))
    told = receipts(wire)
    out = [frame for frames in wire.pipeline.enter([s2c(ANSWER)], 0) for frame in frames]

    assert (20, told[0]["drawn"]["noise"]) == (len(out[0].raw), out[0].raw[:16].hex())
    assert StreamEnd("closed") == out[1].fact
    wire.hung_up()


def test_over_http() -> None:
    """In the body."""
    lines = on_http(GarbageThenClose(), CALL, [*opens(1)])[1]

    assert ["1 200 text/event-stream"] == lines
    out = faulty(GarbageThenClose(), transport="streamable-http").pipeline
    frames = [frame for batch in out.enter(answers(1, ANSWER), 0) for frame in batch]
    assert [HttpResponse, HttpBody, ExchangeEnd] == [type(frame.fact) for frame in frames]
