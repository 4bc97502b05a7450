"""`inject`: out of nowhere."""

from __future__ import annotations

import pytest

from mcpmock.faults.fault import PlanError
from mcpmock.faults.kinds.content import Inject
from tests.faults.faulty import ANSWER, CALL, answered, body, on_stdio


def test_it_comes_besides() -> None:
    """In front, or behind."""
    assert [b"hey", ANSWER] == answered(Inject(text="hey"))
    assert [ANSWER, b"hey"] == answered(Inject(text="hey", behind=True))
    assert [b"hey", CALL] == on_stdio(Inject(text="hey", toward="server"))[0]


def test_over_http() -> None:
    """On the stream that the answer comes on."""
    said = "1 " + ANSWER.decode()

    assert ["1 200 text/event-stream", "1 hey", said, "1 eof"] == body(Inject(text="hey"))


def test_there_has_to_be_something() -> None:
    """Nothing cannot be injected."""
    with pytest.raises(PlanError, match="text: missing"):
        Inject()
