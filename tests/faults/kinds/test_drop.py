"""`drop`: lost messages."""

from __future__ import annotations

from mcpmock.faults.kinds.loss import Drop
from mcpmock.faults.match import Match
from tests.faults.faulty import ANSWER, CALL, body, faulty, on_stdio
from tests.support import INITIALIZED, post


def test_it_never_arrives() -> None:
    """The answer, usually; the request where that is said."""
    assert ([CALL], []) == on_stdio(Drop())
    assert ([], [ANSWER]) == on_stdio(Drop(toward="server"))


def test_over_http() -> None:
    """What would have carried an answer stays open; a notification is accepted all the same."""
    lost = Drop(toward="server", match=Match(method="notifications/*"))
    wire = faulty(lost, transport="streamable-http")

    assert [] == body(Drop(match=Match(tool="x")))
    assert ["1 202 ", "1 eof"] == [
        f"{line} "[:6].rstrip("\n") if "202" in line else line
        for line in wire.hears(0, post(1, INITIALIZED))
    ]
