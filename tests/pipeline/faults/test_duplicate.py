"""`duplicate`: the same once more."""

from __future__ import annotations

from mcpmock.pipeline.faults.duplicate import Duplicate
from tests.pipeline.faults.faulty import ANSWER, answered, body, faulty, on_http


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
    assert 2 == len(on_http(Duplicate(toward="server"))[0])
