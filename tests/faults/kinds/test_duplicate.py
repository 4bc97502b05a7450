"""`duplicate`: the same once more."""

from __future__ import annotations

from mcpmock.faults.kinds.order import Duplicate
from tests.faults.faulty import ANSWER, CALL, answered, body, faulty, on_http
from tests.support import answers


def test_it_comes_again() -> None:
    """At once, and as often as it is said."""
    assert [ANSWER] * 2 == answered(Duplicate())
    assert [ANSWER] * 4 == answered(Duplicate(copies=3))


def test_it_comes_again_later() -> None:
    """Each copy after the one before."""
    wire = faulty(Duplicate(copies=2, after=0.5))

    wire.at(0, server=ANSWER, to_client=ANSWER).at(0.5, to_client=ANSWER).at(1, to_client=ANSWER)
    wire.nothing_more()


def test_over_http() -> None:
    """A body in JSON becomes an event stream, without the length that was right."""
    said = "1 " + ANSWER.decode()

    assert ["1 200 text/event-stream", said, said, "1 eof"] == body(Duplicate())


def test_to_a_server_over_http() -> None:
    """The copy goes in an exchange of its own, whose answer is for nobody."""
    posted = "POST /mcp", CALL.decode()

    assert [f"{x} {said}" for x in (1, -1) for said in posted] == on_http(
        Duplicate(toward="server"),
        CALL,
        answers(-1, ANSWER),
    )[0]
    assert [] == body(Duplicate(toward="server"), CALL, answers(-1, ANSWER))
