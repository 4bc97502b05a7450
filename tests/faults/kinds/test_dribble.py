"""`dribble`: spread over a time."""

from __future__ import annotations

from mcpmock.faults.kinds.timing import Dribble
from mcpmock.protocol.messages import S2C, Fragment, Frame
from tests.faults.faulty import ANSWER, CALL, answered, body, faulty
from tests.support import ends, opens, says


def test_it_takes_its_time() -> None:
    """So many pieces, the last of them after the time."""
    wire = faulty(Dribble(parts=2, time=3))

    wire.at(1, server=b"0123456").at(2.5, to_client=Frame(S2C, b"0123", b"", Fragment()))
    wire.at(4, to_client=Frame(S2C, b"456", b"\n", Fragment(last=True))).nothing_more()


def test_a_short_message() -> None:
    """It has no more pieces than bytes."""
    assert [b"a", b""] == answered(Dribble(parts=10), CALL, b"a")


def test_an_event() -> None:
    """Over HTTP an event is cut wherever that falls: in a field, in its name, at its end."""
    stream = [*opens(1), *says(1, ANSWER, id="7"), ends(1)]
    lines = body(Dribble(parts=1000, time=1), CALL, stream)

    told = "".join(line.removeprefix("1 body ") for line in lines[1:-1])
    assert f"id: 7\ndata: {ANSWER.decode()}\n\n" == told
    assert len(told) == len(lines) - 2
