"""Faults of the server's process, where a row of the fault matrix cannot show all that they do."""

from __future__ import annotations

import pytest

from mcpmock.faults.kinds.process import Down, Exit
from mcpmock.faults.match import Match
from mcpmock.protocol.messages import S2C, Frame, ProcessExit
from tests.support import exits, hangs_up, logs, post
from tests.support.faulty import ANSWER, CALL, faulty


def test_exit_dies_reading() -> None:
    """At message n, with a status and its last words."""
    wire = faulty(Exit(code=3, stderr="panic", match=Match(nth=2)))

    wire.at(0, client=CALL, to_server=CALL)
    wire.at(1, client=CALL, to_client=[logs("panic\n"), hangs_up(S2C), exits(3)]).hung_up()


def test_exit_dies_speaking() -> None:
    """Or by a signal, in place of an answer."""
    wire = faulty(Exit(signal=9, toward="client"))
    killed = Frame(S2C, b"", b"", ProcessExit(signal=9))

    wire.at(0, server=ANSWER, to_client=[hangs_up(S2C), killed]).hung_up()


@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
def test_exit_over_http(transport: str) -> None:
    """No status is seen there: the session ends, behind the last words."""
    wire = faulty(Exit(code=3, stderr="panic"), transport=transport)

    assert [[logs("panic\n")]] == wire.pipeline.enter(post(1, CALL), 0)
    wire.hung_up()


def test_down_does_not_start() -> None:
    """It ends before anything was said."""
    wire = faulty(Down(code=4, stderr="cannot open display"))

    wire.at(0, to_client=[logs("cannot open display\n"), hangs_up(S2C), exits(4)]).hung_up()
