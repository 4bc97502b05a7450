"""Connections that are cut in front of a server over Streamable HTTP."""

from __future__ import annotations

import pytest

from mcpmock.explore.disconnects import Disconnects
from mcpmock.protocol.messages import Frame
from tests.support import progress, request, response
from tests.transports.wire import Told, Wire, event, json, over, post, stream

REPORTS = [progress("t"), progress("t", 2)]
ANSWER = response(7)
STREAM = [
    *stream(1),
    *event(1, b"", "0"),
    *event(1, REPORTS[0], "1"),
    *event(1, REPORTS[1], "2"),
    *event(1, ANSWER, "3"),
    *over(1),
]
PRIMED: list[Told] = [(1, "200 text/event-stream"), (1, "event 0"), (1, b"")]
REPORTED: list[Told] = [(1, "event 1"), (1, REPORTS[0])]
LOST: list[Told] = [(1, "event"), (1, "end reset"), (1, "end reset")]


def heard(behind: int, answer: list[Frame]) -> list[Told]:
    """What leaves to the client, and then to the server, of the answer to call 7."""
    wire = Wire(Disconnects({b"7": behind}))
    wire.client(post(1, request(7, "tools/call")))
    return wire.server(answer)


def test_cuts() -> None:
    """Both sides see the connection end behind the message; nothing follows on it. The client comes
    back soon, unless the server says when.
    """
    assert [*PRIMED, *LOST] == heard(0, STREAM)
    assert [*PRIMED, *REPORTED, *LOST] == heard(1, STREAM)
    assert LOST[1:] == heard(1, [*stream(1), *event(1, REPORTS[0], "1", retry=9)])[-2:]


@pytest.mark.parametrize(
    "answer",
    [
        json(1, ANSWER),
        [*stream(1), *event(1, REPORTS[0]), *event(1, ANSWER), *over(1)],
        [*stream(1), *event(1, ANSWER, "1"), *over(1)],
    ],
)
def test_what_cannot_be_resumed_is_not_cut(answer: list[Frame]) -> None:
    """An answer in JSON, events without ids, and what is already answered."""
    assert "end" == heard(1, answer)[-1][1]


def test_other_calls_are_left_alone() -> None:
    """Only those that are named."""
    wire = Wire(Disconnects({b"8": 0}))
    wire.client(post(1, request(7, "tools/call")))

    assert (1, "end") == wire.server(STREAM)[-1]
