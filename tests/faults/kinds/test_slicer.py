"""`slicer`: pieces."""

from __future__ import annotations

from mcpmock.faults.kinds.timing import Slicer
from mcpmock.faults.match import Match
from mcpmock.protocol.messages import S2C, Fragment, Frame
from tests.faults.faulty import ANSWER, body, faulty, receipts
from tests.support import s2c


def test_pieces() -> None:
    """Of so many bytes, one after the other, and nothing comes between them."""
    wire = faulty(Slicer(size=4, delay=0.5, match=Match(nth=1)))

    wire.at(0, server=b"0123456", to_client=Frame(S2C, b"0123", b"", Fragment()))
    wire.at(0.2, server=b"x")
    wire.at(0.5, to_client=[Frame(S2C, b"456", b"\n", Fragment(last=True)), b"x"]).nothing_more()


def test_sizes_may_vary() -> None:
    """They are drawn, and told."""
    wire = faulty(Slicer(size=10, vary=5, delay=0))
    told = receipts(wire)
    [frames] = wire.pipeline.enter([s2c(b"x" * 200)], 0)

    sizes = {len(frame.raw) for frame in frames[:-1]}
    assert len(sizes) > 2
    assert sizes <= set(range(5, 16))
    assert len(frames[0].raw) == told[0]["drawn"]["cuts"][0]


def test_over_http() -> None:
    """The body comes in pieces of a body, and is the same."""
    lines = body(Slicer(size=20, delay=1))

    assert "1 200 application/json" == lines[0]
    assert ANSWER.decode() == "".join(line.removeprefix("1 body ") for line in lines[1:-1])
    assert "1 eof" == lines[-1]
