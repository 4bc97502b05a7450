"""What must hold when a session is over in which something was cancelled."""

from __future__ import annotations

import pytest

from mcpmock.faults.races.invariants import broken
from mcpmock.protocol.messages import C2S, S2C, Frame
from tests.support import (
    c2s,
    cancelled,
    ends,
    error,
    exits,
    hangs_up,
    post,
    progress,
    request,
    response,
    s2c,
    says,
)

CALL, ANSWER = c2s(request(1, "tools/call", {"name": "x"}, token="t")), s2c(response(1))
CANCEL, PROGRESS = c2s(cancelled(1)), s2c(progress("t"))
NEXT = [c2s(request(2, "ping")), s2c(response(2))]


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [CALL, PROGRESS, ANSWER],
        [CALL, CANCEL, *NEXT],
        [CALL, PROGRESS, CANCEL, *NEXT],
        [CALL, ANSWER, CANCEL],
        [CALL, CANCEL, hangs_up(S2C)],
        [CALL, exits(1)],
        [CALL, s2c(request(1, "roots/list")), c2s(response(1)), ANSWER],
        [CALL, c2s(cancelled("1")), ANSWER, *NEXT],
    ],
    ids=range(9),
)
def test_what_holds(frames: list[Frame]) -> None:
    """Answered, cancelled or closed, and what comes next works."""
    assert [] == broken(frames, silent=True)


@pytest.mark.parametrize(
    ("frames", "what"),
    [
        ([CALL], "tools/call 1 of the client: neither answered nor cancelled nor closed"),
        ([CALL, ANSWER, ANSWER], "tools/call 1 of the client: answered 2 times"),
        ([CALL, ANSWER, s2c(response(7))], "an answer with the id 7, which no request has"),
        ([CALL, CANCEL], "no request behind the last cancel was answered"),
        ([CALL, CANCEL, NEXT[0], s2c(error(2))], "no request behind the last cancel was answered"),
        ([NEXT[0], CALL, CANCEL, NEXT[1]], "no request behind the last cancel was answered"),
        ([CALL, CANCEL, ANSWER, *NEXT], "tools/call 1 of the client: 1 message behind its cancel"),
        ([CALL, CANCEL, PROGRESS, *NEXT], "tools/call 1 of the client: 1 message behind its"),
        (
            [s2c(request(1, "roots/list")), c2s(response(1)), c2s(response(1))],
            "roots/list 1 of the server: answered 2 times",
        ),
    ],
)
def test_what_does_not(frames: list[Frame], what: str) -> None:
    """One line for each."""
    (line,) = broken(frames, silent=True)

    assert line.startswith(what)


def test_what_was_under_way() -> None:
    """So many messages may come behind the cancel; and a server that is not asked to be silent may
    say more.
    """
    frames = [CALL, CANCEL, PROGRESS, ANSWER, *NEXT]

    assert [] == broken(frames, silent=True, crossed=2)
    assert [] == broken(frames)
    assert 1 == len(broken(frames, silent=True, crossed=1))


def test_what_need_not_work() -> None:
    """Nobody has asked again."""
    assert [] == broken([CALL, CANCEL], works=False)


def test_over_http() -> None:
    """The end of its exchange ends a request, and each of a batch is one."""
    asked = [*post(1, request(1, "tools/call")), *says(1, progress("t"))]

    assert [] == broken([*asked, ends(1, "reset")])
    assert [] == broken([*asked, ends(1, direction=C2S)])
    assert 1 == len(broken(asked))
    both = b"[%b,%b]" % (request(1, "ping"), request(2, "ping"))
    assert 1 == len(broken([c2s(both), s2c(response(1))]))
